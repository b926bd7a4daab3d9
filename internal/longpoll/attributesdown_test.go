package longpoll_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// What the queue has said before names the dead-letter queue: records go there although
// SQS does not answer the question again, which is not asked forever.
func TestAttributesUnanswered_RecordsAreDeadLettered(t *testing.T) {
	never := func(context.Context, batch.Record) error { return batch.Permanent(errors.New("no such order")) }
	for _, kind := range []sqs.FaultKind{sqs.Throttled, sqs.Hang, sqs.Failure} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, standardQueue, never, nil, func(w *world) {
				w.start()
				w.after(6 * time.Minute) // the answer is out of date
				w.inject(sqs.Fault{Kind: kind, Operation: "GetQueueAttributes"})
				w.Send("a", "b")
				w.after(5 * time.Second)
				w.Send("c")
				w.after(time.Minute)
				if n := len(w.bodies()); n != 3 {
					t.Errorf("3 records were handled %d times", n)
				}
				w.wantOutcomes(batch.DeadLettered, batch.DeadLettered, batch.DeadLettered)
				asked := w.count("GetQueueAttributes")
				w.after(time.Hour)
				if n := w.count("GetQueueAttributes") - asked; n > 2 {
					t.Errorf("%d questions in an hour in which nothing is to be sent", n)
				}
				if took := w.stop(); took > time.Second {
					t.Errorf("the stop took %v", took)
				}
			})
		})
	}
}

// A refusal that is about one delete does not hold the others up.
func TestDeleteRefusedForItsValue_OthersGoOn(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Code: "InvalidParameterValue", Operation: deletion, Times: 3})
		w.start()
		w.Send("a")
		w.after(200 * time.Millisecond)
		if s := w.p.Status(); s.State != "polling" {
			t.Errorf("one delete was refused, and the poller is %s", s.State)
		}
		w.Send("b")
		w.after(10 * time.Second)
		if n := w.deleted(); n != 2 {
			t.Errorf("%d of 2 deleted", n)
		}
	})
}
