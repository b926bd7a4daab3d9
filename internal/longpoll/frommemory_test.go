package longpoll_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// net/http may look at the body of a request after the SDK has closed it. An error then breaks
// the connection, and the answer is lost: the messages of a receive stay hidden.
func TestCalls_BodyCanBeReadAfterTheAnswer(t *testing.T) {
	handler := func(_ context.Context, r batch.Record) error {
		if r.Body == "m-2" {
			return errors.New("made to fail")
		}
		time.Sleep(4 * time.Minute) // until after a heartbeat
		return nil
	}
	inWorld(t, standardQueue, handler, nil, func(w *world) {
		w.sendMany(2)
		var mu sync.Mutex
		bodies := map[string]io.Reader{}
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			bodies[operation] = r.Body
			return nil, nil
		}
		w.start()
		w.after(5 * time.Minute)
		w.stop()
		for operation, body := range bodies {
			if _, err := io.Copy(io.Discard, body); err != nil {
				t.Errorf("%s: %v", operation, err)
			}
		}
		for _, operation := range []string{receiving, "GetQueueAttributes", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
			if bodies[operation] == nil {
				t.Errorf("there was no %s", operation)
			}
		}
	})
}
