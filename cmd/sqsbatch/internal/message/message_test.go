package message_test

import (
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/events"
)

func TestEvent(t *testing.T) {
	messages, sources, err := message.Event([]byte(`{"Records":[
		{"messageId":"1","body":"a","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:r:1:q.fifo",
		 "attributes":{"ApproximateReceiveCount":"4","MessageGroupId":"g","MessageDeduplicationId":"d","AWSTraceHeader":"Root=1"},
		 "messageAttributes":{"s":{"dataType":"String","stringValue":"x"},"b":{"dataType":"Binary.png","binaryValue":"AAE="}}},
		{"messageId":"2","body":"","attributes":{"ApproximateReceiveCount":"abc"}}]}`))
	if err != nil || !slices.Equal(sources, []string{"arn:aws:sqs:r:1:q.fifo"}) {
		t.Fatalf("sources %v, error %v", sources, err)
	}
	want := []message.Message{
		{
			Body: "a", GroupID: "g", DeduplicationID: "d", TraceHeader: "Root=1", Attempt: 4,
			Attributes: map[string]batch.MessageAttribute{
				"s": {DataType: "String", StringValue: "x"},
				"b": {DataType: "Binary.png", BinaryValue: []byte{0, 1}},
			},
		},
		{},
	}
	if !reflect.DeepEqual(messages, want) {
		t.Errorf("\n got %+v\nwant %+v", messages, want)
	}
}

// samples returns the events of the repository.
func samples(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	names, err := fs.Glob(events.FS, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = events.FS.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// Every event of the repository is accepted, and every invalid one refused.
func TestSampleEvents(t *testing.T) {
	for name, data := range samples(t, "*.json") {
		messages, sources, err := message.Event(data)
		if err != nil || (len(messages) == 0) != (name == "empty.json") || len(sources) > 1 || strings.HasSuffix(strings.Join(sources, ""), ".fifo") != (name == "fifo.json") {
			t.Errorf("%s: %d messages, sources %v, error %v", name, len(messages), sources, err)
		}
	}
	for name, data := range samples(t, "refused/*.json") {
		if _, _, err := message.Event(data); err == nil || !strings.HasPrefix(err.Error(), "not an SQS event: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestLines(t *testing.T) {
	collect := func(in string) (got []string, err error) {
		err = message.Lines(strings.NewReader(in), func(m message.Message) error {
			got = append(got, m.Body)
			return nil
		})
		return got, err
	}
	got, err := collect("a\r\n\n  b \n \nlast")
	if want := []string{"a", "  b ", "last"}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	longest := strings.Repeat("x", 1<<20)
	if got, err := collect("a\n" + longest + "\r\nb"); err != nil || len(got) != 3 {
		t.Errorf("a line of 1 MiB: %d lines, %v", len(got), err)
	}
	// A longer line becomes a body that SQS refuses, and the next lines are read.
	if got, err := collect("a\n" + longest + longest + "\nb"); err != nil || len(got) != 3 || len(got[1]) <= len(longest) || len(got[1]) > len(longest)+2 || got[2] != "b" {
		t.Errorf("a longer line: %d lines, %v", len(got), err)
	}
	broken := errors.New("broken")
	if err := message.Lines(iotest.ErrReader(broken), nil); !errors.Is(err, broken) {
		t.Errorf("a reader's error: %v", err)
	}
	if err := message.Lines(strings.NewReader("a\n"), func(message.Message) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a sender's error: %v", err)
	}
}

// FuzzEvent: no event causes a panic, and the number of records is right.
func FuzzEvent(f *testing.F) {
	for _, data := range samples(f, "*.json") {
		f.Add(data)
	}
	f.Add([]byte(`{"Records":[{"messageId":"x","body":null}]}`))
	f.Add([]byte(`{"Messages":[{"Body":"x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, _, err := message.Event(data)
		if err != nil && messages != nil {
			t.Errorf("%d messages and the error %v", len(messages), err)
		}
		file, err := message.Parse(data)
		if err != nil && file.Messages != nil || file.Body != "" && len(file.Messages) != 1 {
			t.Errorf("%d messages, %s, and the error %v", len(file.Messages), file.Body, err)
		}
	})
}

// TestFile: the forms of a file, and files without a valid form.
func TestFile(t *testing.T) {
	good := []struct {
		in, body string // body is File.Body
		want     []message.Message
	}{
		{`{"Records":[{"messageId":"1","body":"a"},{"messageId":"2","body":"b"}]}`, "", []message.Message{{Body: "a"}, {Body: "b"}}},
		{`{"Messages":[{"MessageId":"1","ReceiptHandle":"r","MD5OfBody":"x","Body":"a\nb","Attributes":{"ApproximateReceiveCount":"3","MessageGroupId":"g","SentTimestamp":"1"},
			"MessageAttributes":{"s":{"StringValue":"x","DataType":"String"},"b":{"BinaryValue":"AAE=","DataType":"Binary"}}},{"Body":""}]}`, "",
			[]message.Message{{Body: "a\nb", GroupID: "g", Attributes: map[string]batch.MessageAttribute{
				"s": {DataType: "String", StringValue: "x"}, "b": {DataType: "Binary", BinaryValue: []byte{0, 1}},
			}}, {}}},
		// The lines of a file with dead letters.
		{`{"Queue":"arn:dead","MessageId":"1","Body":"a\nb","Attributes":{"ApproximateReceiveCount":"3","MessageGroupId":"g","AWSTraceHeader":"Root=1"},
			"MessageAttributes":{"s":{"DataType":"Number.x","StringValue":"7"}}}` + "\n" + `{"Queue":"arn:dead","MessageId":"2","Body":""}` + "\r\n", "",
			[]message.Message{{Body: "a\nb", GroupID: "g", TraceHeader: "Root=1", Attributes: map[string]batch.MessageAttribute{"s": {DataType: "Number.x", StringValue: "7"}}}, {}}},
		{`{"MessageId":"1","Body":"a"}` + "\n\n" + `{"MessageId":"2","Body":"b","ReceiptHandle":"r"}`, "", []message.Message{{Body: "a"}, {Body: "b"}}},
		{`{"Queue":"arn:dead","MessageId":"1","Body":"a"}` + "\n", "", []message.Message{{Body: "a"}}},
		{`{"MessageId":"1","Body":"a"}`, "a JSON object", []message.Message{{Body: `{"MessageId":"1","Body":"a"}`}}},
		{"{\n  \"id\": 1\n}\n", "a JSON object", []message.Message{{Body: "{\n  \"id\": 1\n}"}}},
		{"\xef\xbb\xbf{\"id\": 1}\r\n", "a JSON object", []message.Message{{Body: `{"id": 1}`}}},
		{"[1, 2]", "a JSON array of 2", []message.Message{{Body: "[1, 2]"}}},
		{`"text"`, "a JSON value", []message.Message{{Body: `"text"`}}},
		{"paid 7\n", "text", []message.Message{{Body: "paid 7"}}},
		{"<order>\n  1\n</order>\n", "text of 3 lines", []message.Message{{Body: "<order>\n  1\n</order>"}}},
		{`{"Records":[{"eventSource":"aws:s3","s3":{}}]}`, "a notification of S3", []message.Message{{Body: `{"Records":[{"eventSource":"aws:s3","s3":{}}]}`}}},
	}
	for _, tt := range good {
		file, err := message.Parse([]byte(tt.in))
		if err != nil || file.Body != tt.body || file.Counted != strings.Contains(tt.in, `"ApproximateReceiveCount":"3"`) || !reflect.DeepEqual(file.Messages, tt.want) {
			t.Errorf("%s:\n got %+v, %v\nwant %q, %+v", tt.in, file, err, tt.body, tt.want)
		}
	}
	for in, want := range map[string]string{
		"":                    "it is empty",
		" \n":                 "it is empty",
		"a\xff":               "not UTF-8",
		"\xff\xfe{\x00}\x00":  "UTF-16",
		"{\n\"a\": [\n}":      "line 3",
		`{"id":`:              "begins like JSON, but is not: it ends too early",
		"{\"Records\":[]}\n}": "begins like JSON, but is not: line 2",
		`{"MessageId":"1","Body":"a","Queue":"q"}]`: "begins like JSON, but is not: line 1",
		`[1]]`:                               "begins like JSON, but is not: line 1",
		"{\"id\":1}\n{\"id\":2}\n{\"id\":3}": "3 JSON values; send a message of each line by `sqsbatch local PACKAGE - < FILE`",
		"{\"MessageId\":\"1\",\"Body\":\"a\"}\n{\"MessageId\":\"1\"}":            "2 JSON values",
		"{\"MessageId\":\"1\",\"Body\":\"a\"}\n{\"MessageId\":\"1\",\"Body\":1}": "2 JSON values",
		"{\"MessageId\":\"1\",\"Body\":\"a\"}\n[1]":                              "2 JSON values",
		`{"Queue":"q","MessageId":"1","Body":"a","MessageAttributes":{"a":1}}`:   "is not what `aws sqs receive-message` prints",
		`{"Records":[],"Messages":[]}`:                                           "Records, as an event of Lambda, and Messages",
		`{"Records":["a"]}`:                                                      "not an SQS event",
		`{"Records":null}`:                                                       "its Records are null",
		`{"Records":1}`:                                                          "not an SQS event",
		`{"Records":[{"messageId":"x"}]}`:                                        "record 1 has no body",
		`{"Records":[{"body":"x"}]}`:                                             "record 1 has no messageId",
		`{"Records":[{"eventSource":"aws:s3","messageId":"1","body":"a"}]}`:      "must be aws:sqs",
		`{"Messages":[{"body":"x"},{}]}`:                                         "message 2 has no Body",
		`{"Messages":"x"}`:                                                       "is not what `aws sqs receive-message` prints",
		`{"Messages":null}`:                                                      "is not what `aws sqs receive-message` prints",
		`{"messageId":"1","body":"a","eventSource":"aws:sqs"}`:                   "one record of an event",
		`{"MessageId":"1","Body":"a","ReceiptHandle":"r"}`:                       "one message of what `aws sqs receive-message` prints",
		`[{"Records":[]}]`:                                                       "array of events or records",
		`[{"messageId":"1","receiptHandle":"r","body":"a"}]`:                     "array of events or records",
		`[{"MessageId":"1","ReceiptHandle":"r","Body":"a"}]`:                     "array of events or records",
	} {
		if file, err := message.Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), want) || file.Messages != nil {
			t.Errorf("%s: %+v, error %v, want %q", in, file, err, want)
		}
	}
}
