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

// invoke runs the deployed function on a payload as Lambda would, but with no
// queue behind it: AWS_SAM_LOCAL says that the receipt handles are samples.
func invoke(t *testing.T, payload []byte) (answer []byte, took time.Duration, err error) {
	t.Helper()
	h, err := handler.New(batch.JSON(shipFrom(memoryWarehouse{})), handler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	start := time.Now()
	answer, err = h.Invoke(ctx, payload)
	return answer, time.Since(start), err
}

func payloads(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	names, err := fs.Glob(events.FS, pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no event matches %s (%v)", pattern, err)
	}
	found := map[string][]byte{}
	for _, name := range names {
		if found[name], err = events.FS.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// Every event gets the answer that is documented for it, before the timeout.
func TestEventsGetTheirAnswers(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	for name, payload := range payloads(t, "*.json") {
		want, err := events.FS.ReadFile(path.Join("answers", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, took, err := invoke(t, payload)
				if err != nil {
					t.Fatalf("invocation failed: %v", err)
				}
				if !reflect.DeepEqual(parsed(t, got), parsed(t, want)) {
					t.Errorf("answer is\n%s\nwant\n%s", got, want)
				}
				if took >= timeout {
					t.Errorf("answered after %v, when Lambda has ended the function", took)
				}
				time.Sleep(time.Minute) // what was abandoned ends in this bubble
			})
		})
	}
}

// A payload that cannot be answered safely fails the invocation and says why.
func TestRefusedEventsFail(t *testing.T) {
	t.Setenv("AWS_SAM_LOCAL", "true")
	for name, payload := range payloads(t, "refused/*.json") {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer, _, err := invoke(t, payload)
				if err == nil {
					t.Fatalf("answered %s, want an error", answer)
				}
				if err.Error() == "" {
					t.Error("the error says nothing")
				}
			})
		})
	}
}

func parsed(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return v
}
