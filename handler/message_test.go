package handler

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"reflect"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/batch"
	samples "github.com/sqsbatch/sqsbatch/events"
)

// Encoding an event again loses nothing of its records.
func TestHandleEventGivesTheRecordsOfInvoke(t *testing.T) {
	names, _ := fs.Glob(samples.FS, "*.json")
	payloads := map[string][]byte{"no source, an unknown attribute": []byte(`{"Records":[{"messageId":"m","body":"b","attributes":{"Later":"x","SenderId":"AIDA"},
		"messageAttributes":{"b":{"dataType":"Binary","binaryValue":"AAH/"},"s":{"dataType":"String","stringValue":"v"}}}]}`)}
	for _, name := range names {
		payloads[name], _ = samples.FS.ReadFile(name)
	}
	for name, payload := range payloads {
		var mu sync.Mutex
		var got map[string]batch.Record
		l := mustNew(t, batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			mu.Lock()
			defer mu.Unlock()
			got[r.MessageID+r.ReceiptHandle] = r
			return nil
		}), Config{Logger: slog.New(slog.DiscardHandler)})
		got = map[string]batch.Record{}
		if _, err := l.Invoke(t.Context(), payload); err != nil {
			t.Fatal(name, err)
		}
		want := got
		var event events.SQSEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			t.Fatal(name, err)
		}
		got = map[string]batch.Record{}
		if _, err := l.HandleEvent(t.Context(), event); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, want)
		}
	}
}

func TestMessageFuncGetsUnknownAttributesAndNoneThatIsMissing(t *testing.T) {
	m := toMessage(batch.Record{MessageID: "m", OtherAttributes: map[string]string{"Later": "x"}})
	if want := map[string]string{"Later": "x"}; !reflect.DeepEqual(m.Attributes, want) {
		t.Errorf("attributes %v, want %v", m.Attributes, want)
	}
}
