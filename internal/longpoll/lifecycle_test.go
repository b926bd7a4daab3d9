package longpoll_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

func TestUntilEmpty_RunEndsAfterAnEmptyLongPoll(t *testing.T) {
	for _, fifo := range []bool{standardQueue, fifoQueue} {
		inWorld(t, fifo, ok, func(c *longpoll.Config) { c.UntilEmpty, c.Wait = true, 5*time.Second }, func(w *world) {
			w.Send("a:1", "b:2", "c:3")
			w.start()
			if err := <-w.err; err != nil || w.deleted() != 3 {
				t.Errorf("%v, %d of 3 deleted", err, w.deleted())
			}
			if took := time.Since(w.began); took < 5*time.Second || took > 6*time.Second {
				t.Errorf("it took %v, want one wait", took)
			}
		})
	}
}

// What is held is not left, however long it takes; what comes meanwhile is handled.
func TestUntilEmpty_WaitsForWhatRuns(t *testing.T) {
	inWorld(t, standardQueue, sleepingFor("slow", 2*time.Minute), func(c *longpoll.Config) { c.UntilEmpty = true }, func(w *world) {
		w.Send("slow")
		w.start()
		w.after(100 * time.Second)
		w.Send("later")
		if err := <-w.err; err != nil || w.deleted() != 2 || time.Since(w.began) < 2*time.Minute {
			t.Errorf("%v, %d of 2 deleted after %v", err, w.deleted(), time.Since(w.began))
		}
	})
}

// An SQS that cannot be asked is no empty queue.
func TestUntilEmpty_OutageDoesNotEndIt(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.UntilEmpty = true }, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage", Times: 50})
		w.start()
		w.after(50 * time.Second)
		w.Send("1")
		if err := <-w.err; err != nil || w.deleted() != 1 {
			t.Errorf("%v, %d of 1 deleted", err, w.deleted())
		}
	})
}

// The process goes on for other queues: it is not to be replaced.
func TestUntilEmpty_EndedPollerIsLive(t *testing.T) {
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.UntilEmpty = true }, func(w *world) {
		w.start()
		<-w.err
		answer := httptest.NewRecorder()
		longpoll.Health(w.p).ServeHTTP(answer, httptest.NewRequest("GET", "/livez", nil))
		if answer.Code != http.StatusOK {
			t.Errorf("/livez answers %d: %s", answer.Code, answer.Body)
		}
	})
}

func TestSetConcurrency_ChangesHowManyRun(t *testing.T) {
	var running, most atomic.Int32
	inWorld(t, standardQueue, func(context.Context, batch.Record) error {
		most.Store(max(most.Load(), running.Add(1)))
		time.Sleep(100 * time.Millisecond)
		running.Add(-1)
		return nil
	}, func(c *longpoll.Config) { c.Engine.Concurrency = 4 }, func(w *world) {
		w.sendMany(2000)
		w.p.SetConcurrency(2) // before Run, too
		w.start()
		for _, n := range []int{2, 20, 1, 7} {
			w.p.SetConcurrency(n)
			w.after(time.Second) // what runs goes on
			most.Store(0)
			w.after(3 * time.Second)
			if got := int(most.Load()); got != n {
				t.Errorf("%d run at a time, want %d", got, n)
			}
		}
	})
}

// A handler that gives its record back because the process stops: at once, without a
// backoff or a dead letter, also at the last attempt of a group.
func TestStopping_HandlerGivesItsRecordBack(t *testing.T) {
	for _, fifo := range []bool{standardQueue, fifoQueue} {
		var early atomic.Bool
		inWorld(t, fifo, func(ctx context.Context, r batch.Record) error {
			select {
			case <-batch.Stopping(ctx):
				return batch.ErrStopped
			case <-time.After(10 * time.Second):
				early.Store(true)
				return nil
			}
		}, func(c *longpoll.Config) {
			c.Failures.MaxReceiveCount, c.Failures.DeadLetterQueue = 1, "https://sqs.eu-west-1.amazonaws.com/123456789012/dead.fifo"
		}, func(w *world) {
			w.Send("g:1", "g:2", "g:3")
			w.start()
			w.after(time.Second)
			if took := w.stop(); took > 2500*time.Millisecond || early.Load() {
				t.Errorf("the stop took %v", took)
			}
			w.wantVisible(3)
			if slices.Contains(w.Calls(), "SendMessageBatch") {
				t.Error("a record was sent to the dead-letter queue")
			}
		})
	}
}

func TestWhatSucceedsIsDeleted(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.Send("a", "b", "c")
		w.start()
		w.after(time.Second)
		if got := w.bodies(); len(got) != 3 || w.deleted() != 3 {
			t.Errorf("handled %v, deleted %d; want 3 of each", got, w.deleted())
		}
		w.Send("d")
		w.after(time.Second)
		if got := w.bodies(); len(got) != 4 || w.deleted() != 4 {
			t.Errorf("handled %v, deleted %d; want 4 of each", got, w.deleted())
		}
		w.after(time.Second)
		w.stopWithin(300 * time.Millisecond)
		if got := w.outcomes(); !slices.Equal(got, slices.Repeat([]batch.Outcome{batch.Succeeded}, 4)) {
			t.Errorf("hooks got %v", got)
		}
	})
}

func TestIdleQueue_CostsOneRequestIn20Seconds(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.ForgetCalls()
		w.after(time.Hour)
		if n := len(w.Calls()); n > 180 {
			t.Errorf("%d requests in an hour, want at most 180", n)
		}
	})
}

func TestRecordTimeout_EndsTheContext(t *testing.T) {
	for _, test := range []struct{ set, want time.Duration }{{0, 15 * time.Minute}, {time.Minute, time.Minute}} {
		var given time.Duration
		h := func(ctx context.Context, _ batch.Record) error {
			d, _ := ctx.Deadline()
			given = time.Until(d)
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("the context ended with %v", ctx.Err())
			}
			return ctx.Err()
		}
		inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.RecordTimeout = test.set }, func(w *world) {
			w.Send("a")
			w.start()
			w.after(test.want + time.Second)
			if given != test.want {
				t.Errorf("a record was given %v, want %v", given, test.want)
			}
			w.wantOutcomes(batch.Retry)
		})
	}
}
