package longpoll_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/cases"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const deletion = "DeleteMessageBatch"

func TestDeletes_GoInTensOrAfterTheLinger(t *testing.T) {
	h := sleepingFor("slow", time.Minute)
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
			text := bodyOf(r)
			poison.CompareAndSwap(nil, first(handlesIn(text)))
			if strings.Contains(text, *poison.Load()) {
				return testqueue.Answer(r, 500, "InternalError", "")
			}
			return nil, nil
		}
		w.Send(numbered(30, "")...)
		w.start()
		w.after(4 * time.Minute)
		w.wantDeleted(29)
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
			text := bodyOf(r)
			handles := handlesIn(text)
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

// Without the permission to delete, all that is handled is handled for nothing.
func TestDeletesRefused_NothingIsReceived(t *testing.T) {
	for _, fault := range []sqs.Fault{
		{Kind: sqs.Failure, Code: "AccessDenied"}, {Kind: sqs.Failure, Code: "InvalidClientTokenId"},
		{Kind: sqs.EntryFailure, Code: "AccessDenied"}, {Kind: sqs.Failure, Code: "ExpiredToken"},
	} {
		inWorld(t, standardQueue, ok, func(c *longpoll.Config) { c.Engine.Concurrency = 10 }, func(w *world) {
			fault.Operation = deletion
			w.inject(latency(5*time.Millisecond), fault)
			w.sendMany(1500)
			w.start()
			w.after(5 * time.Second)
			handled := len(w.bodies())
			if handled == 0 || handled > 100 {
				t.Errorf("%s: %d were handled before it was known that none can be deleted", fault.Code, handled)
			}
			w.wantHealth("failing", 200, 503)
			if s := w.p.Status(); s.Waiting != 0 || s.Undeleted != handled || !strings.Contains(s.LastError, fault.Code) {
				t.Errorf("%s: status %+v, want %d undeleted, none that waits, and the error", fault.Code, s, handled)
			}
			if n := len(w.Receive(2000)); n != 1500-handled {
				t.Errorf("%s: %d are visible to others, want all but the %d handled", fault.Code, n, handled)
			}
			receives := w.count(receiving)
			w.after(10 * time.Minute)
			if n := len(w.bodies()); n != handled || w.count(receiving) != receives {
				t.Errorf("%s: %d handled, %d receives in 10 min; want none more", fault.Code, n-handled, w.count(receiving)-receives)
			}
			lines := w.warningsWith("ERROR queue " + w.URL + ": deleting fails")
			if len(lines) < 3 || len(lines) > 5 || !strings.Contains(lines[0], "nothing is received or started until a delete succeeds") {
				t.Errorf("%s: %d lines, want one at once, after a minute, and every 5 min: %q", fault.Code, len(lines), lines)
			}
			if denied := strings.Contains(lines[0], "the role needs sqs:ReceiveMessage, sqs:DeleteMessage"); denied != (fault.Code == "AccessDenied") {
				t.Errorf("%s: %q", fault.Code, lines[0])
			}
			w.Server().ClearFaults()
			w.after(31 * time.Second)
			w.wantHealth("polling", 200, 200)
			w.after(5 * time.Minute) // those that were received above are visible again
			if n := len(w.bodies()); n != 1500 || w.deleted() != 1500 {
				t.Errorf("%s: %d handled and %d deleted of 1500, each once", fault.Code, n, w.deleted())
			}
			if got := w.warningsWith("deleting works again"); len(got) != 1 {
				t.Errorf("%s: told %q", fault.Code, got)
			}
		})
	}
}

// What came with the refused ones in a FIFO queue keeps its order.
func TestFIFODeletesRefused_OrderIsKept(t *testing.T) {
	inWorld(t, fifoQueue, lasting(50*time.Millisecond), nil, func(w *world) {
		w.inject(latency(5*time.Millisecond), sqs.Fault{Kind: sqs.Failure, Code: "AccessDenied", Operation: deletion})
		for _, n := range numbered(20, "") {
			for _, group := range []string{"a:", "b:", "c:"} {
				w.Send(group + n)
			}
		}
		w.start()
		w.after(10 * time.Minute)
		if n := len(w.bodies()); n == 0 || n > 30 {
			t.Errorf("%d handled while none can be deleted", n)
		}
		w.wantHealth("failing", 200, 503)
		w.Server().ClearFaults()
		w.after(10 * time.Minute)
		next := map[string]int{}
		for _, body := range w.bodies() {
			group, n, _ := strings.Cut(body, ":")
			if want := numbered(20, "")[next[group]]; n != want {
				t.Fatalf("%s came when it was the turn of %s: %q", body, want, w.bodies())
			}
			next[group]++
		}
		w.wantDeleted(60)
	})
}

// Whatever deletes fail for, and however long it takes to know: few are handled
// while none works.
func TestNoDeleteWorks_FewRecordsAreHandled(t *testing.T) {
	many := cases.Of(700, 1300)
	for name, fault := range map[string]sqs.Fault{
		"fail": {Kind: sqs.Failure}, "refused": {Kind: sqs.Refused}, "throttled": {Kind: sqs.Throttled},
		"hang": {Kind: sqs.Hang}, "entries": {Kind: sqs.EntryFailure},
	} {
		for _, worked := range []bool{false, true} {
			if worked && name != "hang" && name != "fail" {
				continue
			}
			inWorld(t, standardQueue, ok, nil, func(w *world) {
				fault.Operation = deletion
				w.inject(latency(5 * time.Millisecond))
				if !worked {
					w.inject(fault)
				}
				w.sendMany(many)
				w.start()
				before := 0
				if worked {
					w.after(60 * time.Millisecond)
					w.inject(fault)
					before = len(w.bodies())
					if before == 0 || before == many {
						t.Fatalf("%d handled: the test tests nothing", before)
					}
				}
				w.after(10 * time.Minute)
				most := 150 // 100, the slots, and what ends until the loop knows
				if worked || name == "hang" {
					most = 450 // it takes a moment to know that
				}
				if n := len(w.bodies()) - before; n > most {
					t.Errorf("%s, worked before: %v: %d handled, none of which could be deleted; want at most %d", name, worked, n, most)
				}
				w.wantHealth("failing", 200, 503)
				if got := w.warningsWith("ERROR queue " + w.URL + ": deleting fails, for "); len(got) != 2 {
					t.Errorf("%s: told %q, want a serious line after a minute and one 5 min later", name, got)
				}
				w.Server().ClearFaults()
				w.after(5 * time.Minute)
				w.wantHealth("polling", 200, 200)
				if n := len(w.bodies()); n != many || w.deleted() != many {
					t.Errorf("%s: %d handled and %d deleted of %d, each once", name, n, w.deleted(), many)
				}
			})
		}
	}
}

// One message that cannot be deleted holds nothing up.
func TestOneRecordCannotBeDeleted_OthersGoOn(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: deletion, Times: 12}) // a's, with its tries
		w.Send("a")
		w.start()
		w.after(time.Second)
		w.sendMany(500)
		w.after(3 * time.Second)
		if n := w.deleted(); n < 490 {
			t.Errorf("%d of 500 deleted next to it", n)
		}
		w.wantHealth("polling", 200, 200)
	})
}
