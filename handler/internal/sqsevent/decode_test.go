package sqsevent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	samples "github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/internal/attribute"
)

func TestDecodeFields(t *testing.T) {
	records, err := Decode([]byte(`{"other":{"a":[1,2.5e-3,true,null,"x\"y"]}, "Records" : [ {
		"messageId":"m-1", "receiptHandle":"h+/=", "body":"{\"id\":\"o-1\"}\n\u00e9 \ud83d\udce6 \/",
		"md5OfBody":"aa","md5OfMessageAttributes":"bb","eventSource":"aws:sqs",
		"eventSourceARN":"arn:aws:sqs:eu-west-1:1:q.fifo","awsRegion":"eu-west-1",
		"attributes":{"ApproximateReceiveCount":"3","SentTimestamp":"1762344000000","SenderId":"AIDA",
			"ApproximateFirstReceiveTimestamp":"1762344000012","MessageGroupId":"g","MessageDeduplicationId":"d",
			"SequenceNumber":"18849496460467696128","AWSTraceHeader":"Root=1","DeadLetterQueueSourceArn":"arn:x","New":"n"},
		"messageAttributes":{"s":{"stringValue":"v","stringListValues":[],"binaryListValues":[],"dataType":"String.x"},
			"b":{"binaryValue":"AAH/","dataType":"Binary"}}
	} ] } `))
	if err != nil || len(records) != 1 {
		t.Fatal(len(records), err)
	}
	r := records[0]
	if r.Body != "{\"id\":\"o-1\"}\n\u00e9 \U0001F4E6 /" {
		t.Errorf("body %q", r.Body)
	}
	if !r.FIFO() || r.Attempt != 3 || !r.SentAt.Equal(time.UnixMilli(1762344000000)) || !r.FirstReceivedAt.Equal(time.UnixMilli(1762344000012)) {
		t.Errorf("%+v", r)
	}
	if r.GroupID != "g" || r.DeduplicationID != "d" || r.SequenceNumber != "18849496460467696128" || r.TraceHeader != "Root=1" ||
		r.DeadLetterQueueSourceARN != "arn:x" || r.SenderID != "AIDA" || r.OtherAttributes["New"] != "n" {
		t.Errorf("%+v", r)
	}
	if a := r.MessageAttributes["s"]; a.StringValue != "v" || a.DataType != "String.x" {
		t.Errorf("%+v", a)
	}
	if a := r.MessageAttributes["b"]; string(a.BinaryValue) != "\x00\x01\xff" {
		t.Errorf("%+v", a)
	}
}

func TestReceiveCountOutOfRange_IsBounded(t *testing.T) {
	for count, want := range map[string]int{
		"1": 1, "70000": 70000, "99999999999999999999": math.MaxInt, "abc": 0, "": 0, "-1": 0, "-99999999999999999999": 0,
	} {
		records, err := Decode([]byte(`{"Records":[{"messageId":"m","attributes":{"ApproximateReceiveCount":"` + count + `"}}]}`))
		if err != nil || records[0].Attempt != want {
			t.Errorf("%q: attempt %d, %v, want %d", count, records[0].Attempt, err, want)
		}
	}
}

func TestDecodeOfInvalidEvent_SaysWhatIsWrong(t *testing.T) {
	for payload, want := range map[string]string{
		``:                           "it is not valid JSON, at offset 0 of 0",
		`null`:                       "it has no Records",
		`"text"`:                     "it has no Records",
		`{}`:                         "it has no Records",
		`{"key1":"value1"}`:          "it has no Records",
		`{"Records":null}`:           "its Records are not a list",
		`{"Records":{}}`:             "its Records are not a list",
		`{"Records":[null]}`:         "Records[0] is not an object",
		`{"Records":[[]]}`:           "Records[0] is not an object",
		`{"Records":[{"body":"x"}]}`: "Records[0] has no messageId",
		`{"Records":[{"messageId":"m-1"},{"messageId":""}]}`:                            "Records[1] has no messageId",
		`{"Records":[{"messageId":null}]}`:                                              "Records[0] has no messageId",
		`{"Records":[{"messageId":7}]}`:                                                 "messageId is not a string",
		`{"Records":[{"EventSource":"aws:sns","Sns":{}}]}`:                              `Records[0] comes from "aws:sns"`,
		`{"Records":[{"eventSource":"aws:s3","s3":{}}]}`:                                `Records[0] comes from "aws:s3"`,
		`{"Records":[{"messageId":"m","eventSource":"aws:kinesis"}]}`:                   `comes from "aws:kinesis"`,
		`{"Records":[{"messageId":"m","attributes":"x"}]}`:                              "attributes is not an object",
		`{"Records":[{"messageId":"m","messageAttributes":{"a":{"binaryValue":"*"}}}]}`: "not base64",
		`{"Records":[{"messageId":"m"}]`:                                                "it is not valid JSON, at offset 30 of 30",
		`{"Records":[{"messageId":"m"}]} x`:                                             "it is not valid JSON, at offset 32 of 33",
		`{"Records":[{"messageId":"m",}]}`:                                              "it is not valid JSON, at offset 29 of 32",
		"{\"Records\":[{\"messageId\":\"m\x01\"}]}":                                     "it is not valid JSON, at offset 27 of 32",
		`{"Records":[{"messageId":"m\x"}]}`:                                             "it is not valid JSON, at offset 29 of 33",
		`{"Records":[],"x":01}`:                                                         "not valid JSON",
		strings.Repeat(`{"a":`, 5000):                                                   "not valid JSON",
	} {
		records, err := Decode([]byte(payload))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %d records, error %v, want %q in it", payload, len(records), err, want)
		}
	}
	if records, err := Decode([]byte(`{"Records":[]}`)); err != nil || len(records) != 0 {
		t.Errorf("empty Records: %d, %v", len(records), err)
	}
}

func TestPayloadOverwritten_DecodedStringsStay(t *testing.T) {
	payload := []byte(`{"Records":[{"messageId":"m-1","body":"plain"},{"messageId":"m-2","body":"with \"escapes\""}]}`)
	records, err := Decode(payload)
	if err != nil {
		t.Fatal(err)
	}
	for i := range payload {
		payload[i] = 'X' // aws-lambda-go reads the next event into the same memory
	}
	if records[0].Body != "plain" || records[1].Body != `with "escapes"` || records[1].MessageID != "m-2" {
		t.Errorf("%+v", records)
	}
}

func TestInvalidUTF8IsReplacedAndManyEscapesKept(t *testing.T) {
	// Each bad byte becomes three: more than the payload had room for.
	payload := `{"Records":[{"messageId":"m","body":"\t` + strings.Repeat("\xff", 1000) + `"},{"messageId":"n","body":"\n"}]}`
	records, err := Decode([]byte(payload))
	if err != nil || records[0].Body != "\t"+strings.Repeat("\uFFFD", 1000) || records[1].Body != "\n" {
		t.Errorf("%+v, %v", records, err)
	}
}

// FuzzDecode holds Decode against encoding/json: it accepts nothing that is
// no JSON, and what both accept is the same.
func FuzzDecode(f *testing.F) {
	names, err := samples.FS.ReadDir(".")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		if data, err := samples.FS.ReadFile(name.Name()); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte(`{"Records":[{"messageId":"\ud800\u0041\udc00x\ud83d\ude00","body":"\b\f\/"}]}`))
	f.Add([]byte("{\"Records\":[{\"messageId\":\"a\xffb\\\"\xc3\xa9\"}],\"Records\":[]}"))
	f.Add([]byte(`{"Records":[{"messageId":"a","body":"{\"x\":1}","attributes":{"SenderId":"s","ApproximateReceiveCount":"1"}},
{"messageId":"b","body":"","attributes":{"SenderId":"s","ApproximateReceiveCount":"2"}},{"body":"\\n","messageId":"c"}]}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		records, err := Decode(payload)
		var event events.SQSEvent
		jsonErr := json.Unmarshal(payload, &event)
		if err != nil {
			return
		}
		if !json.Valid(payload) {
			t.Fatalf("accepted what is no JSON")
		}
		if jsonErr != nil || len(event.Records) != len(records) || hasOddNames(payload) {
			return
		}
		for i := range records {
			if got, want := flat(records[i]), flatMessage(event.Records[i]); got != want {
				t.Errorf("record %d:\n%s\nwant\n%s", i, got, want)
			}
		}
	})
}

// hasOddNames tells payloads in which encoding/json may rightly see something
// else: it takes names in any case, and merges members that are repeated.
func hasOddNames(payload []byte) bool {
	return oddNames(json.NewDecoder(bytes.NewReader(payload)))
}

// oddNames reads one value.
func oddNames(d *json.Decoder) bool {
	token, err := d.Token()
	if err != nil {
		return true
	}
	seen := map[string]bool{}
	for token == json.Delim('{') && d.More() {
		name, _ := d.Token()
		lower := strings.ToLower(name.(string))
		if known, ok := names[lower]; seen[lower] || ok && known != name || oddNames(d) {
			return true
		}
		seen[lower] = true
	}
	for token == json.Delim('[') && d.More() {
		if oddNames(d) {
			return true
		}
	}
	if _, open := token.(json.Delim); open {
		_, err = d.Token()
	}
	return err != nil
}

// names are those that events.SQSEvent knows.
var names = func() map[string]string {
	m := map[string]string{}
	for _, name := range strings.Fields(`Records messageId receiptHandle body md5OfBody md5OfMessageAttributes attributes
		messageAttributes eventSourceARN eventSource awsRegion stringValue binaryValue stringListValues binaryListValues dataType`) {
		m[strings.ToLower(name)] = name
	}
	return m
}()

func flat(r batch.Record) string {
	return fmt.Sprintf("%q %q %q %q %q %q %q %d %q %v", r.MessageID, r.ReceiptHandle, r.Body, r.MD5OfBody, r.MD5OfMessageAttributes,
		r.QueueARN, r.Region, r.Attempt, r.GroupID, len(r.MessageAttributes))
}

func flatMessage(m events.SQSMessage) string {
	r := batch.Record{
		MessageID: m.MessageId, ReceiptHandle: m.ReceiptHandle, Body: m.Body, MD5OfBody: m.Md5OfBody,
		MD5OfMessageAttributes: m.Md5OfMessageAttributes, QueueARN: m.EventSourceARN, Region: m.AWSRegion,
	}
	for name, value := range maps.All(m.Attributes) {
		attribute.Set(&r, name, value)
	}
	r.MessageAttributes = map[string]batch.MessageAttribute{}
	for name := range m.MessageAttributes {
		r.MessageAttributes[name] = batch.MessageAttribute{}
	}
	return flat(r)
}
