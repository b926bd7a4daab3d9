package longpoll_test

import (
	"net/http"
	"testing"
	"time"
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
		if took := w.stop(); took > 300*time.Millisecond {
			t.Errorf("the stop took %v, want at most 300ms", took)
		}
		if n := w.deleted(); n != 3 {
			t.Errorf("%d of 3 deleted", n)
		}
	})
}
