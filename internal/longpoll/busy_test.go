package longpoll_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// answeredLate makes each receive's answer come late: its messages are taken.
func (w *world) answeredLate(by time.Duration) {
	w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
		if operation != receiving {
			return nil, nil
		}
		response, err := w.Server().HTTPClient().Transport.RoundTrip(r)
		select {
		case <-time.After(by):
			return response, err
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// held counts the messages that were received and are neither deleted nor visible.
func (w *world) held(n int) int { return n - w.deleted() - len(w.Receive(n)) }

// At a busy queue the receives that are open have taken messages already.
func TestStopOfBusyQueue_WaitsForSlowReceives(t *testing.T) {
	for _, late := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 600 * time.Millisecond, 1500 * time.Millisecond} {
		for _, i := range []int{0, 3, 4, 7} { // tenths of the time between two answers
			pause := i%2 == 0
			inWorld(t, standardQueue, lasting(20*time.Millisecond), nil, func(w *world) {
				w.sendMany(500)
				w.answeredLate(late)
				w.start()
				w.after(7*late + time.Duration(i)*late/10)
				if pause {
					w.p.Pause()
					w.after(2200 * time.Millisecond)
				} else if took := w.stop(); took > 2200*time.Millisecond {
					t.Errorf("answers %v late: the stop took %v", late, took)
				}
				if n := w.deleted(); n == 0 || n == 500 {
					t.Fatalf("%d of 500 deleted: the test tests nothing", n)
				}
				if n := w.held(500); n != 0 {
					t.Errorf("answers %v late, pause %v: %d messages are hidden", late, pause, n)
				}
			})
		}
	}
}

// A receive that has been open for longer is a long poll at a queue that is
// empty by now, and one after an empty answer is idle.
func TestStopSecondsAfterLastMessage_IsFast(t *testing.T) {
	for _, idle := range []time.Duration{2 * time.Second, 10 * time.Second, 25 * time.Second, 41 * time.Second} {
		inWorld(t, standardQueue, lasting(20*time.Millisecond), nil, func(w *world) {
			w.inject(latency(5 * time.Millisecond))
			w.Send("a")
			w.start()
			w.after(idle)
			if took := w.stop(); took > brief {
				t.Errorf("%v after the last message the stop took %v", idle, took)
			}
		})
	}
}

// An answer that is not full has emptied the queue: what is open then is a long
// poll, and a stop does not wait for it.
func TestStopAfterPartialReceive_IsFast(t *testing.T) {
	inWorld(t, standardQueue, lasting(20*time.Millisecond), nil, func(w *world) {
		w.start()
		w.after(10 * time.Second)
		w.sendMany(3)
		w.after(300 * time.Millisecond)
		w.stopWithin(300 * time.Millisecond)
		w.wantDeleted(3)
	})
}

// SQS may go on with a long poll whose client has left, so it is left
// open as long as there is something to wait for anyway.
func TestStopWhileHandlerRuns_ReceiveStaysOpen(t *testing.T) {
	slow := func(context.Context, batch.Record) error {
		time.Sleep(10 * time.Second)
		return nil
	}
	inWorld(t, standardQueue, slow, nil, func(w *world) {
		w.Send("slow")
		w.start()
		w.after(time.Second)
		stopped := make(chan time.Duration, 1)
		go func() { stopped <- w.stop() }()
		w.after(5 * time.Second)
		w.Send("late")
		w.after(100 * time.Millisecond)
		if n := len(w.Events(sqs.Received)); n != 2 {
			t.Fatalf("%d messages were received, want 2: the receive was given up", n)
		}
		if took := <-stopped; took > 9500*time.Millisecond {
			t.Errorf("the stop took %v, want the 9 s that the handler took", took)
		}
		if left := w.Receive(10); len(left) != 1 || left[0].Body != "late" || left[0].Attempt != 2 {
			t.Errorf("visible after the stop: %+v, want the late one", left)
		}
		if got := w.bodies(); len(got) != 1 {
			t.Errorf("handled %v", got)
		}
	})
}

// A message that comes while a stop ends its receives is given back without
// another wait.
func TestMessageComesAsStopEndsReceives_IsReleased(t *testing.T) {
	inWorld(t, fifoQueue, ok, nil, func(w *world) {
		w.start()
		w.after(5 * time.Second)
		time.AfterFunc(157*time.Millisecond, func() { w.Send("g:late") })
		w.stopWithin(brief)
		w.wantHandled()
		w.wantVisible(1)
	})
}
