package lambda

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Every response names messages of the batch, or fails the batch.
func FuzzItemFailures(f *testing.F) {
	for _, s := range []string{
		``, `null`, `{}`, `{"batchItemFailures":[{"itemIdentifier":"a"}]}`, `{"batchItemFailures":[{"itemIdentifier":"x"}]}`,
		`{"batchItemFailures":[{"itemIdentifier":null}]}`, `{"batchItemFailures":{}}`, `[]`, `{`, "\xff",
	} {
		f.Add([]byte(s))
	}
	b := &batch{messages: []message{{Record: Record{MessageID: "a"}}, {Record: Record{MessageID: "b"}}}}
	f.Fuzz(func(t *testing.T, response []byte) {
		failed, all := itemFailures(response, b)
		for id := range failed {
			if id != "a" && id != "b" {
				t.Errorf("%q failed, and is not a message of the batch", id)
			}
		}
		if all != "" && failed != nil {
			t.Errorf("both %v and %q", failed, all)
		}
		// aws-lambda-go's type reads an accepted response in the same way.
		if all == "" && len(failed) > 0 && !ambiguous(response) {
			var r events.SQSEventResponse
			if err := json.Unmarshal(response, &r); err != nil || len(r.BatchItemFailures) < len(failed) {
				t.Errorf("%v of %+v (%v)", failed, r, err)
			}
		}
	})
}

// ambiguous reports whether a response has two names that differ only in case, which
// encoding/json does not distinguish.
func ambiguous(response []byte) bool {
	var doc map[string]json.RawMessage
	_ = json.Unmarshal(response, &doc)
	n := 0
	for name := range doc {
		if strings.EqualFold(name, "batchItemFailures") {
			n++
		}
	}
	return n > 1
}

func FuzzErrorDocument(f *testing.F) {
	for _, s := range []string{`{"errorType":"T","errorMessage":"m","stackTrace":[]}`, `null`, `[]`, `{"errorType":1}`, `oops`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		ferr := parseError(http.Header{}, body)
		if ferr.Type == "" {
			t.Errorf("no type")
		}
		if !json.Valid(ferr.document()) {
			t.Errorf("document %s", ferr.document())
		}
	})
}

// Decoding an event returns the encoded messages, and the event has the computed size.
func FuzzEvent(f *testing.F) {
	f.Add("id", "body <&>\u2028", "name", "value", []byte{0, 1})
	f.Add("", "", "", "", []byte(nil))
	f.Fuzz(func(t *testing.T, id, body, name, value string, binary []byte) {
		for _, s := range []string{id, body, name, value} {
			if !utf8.ValidString(s) {
				t.Skip("no message carries invalid UTF-8")
			}
		}
		m := newMessage(types.Message{
			MessageId: &id, Body: &body,
			Attributes: map[string]string{"MessageGroupId": value},
			MessageAttributes: map[string]types.MessageAttributeValue{
				name:         {DataType: aws.String("String"), StringValue: &value},
				"raw" + name: {DataType: aws.String("Binary"), BinaryValue: binary},
			},
		}, "arn:aws:sqs:us-east-1:000000000000:q", "us-east-1")
		b := &batch{}
		for range 3 {
			if !b.add(m, 3) {
				t.Fatal("does not fit")
			}
		}
		if b.add(m, 3) {
			t.Fatal("a fourth of three")
		}
		b.remove(func(message) bool { return false })
		payload := b.payload()
		if len(payload) != b.bytes {
			t.Errorf("%d bytes, counted %d", len(payload), b.bytes)
		}
		var e events.SQSEvent
		OK(t, json.Unmarshal(payload, &e))
		r := e.Records[2]
		if r.MessageId != id || r.Body != body || *r.MessageAttributes[name].StringValue != value || m.GroupID != value {
			t.Errorf("record %+v", r)
		}
		if got := r.MessageAttributes["raw"+name].BinaryValue; string(got) != string(binary) {
			t.Errorf("binary %v, want %v", got, binary)
		}
	})
}
