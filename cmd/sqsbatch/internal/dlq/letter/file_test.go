package letter_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

const deadARN = "arn:aws:sqs:eu-west-1:111122223333:orders-dead"

func TestAppendJSON(t *testing.T) {
	l := order()
	l.Queue = deadARN
	l.Attributes = map[string]batch.MessageAttribute{"cents": l.Attributes["cents"], "raw": l.Attributes["raw"]}
	l.System = map[string]string{"SenderId": "AIDA", "MessageGroupId": "g-1", "SentTimestamp": "1795338000000"}
	got := string(l.AppendJSON([]byte("> ")))
	want := `> {"Queue":"` + deadARN + `","MessageId":"dead-1",` +
		`"Body":"{\"customer\": 9007199254740993, \"price\": 1.50, \"tags\": [\"a\", \"b\"], \"note\": \"<b>\"}",` +
		`"Attributes":{"MessageGroupId":"g-1","SenderId":"AIDA","SentTimestamp":"1795338000000"},` +
		`"MessageAttributes":{"cents":{"DataType":"Number.EUR","StringValue":"+0150"},"raw":{"DataType":"Binary","BinaryValue":"AP8="}}}`
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// What was written is read again, byte for byte.
func TestFileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file []byte
		var want []letter.Letter
		for _, l := range rapid.SliceOfN(anyLetter(), 0, 4).Draw(t, "letters") {
			l := fromSQS(t, l)
			l.Handle, l.Queue = "", deadARN
			file = append(l.AppendJSON(file), '\n')
			want = append(want, l)
		}
		got, err := readAll(file)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
		}
		// A second file, of what was read, is the same.
		var again []byte
		for i := range got {
			again = append(got[i].AppendJSON(again), '\n')
		}
		if !bytes.Equal(again, file) {
			t.Fatalf("again: %s\nfirst: %s", again, file)
		}
	})
}

// fromSQS is a letter as SQS returns it, with the system attributes of some.
func fromSQS(t *rapid.T, l letter.Letter) letter.Letter {
	m := types.Message{
		MessageId: aws.String(l.ID), ReceiptHandle: aws.String("handle"), Body: aws.String(l.Body),
		Attributes: map[string]string{
			"SentTimestamp": "1795338000123", "ApproximateFirstReceiveTimestamp": "1795341600456",
			"ApproximateReceiveCount": "2", "SenderId": "AIDA",
		},
		MessageAttributes: map[string]types.MessageAttributeValue{},
	}
	for _, name := range []string{"MessageGroupId", "MessageDeduplicationId", "AWSTraceHeader", "DeadLetterQueueSourceArn", "SequenceNumber"} {
		if value := rapid.StringMatching(`[ -~]{0,10}`).Draw(t, name); value != "" {
			m.Attributes[name] = value
		}
	}
	for name, a := range l.Attributes {
		value := types.MessageAttributeValue{DataType: aws.String(a.DataType)}
		if a.BinaryValue != nil {
			value.BinaryValue = a.BinaryValue
		} else {
			value.StringValue = aws.String(a.StringValue)
		}
		m.MessageAttributes[name] = value
	}
	if rapid.Bool().Draw(t, "origin") {
		origin, _ := partialfailure.Origin{Reason: "no <customer>", Attempts: 3, FailedAt: now}.Value(1000)
		m.MessageAttributes[partialfailure.OriginAttribute] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &origin}
	}
	return letter.FromSQS(&m)
}

func readAll(file []byte) (letters []letter.Letter, err error) {
	for l, err := range letter.Read(bytes.NewReader(file)) {
		if err != nil {
			return letters, err
		}
		letters = append(letters, l)
	}
	return letters, nil
}

// What the AWS CLI prints is a file, too, as are lines and blanks of other tools.
func TestReader(t *testing.T) {
	const one, two = `{"MessageId":"1","ReceiptHandle":"r","MD5OfBody":"x","Body":"a\"}{"}`, `{"MessageId":"2","Body":"","MessageAttributes":{"e":{"DataType":"Binary","BinaryValue":""}}}`
	for name, file := range map[string]string{
		"lines":          one + "\n" + two + "\n",
		"no end":         one + "\n" + two,
		"blank lines":    "\n \r\n" + one + "\r\n\r\n" + two + "\n\n",
		"one line":       one + two,
		"a mark":         "\xef\xbb\xbf" + one + "\n" + two,
		"one document":   `{"Messages":[` + one + "," + two + "]}",
		"its own lines":  "{\n  \"Messages\": [\n    " + one + ",\n" + two + "\n  ]\n}\n",
		"two documents":  `{"Messages":[` + one + "]}\n{\"Messages\":\n[" + two + "]}",
		"nothing inside": `{"Messages":[]}` + one + `{"Messages":[]}` + two,
		"mixed":          one + "\n{\n\"Messages\":[" + two + "]}",
	} {
		got, err := readAll([]byte(file))
		if err != nil || len(got) != 2 || got[0].ID != "1" || got[0].Body != `a"}{` || got[0].Handle != "" || got[1].ID != "2" || got[1].Body != "" || got[1].Attributes["e"].DataType != "Binary" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if got, err := readAll(nil); err != nil || got != nil {
		t.Errorf("an empty file: %v, %v", got, err)
	}
}

func TestReaderErrors(t *testing.T) {
	const good = `{"MessageId":"1","Body":"a"}` + "\n"
	for file, want := range map[string]string{
		good + "\n" + `{"MessageId":"secret-2","Body":"sec`:  "line 3: the message ends too early",
		good + `{"MessageId":"secret-2","Bo` + "\n" + good:   "line 2: it is not JSON",
		good + `{"MessageId":"secret-2"` + "\n":              "line 2: the message ends too early",
		good + `{"MessageId":"secret-2",` + "\n" + good:      "line 3: it is not JSON",
		good + `{"MessageId":"secret-2"}`:                    "line 2: the message has no Body",
		good + `{"Body":"secret"}`:                           "line 2: the message has no MessageId",
		good + "{\n\"Messages\": [\n{\"Body\":\"secret\"}]}": "line 2: message 1 of Messages: the message has no MessageId",
		good + "{\n\n]}":    "line 4: it is not JSON",
		good + `["secret"]`: `line 2: it is not a JSON object`,
		good + `secret`:     `line 2: it is not JSON`,
		good + `{"MessageId":"1","Body":{"secret":1}}`:                  "line 2: it is not a message: Body has a value of the wrong type",
		good + `{"MessageId":"1","Body":"","Attributes":{"secret":{}}}`: "line 2: it is not a message: Attributes has",
		`{"Messages":"secret"}`:                                         "line 1: it is not a message: Messages has",
		`{"Messages":null}`:                                             "line 1: the message has no Body",
		`{"Records":[{"body":"secret"}]}`:                               "line 1: it is an event of Lambda",
		"\xff\xfe{\x00":                                                 "UTF-16",
		`{"MessageId":"1","Body":"","MessageAttributes":{"a":{"DataType":"Strange"}}}`:                       `attribute "a" with DataType "Strange"`,
		`{"MessageId":"1","Body":"","MessageAttributes":{"a":{"StringValue":"secret"}}}`:                     `attribute "a" with DataType ""`,
		`{"MessageId":"1","Body":"","MessageAttributes":{"a":{"DataType":"Number","BinaryValue":"AA=="}}}`:   `attribute "a" with DataType "Number"`,
		`{"MessageId":"1","Body":"","MessageAttributes":{"a":{"DataType":"Binary","StringValue":"secret"}}}`: `attribute "a" with DataType "Binary"`,
		`{"MessageId":"1","Body":"","MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"secret"}}}`: `it is not a message`,
		good + strings.Repeat(" ", 17<<20) + good:                                                            "from line 1 on: it is longer than 16 MiB",
		good + `{"MessageId":` + strings.Repeat("\n", 16<<20):                                                "from line 1 on: it is longer than 16 MiB",
	} {
		letters, err := readAll([]byte(file))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || len(letters) != strings.Count(file[:min(len(file), len(good))], good) {
			t.Errorf("%.60q: %d letters, %v, want %q", file, len(letters), err, want)
		}
	}
}

// An error of the file comes with its line, after the letters before it.
func TestReaderBroken(t *testing.T) {
	broken := errors.New("broken")
	var ids []string
	var errs []error
	for l, err := range letter.Read(io.MultiReader(strings.NewReader(`{"MessageId":"1","Body":"a"}`+"\n"), iotest.ErrReader(broken))) {
		ids, errs = append(ids, l.ID), append(errs, err)
	}
	if !slices.Equal(ids, []string{"1", ""}) || errs[0] != nil || !errors.Is(errs[1], broken) || !strings.HasPrefix(errs[1].Error(), "line 2: ") {
		t.Errorf("%q, %v", ids, errs)
	}
}

// The largest message that SQS returns is read, however its characters are escaped.
func TestReaderLargest(t *testing.T) {
	body := strings.Repeat("\x7f", 1<<20-3)
	line := `{"MessageId":"1","Body":"` + strings.Repeat(`\u007f`, len(body)) + `"}`
	got, err := readAll([]byte(line))
	if err != nil || len(got) != 1 || got[0].Body != body {
		t.Fatalf("%d letters, %v", len(got), err)
	}
}

// Whatever a file has, the reader does not panic, and what it reads can be written.
func FuzzReader(f *testing.F) {
	f.Add(append(order().AppendJSON(nil), '\n'))
	f.Add([]byte("{\n\"Messages\": [{\"MessageId\":\"1\",\"Body\":\"\\ud800\"}]}\n{}"))
	f.Add([]byte(`{"MessageId":"1","Body":"","MessageAttributes":{"a":{"DataType":"Binary.x","BinaryValue":""}}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		letters, _ := readAll(file)
		var again []byte
		for i := range letters {
			again = append(letters[i].AppendJSON(again), '\n')
		}
		got, err := readAll(again)
		if err != nil || len(got) != len(letters) {
			t.Fatalf("%d of %d letters, %v", len(got), len(letters), err)
		}
		for i := range got {
			if got[i].ID != letters[i].ID || got[i].Body != letters[i].Body || !reflect.DeepEqual(got[i].Attributes, letters[i].Attributes) || got[i].GroupID != letters[i].GroupID {
				t.Errorf("letter %d:\n got %+v\nwant %+v", i, got[i], letters[i])
			}
		}
	})
}
