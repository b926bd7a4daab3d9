package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/handler"
)

// timeout is template.yaml's, one for which events/README.md promises answers.
const timeout = 10 * time.Second

// onEach runs the deployed function on each payload as Lambda would, but with no queue
// behind it: AWS_SAM_LOCAL says that the receipt handles are samples.
func onEach(t *testing.T, pattern string, check func(t *testing.T, name string, answer []byte, err error)) {
	t.Helper()
	t.Setenv("AWS_SAM_LOCAL", "true")
	names, err := fs.Glob(events.FS, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no event matches %s (%v)", pattern, err)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := handler.New(batch.JSON(shipFrom(memoryWarehouse{})), handler.Config{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()
				start := time.Now()
				answer, err := h.Invoke(ctx, read(t, name))
				if took := time.Since(start); took >= timeout {
					t.Errorf("answered after %v, when Lambda has ended the function", took)
				}
				check(t, name, answer, err)
				time.Sleep(time.Minute) // what was abandoned ends in this bubble
			})
		})
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := events.FS.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every event gets the answer that is documented for it, before the timeout.
func TestEventsGetTheirAnswers(t *testing.T) {
	onEach(t, "*.json", func(t *testing.T, name string, answer []byte, err error) {
		if err != nil {
			t.Fatalf("invocation failed: %v", err)
		}
		if want := read(t, path.Join("answers", name)); !reflect.DeepEqual(parsed(t, answer), parsed(t, want)) {
			t.Errorf("answer is\n%s\nwant\n%s", answer, want)
		}
	})
}

// A payload that cannot be answered safely fails the invocation and says why.
func TestRefusedEventsFail(t *testing.T) {
	onEach(t, "refused/*.json", func(t *testing.T, _ string, answer []byte, err error) {
		if err == nil || err.Error() == "" {
			t.Errorf("answered %s with the error %v, want one that says something", answer, err)
		}
	})
}

func parsed(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return v
}
