package longpoll_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// SQS may return fewer than ten while the queue has thousands. One such answer
// must not end the receives side by side, which take long to come back.
func TestPartialReceivesOfFullQueue_KeepThroughput(t *testing.T) {
	h := func(context.Context, batch.Record) error { time.Sleep(10 * time.Millisecond); return nil }
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 64 }, func(w *world) {
		w.sendMany(6000)
		w.inject(latency(20 * time.Millisecond))
		var receives atomic.Int32
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation == "ReceiveMessage" && receives.Add(1)%8 == 0 {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return nil, err
				}
				fewer := strings.Replace(string(body), `"MaxNumberOfMessages":10`, `"MaxNumberOfMessages":7`, 1)
				r.Body, r.ContentLength = io.NopCloser(bytes.NewBufferString(fewer)), int64(len(fewer))
			}
			return nil, nil
		}
		w.start()
		w.after(time.Second)
		if n := len(w.bodies()); n < 4500 {
			t.Errorf("%d were handled in the first second, want at least 4500 of the 6400 that the slots allow", n)
		}
		w.after(time.Minute)
		before := len(w.Server().Calls("ReceiveMessage"))
		w.after(time.Minute)
		if n := len(w.Server().Calls("ReceiveMessage")) - before; n > 4 {
			t.Errorf("%d receives in a minute of the empty queue, want 3", n)
		}
	})
}
