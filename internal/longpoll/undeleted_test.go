package longpoll_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/cases"
)

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
		if w.deleted() != 60 {
			t.Errorf("%d of 60 deleted", w.deleted())
		}
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
