package longpoll_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
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
	inWorld(t, standardQueue, func(_ context.Context, r batch.Record) error {
		if r.Body == "slow" {
			time.Sleep(2 * time.Minute)
		}
		return nil
	}, func(c *longpoll.Config) { c.UntilEmpty = true }, func(w *world) {
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

// loadOf is a hook that keeps what tells the load.
type loadOf struct{ load func() batch.Status }

func (l *loadOf) Polling(_ context.Context, _ string, load func() batch.Status) { l.load = load }

func TestSetConcurrency_ChangesTheLoadsSlots(t *testing.T) {
	hook := &loadOf{}
	inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Hooks = batch.JoinHooks(c.Hooks, testhooks.Of(hook)) }, func(w *world) {
		w.start()
		w.p.SetConcurrency(3)
		if n := hook.load().Concurrency; n != 3 {
			t.Errorf("Concurrency is %d, want 3", n)
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
			if n := w.visible(); n != 3 {
				t.Errorf("%d of 3 are visible", n)
			}
			if slices.Contains(w.Calls(), "SendMessageBatch") {
				t.Error("a record was sent to the dead-letter queue")
			}
		})
	}
}
