package longpoll_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

const deletion = "DeleteMessageBatch"

func TestDeletes_GoInTensOrAfterTheLinger(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "slow" {
			time.Sleep(time.Minute)
		}
		return nil
	}
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 30 }, func(w *world) {
		w.Send("slow")
		w.start()
		w.after(time.Second)
		w.Send(numbered(25, "")...) // received one by one as they come
		sent := time.Now()
		w.after(time.Second)
		var sizes []int
		for _, c := range w.Server().Calls(deletion) {
			sizes = append(sizes, c.Messages)
			if late := c.Began.Sub(sent); late > 110*time.Millisecond {
				t.Errorf("a delete waited %v, want 100 ms at most", late)
			}
		}
		if !slices.Equal(sizes, []int{10, 10, 5}) {
			t.Errorf("deletes of %v records, want 10, 10 and 5", sizes)
		}
	})
}

func TestNothingElseRuns_DeleteGoesAtOnce(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.Send("a")
		sent := time.Now()
		w.after(time.Second)
		if e := w.Events(sqs.Deleted); len(e) != 1 || e[0].Time.Sub(sent) > 5*time.Millisecond {
			t.Errorf("deleted %v, want at once", e)
		}
	})
}

// A delete that fails is tried again until it succeeds.
func TestDeleteFails_IsRetriedUntilItSucceeds(t *testing.T) {
	faults := map[string]sqs.Fault{
		"entries":   {Kind: sqs.EntryFailure},
		"throttled": {Kind: sqs.EntryFailure, Code: "RequestThrottled"},
		"calls":     {Kind: sqs.Failure},
		"throttle":  {Kind: sqs.Throttled},
		"refused":   {Kind: sqs.Refused},
		"hang":      {Kind: sqs.Hang},
		"denied":    {Kind: sqs.Failure, Code: "AccessDenied"},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			inWorld(t, standardQueue, ok, nil, func(w *world) {
				fault.Operation = deletion
				w.inject(fault)
				w.Send("a", "b", "c")
				w.start()
				w.after(3 * time.Minute)
				if w.deleted() != 0 || w.p.Status().Undeleted != 3 {
					t.Errorf("%d deleted, Undeleted is %d", w.deleted(), w.p.Status().Undeleted)
				}
				calls := w.count(deletion)
				w.after(time.Minute)
				if n := w.count(deletion) - calls; n < 1 || n > 4*9 { // 30 s apart, with up to three tries of three in each
					t.Errorf("%d deletes were tried in a minute", n)
				}
				w.Server().ClearFaults()
				w.after(40 * time.Second)
				if w.deleted() != 3 || w.p.Status().Undeleted != 0 || len(w.bodies()) != 3 {
					t.Errorf("%d of 3 deleted, Undeleted %d, handled %v", w.deleted(), w.p.Status().Undeleted, w.bodies())
				}
				if n := len(w.Events(sqs.Returned)); n != 0 {
					t.Errorf("%d came back meanwhile", n)
				}
				if n := len(w.warnings); n == 0 || n > 7 {
					t.Errorf("%d warnings in more than 4 min, want about one a minute: %q", n, w.warnings)
				}
			})
		})
	}
}

func TestDeleteEntriesFail_OnlyTheyAreSentAgain(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: deletion, Times: 5})
		w.Send(numbered(10, "")...)
		w.start()
		w.after(10 * time.Second)
		if n := w.deleted(); n != 10 || len(w.bodies()) != 10 {
			t.Errorf("%d of 10 deleted, %d handled", n, len(w.bodies()))
		}
		entries := 0
		for _, c := range w.Server().Calls(deletion) {
			entries += c.Messages
		}
		if entries != 15 {
			t.Errorf("%d entries were sent, want 10 and 5 again", entries)
		}
	})
}

func TestDeleteAnswersLost_RecordsAreHandledOnce(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, fifo, ok, nil, func(w *world) {
			w.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: deletion, Times: 4})
			w.Send("g:1", "g:2", "h:1")
			w.start()
			w.after(time.Minute)
			if n := len(w.bodies()); n != 3 || w.deleted() != 3 || w.p.Status().Undeleted != 0 {
				t.Errorf("fifo %v: %d handled, %d deleted, Undeleted %d; want 3, 3 and 0", fifo, n, w.deleted(), w.p.Status().Undeleted)
			}
		})
	}
}

func TestSomeFail_OnlySucceededAreDeleted(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		if r.Body[0]%2 == 0 {
			return batch.RetryAfter(time.Hour, errors.New("boom"))
		}
		return nil
	}
	inWorld(t, standardQueue, h, nil, func(w *world) {
		w.Send(numbered(10, "")...)
		w.start()
		w.after(time.Minute)
		for _, e := range w.Events(sqs.Deleted) {
			if e.Body[0]%2 == 0 {
				t.Errorf("%s was deleted, which failed", e.Body)
			}
		}
		if n := w.deleted(); n != 5 {
			t.Errorf("%d deleted, want 5", n)
		}
	})
}

// FIFO order survives a failed delete: what was handled is not handled again
// after what comes behind it.
func TestFIFODeleteFails_OrderIsKept(t *testing.T) {
	inWorld(t, fifoQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: deletion, Times: 30})
		w.Send("g:1", "g:2", "g:3")
		w.start()
		w.after(10 * time.Second)
		w.Send("g:4")
		w.after(10 * time.Minute)
		w.wantHandled("g:1", "g:2", "g:3", "g:4")
		if n := w.deleted(); n != 4 {
			t.Errorf("%d of 4 deleted", n)
		}
	})
}
