package lambda_test

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// Several pollers gather a batch each, of what one would have put into one.
func TestPollersSpreadMessages(t *testing.T) {
	for pollers, want := range map[int][]string{0: {"5s:3"}, 3: {"5s:1", "5s:1", "5s:1"}} {
		virtual(t, func(w *world) {
			url := w.queue("orders", 30)
			stop := w.run(lambda.Mapping{QueueURL: url, Pollers: pollers, BatchSize: 10, Window: 5 * time.Second})
			w.after(0)
			w.send(url, "a", "b", "c")
			w.after(10 * time.Second)
			stop()
			w.wantTimes(want...)
			w.wantDeleted("a", "b", "c")
		})
	}
}

// Disabled and enabled again: what runs is settled, what is held goes back, and
// nothing is taken in between.
func TestDisableAndEnable(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 60)
		d := w.function(lambda.Function{Concurrency: 1, Timeout: 30 * time.Second}, taking(10*time.Second))
		w.send(url, "a", "b", "c")
		m := lambda.Mapping{Function: d, QueueURL: url, BatchSize: 1}
		disable := w.run(m)
		w.after(5 * time.Second) // a runs, b waits for its place
		disable()
		w.wantDeleted("a")
		w.after(40 * time.Second)
		w.wantTimes("0s:1")
		disable = w.run(m)
		w.after(70 * time.Second)
		disable()
		w.wantTimes("0s:1", "40s:1", "50s:1")
		w.wantDeleted("a", "b", "c")
	})
}
