package message_test

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/events"
)

func TestEvent(t *testing.T) {
	messages, fifo, err := message.Event([]byte(`{"Records":[
		{"messageId":"1","body":"a","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:r:1:q.fifo",
		 "attributes":{"ApproximateReceiveCount":"4","MessageGroupId":"g","MessageDeduplicationId":"d","AWSTraceHeader":"Root=1"},
		 "messageAttributes":{"s":{"dataType":"String","stringValue":"x"},"b":{"dataType":"Binary.png","binaryValue":"AAE="}}},
		{"messageId":"2","body":"","attributes":{"ApproximateReceiveCount":"abc"}}]}`))
	if err != nil || !fifo {
		t.Fatalf("fifo %v, error %v", fifo, err)
	}
	want := []message.Message{
		{
			Body: "a", GroupID: "g", DeduplicationID: "d", TraceHeader: "Root=1", Attempt: 4,
			Attributes: map[string]message.Attribute{
				"s": {DataType: "String", String: "x"},
				"b": {DataType: "Binary.png", Binary: []byte{0, 1}},
			},
		},
		{},
	}
	if !reflect.DeepEqual(messages, want) {
		t.Errorf("\n got %+v\nwant %+v", messages, want)
	}
}

// TestSampleEvents: every event of the repository is taken, every refused one
// refused.
func TestSampleEvents(t *testing.T) {
	good, err := fs.Glob(events.FS, "*.json")
	if err != nil || len(good) == 0 {
		t.Fatalf("%v, %v", good, err)
	}
	for _, name := range good {
		data, err := events.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		messages, fifo, err := message.Event(data)
		if err != nil || (len(messages) == 0) != (name == "empty.json") || fifo != (name == "fifo.json") {
			t.Errorf("%s: %d messages, fifo %v, error %v", name, len(messages), fifo, err)
		}
	}
	refused, err := fs.Glob(events.FS, "refused/*.json")
	if err != nil || len(refused) == 0 {
		t.Fatalf("%v, %v", refused, err)
	}
	for _, name := range refused {
		data, err := events.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := message.Event(data); err == nil || !strings.HasPrefix(err.Error(), "not an SQS event: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestNotAnEvent(t *testing.T) {
	for in, want := range map[string]string{
		``:                                "not a JSON object",
		"{\n\"Records\": [\n}":            "line 3",
		`[]`:                              "not a JSON object",
		`{"key1":"value1"}`:               "it has no Records",
		`{"Records": null}`:               "its Records are null",
		`{"Records": 1}`:                  "not an SQS event",
		`{"Records":[{"body":"x"}]}`:      "record 1 has no messageId",
		`{"Records":[{"messageId":"x"}]}`: "record 1 has no body",
	} {
		if _, _, err := message.Event([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", in, err, want)
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
	// A longer one is given as what SQS refuses, and those behind it are read.
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

// FuzzEvent: nothing panics, and no record is lost or made up.
func FuzzEvent(f *testing.F) {
	names, err := fs.Glob(events.FS, "*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := events.FS.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"Records":[{"messageId":"x","body":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		messages, _, err := message.Event(data)
		if err != nil && messages != nil {
			t.Errorf("%d messages and the error %v", len(messages), err)
		}
	})
}
