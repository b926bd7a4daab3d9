package longpoll_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// SQS that answers again soon after a stop began finds what was handled deleted.
func TestStop_AtTheEndOfAnOutageDeletesWhatWasHandled(t *testing.T) {
	for _, back := range []time.Duration{200 * time.Millisecond, time.Second, 2 * time.Second} {
		inWorld(t, standardQueue, ok, nil, func(w *world) {
			var up atomic.Bool
			w.Fault = func(op string, _ *http.Request) (*http.Response, error) {
				if op == deletion && !up.Load() {
					return nil, syscall.ECONNREFUSED
				}
				return nil, nil
			}
			w.Send("a", "b", "c")
			w.start()
			w.after(30 * time.Second)
			time.AfterFunc(back, func() { up.Store(true) })
			w.stop()
			if n := w.deleted(); n != 3 {
				t.Errorf("back after %v: %d of 3 deleted", back, n)
			}
		})
	}
}

// A message that costs each call with it an answer costs the others a moment.
func TestDeleteThatIsNeverAnswered_LetsTheOthersPass(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		var poison atomic.Pointer[string]
		w.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op != deletion {
				return nil, nil
			}
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(text))
			poison.CompareAndSwap(nil, first(handlesIn(string(text))))
			if strings.Contains(string(text), *poison.Load()) {
				return testqueue.Answer(r, 500, "InternalError", "")
			}
			return nil, nil
		}
		w.Send(numbered(30, "")...)
		w.start()
		w.after(4 * time.Minute)
		if n := w.deleted(); n != 29 {
			t.Errorf("%d of 30 deleted, want all but one", n)
		}
	})
}

func handlesIn(call string) (handles []string) {
	for _, part := range strings.Split(call, `"ReceiptHandle":"`)[1:] {
		handle, _, _ := strings.Cut(part, `"`)
		handles = append(handles, handle)
	}
	slices.Sort(handles)
	return handles
}

func first(list []string) *string { return &list[0] }

// A message that waits for another try has no other sent alone.
func TestDeleteThatWaitsForAnotherTry_LeavesTheOthersInTens(t *testing.T) {
	inWorld(t, standardQueue, lasting(50*time.Millisecond), func(c *longpoll.Config) { c.Engine.Concurrency = 8 }, func(w *world) {
		var poison atomic.Pointer[string]
		w.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op != deletion {
				return nil, nil
			}
			text, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(text))
			handles := handlesIn(string(text))
			poison.CompareAndSwap(nil, first(handles))
			if at := slices.Index(handles, *poison.Load()); at >= 0 && len(handles) == 1 {
				return testqueue.Answer(r, 200, "", `{"Failed":[{"Id":"0","Code":"InternalError","SenderFault":false}]}`)
			} else if at >= 0 {
				return testqueue.Answer(r, 400, "InvalidParameterValue", "") // divided, down to the one
			}
			return nil, nil
		}
		w.Send(numbered(800, "")...)
		w.start()
		w.after(20 * time.Second)
		if n, calls := w.deleted(), w.count(deletion); n != 799 || calls > 200 {
			t.Errorf("%d of 800 deleted with %d calls, want at most 200", n, calls)
		}
	})
}
