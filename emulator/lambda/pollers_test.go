package lambda_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// Several pollers gather a batch each, of what one would have put into one.
func TestPollersSpreadMessages(t *testing.T) {
	for pollers, want := range map[int][]string{0: {"5s:3"}, 3: {"5s:1", "5s:1", "5s:1"}} {
		virtual(t, func(w *world) {
			url := w.queue("orders", 30)
			d := w.function(lambda.Function{}, succeed)
			stop := w.run(lambda.Mapping{Function: d, QueueURL: url, Pollers: pollers, BatchSize: 10, Window: 5 * time.Second})
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
		d := w.function(lambda.Function{Concurrency: 1, Timeout: 30 * time.Second}, func(context.Context, events.SQSEvent) (string, error) {
			time.Sleep(10 * time.Second)
			return "", nil
		})
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
