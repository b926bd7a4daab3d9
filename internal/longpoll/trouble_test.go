package longpoll_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const receiving = "ReceiveMessage"

// gaps are the times between receives.
func gaps(w *world) (list []time.Duration) {
	calls := w.Server().Calls(receiving)
	for i := 1; i < len(calls); i++ {
		list = append(list, calls[i].Began.Sub(calls[i-1].Ended))
	}
	return list
}

// Receive errors are no hot loop.
func TestReceiveFails_BacksOff(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Refused, sqs.Throttled, sqs.Failure} {
		inWorld(t, standardQueue, ok, nil, func(w *world) {
			w.start()
			w.after(time.Second)
			calls := len(w.Server().Calls(receiving))
			w.inject(sqs.Fault{Kind: kind, Operation: receiving})
			w.after(10 * time.Minute)
			list := gaps(w)[calls+1:]
			if len(list) < 30 {
				t.Fatalf("%s: %d receives were tried in 10 min, want one in 20 s at least", kind, len(list))
			}
			jitter := false
			for i, gap := range list {
				full := 20 * time.Second
				if i < 7 {
					full = min(full, 200*time.Millisecond<<i)
				}
				if gap < full/2 || gap > full+time.Millisecond {
					t.Errorf("%s: %v between the tries %d and %d, want %v to %v", kind, gap, i+1, i+2, full/2, full)
				}
				jitter = jitter || gap != full
			}
			if !jitter {
				t.Errorf("%s: no jitter in %v", kind, list)
			}
			if s := w.p.Status(); s.State != "failing" || s.LastError == "" || s.LastErrorAt.IsZero() {
				t.Errorf("%s: status %+v", kind, s)
			}
			w.wantOutage("receiving fails", 2)

			w.Server().ClearFaults()
			w.Send("a")
			w.after(21 * time.Second)
			w.wantHandled("a")
			if got := w.warningsWith("receiving works again"); len(got) != 1 || len(w.warningsWith("")) != 4 {
				t.Errorf("%s: warned of %q, want one line more", kind, w.warnings)
			}
			if s := w.p.Status(); s.State != "polling" {
				t.Errorf("%s: the poller is %s", kind, s.State)
			}
		})
	}
}

func TestSQSDown_MakesAtMostOneRequestASecond(t *testing.T) {
	inWorld(t, standardQueue, lasting(time.Second), nil, func(w *world) {
		w.sendMany(200)
		w.start()
		w.after(5 * time.Second)
		w.inject(sqs.Fault{Kind: sqs.Refused})
		w.after(time.Minute)
		w.ForgetCalls()
		w.after(10 * time.Minute)
		if n := len(w.Calls()); n > 600 {
			t.Errorf("%d requests in 10 min, want at most one a second: %d receives, %d deletes, %d extensions", n, w.count(receiving), w.count(deletion), w.count(extension))
		}
	})
}

// A call that is never answered ends, and is a failure as any other.
func TestReceiveHangs_IsEndedAndRepeated(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Hang, Operation: receiving, Times: 1})
		w.after(20 * time.Second) // the open one is over, the next one hangs
		w.Send("a")
		w.after(31 * time.Second)
		w.wantHandled("a")
		w.wantWarned(1, "no answer from SQS in time")
	})
}

func TestErrorWhileRunning_PollerGoesOn(t *testing.T) {
	for _, code := range []string{"AccessDenied", "QueueDoesNotExist", "ExpiredToken", "InvalidClientTokenId", "RequestThrottled", "KmsAccessDenied", "InvalidAddress"} {
		inWorld(t, standardQueue, ok, nil, func(w *world) {
			var fails atomic.Bool
			w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
				if fails.Load() && operation != "SendMessage" {
					return testqueue.Answer(r, 400, code, "")
				}
				return nil, nil
			}
			w.start()
			w.after(time.Second)
			fails.Store(true)
			w.after(30 * time.Minute)
			if s := w.p.Status(); s.State != "failing" || !strings.Contains(s.LastError, code) {
				t.Errorf("%s: the poller is %s, LastError %q", code, s.State, s.LastError)
			}
			w.wantOutage("receiving fails", 6)
			fails.Store(false)
			w.Send("a")
			w.after(21 * time.Second)
			w.wantHandled("a")
			w.stop()
		})
	}
}

// After an outage the first receive does not wait for messages, so that an idle queue's
// poller is soon ready again.
func TestReceive_AfterAnOutageAnIdlePollerIsSoonReady(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Refused, Operation: receiving})
		w.after(30 * time.Second)
		if s := w.p.Status(); s.State != "failing" {
			t.Fatalf("the poller is %s: the test tests nothing", s.State)
		}
		w.Server().ClearFaults()
		w.after(21 * time.Second)
		if s := w.p.Status(); s.State != "polling" {
			t.Errorf("21 s after the outage the poller is %s: the longest delay is 20 s", s.State)
		}
	})
}

// One connection that breaks, as when SQS changes hosts, must not make every
// later receive shorter: an idle queue would cost more forever.
func TestOneConnectionBreaks_WaitRecovers(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		broken := false
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation != receiving || broken || w.seconds() < 10 {
				return nil, nil
			}
			broken = true
			time.Sleep(3 * time.Second)
			return nil, syscall.ECONNRESET
		}
		w.start()
		w.after(30 * time.Minute)
		w.ForgetCalls()
		w.after(time.Hour)
		if n := len(w.Calls()); n > 190 {
			t.Errorf("%d requests in an hour of idling, long after one connection broke; want about 180", n)
		}
	})
}

// wantOutage compares the lines about something that goes on failing, all that
// were written: one at its beginning, and then serious ones.
func (w *world) wantOutage(what string, serious int) {
	w.t.Helper()
	all, lines, errors := w.warningsWith(""), w.warningsWith(what), w.warningsWith("ERROR queue "+w.URL+": "+what+", for ")
	if len(errors) != serious || len(lines) != serious+1 || len(all) != len(lines) || strings.HasPrefix(lines[0], "ERROR") {
		w.t.Errorf("told %q, want a line that %q, %d serious ones, and nothing else", all, what, serious)
	}
}

// An outage is reported when it begins, again after a minute, and every five
// minutes, with how long it takes by now.
func TestOutageGoesOn_IsLoggedAgain(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: receiving, Code: "QueueDoesNotExist"})
		w.after(70 * time.Second) // the open receive takes 19 s of them
		w.wantOutage("receiving fails", 0)
		w.after(40 * time.Second)
		w.wantOutage("receiving fails", 1)
		w.after(5*time.Minute + 20*time.Second) // a try comes every 20 s at most
		w.wantOutage("receiving fails", 2)
		w.after(2 * time.Hour)
		if n := len(w.warningsWith("ERROR queue ")); n < 24 || n > 26 {
			t.Errorf("%d lines after two hours more, want one every five minutes", n)
		}
		all := w.warningsWith("")
		last := all[len(all)-1]
		if !strings.Contains(last, "fails, for 2h") || !strings.Contains(last, "tries so far: there is no such queue") {
			t.Errorf("the last line is %q", last)
		}
		w.Server().ClearFaults()
		w.after(time.Minute)
		if got := w.warningsWith("receiving works again, after 2h"); len(got) != 1 {
			t.Errorf("told %q when it worked again", got)
		}
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: receiving}) // another outage is no part of the first
		w.after(40 * time.Second)
		all = w.warningsWith("")
		if last := all[len(all)-1]; strings.HasPrefix(last, "ERROR") || strings.Contains(last, ", for ") {
			t.Errorf("a new outage begins with %q", last)
		}
	})
}

func TestExtensionsKeepFailing_AreLoggedAgain(t *testing.T) {
	inWorld(t, standardQueue, lasting(time.Hour), func(c *longpoll.Config) { c.Engine.RecordTimeout = 2 * time.Hour }, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension})
		w.Send("a")
		w.start()
		w.after(15 * time.Minute)
		lines, errors := w.warningsWith("visibility fails"), w.warningsWith("ERROR queue "+w.URL+": extending the records' visibility fails, for ")
		if len(lines) != 4 || len(errors) != 3 { // after 20 s, 1m20s, 6m20s, 11m20s
			t.Errorf("told %q, want a line and three serious ones", lines)
		}
	})
}

// paired reports whether each line that something fails, most of them at most,
// has one that it works again, but for the last.
func (w *world) paired(fails, works string, most int) {
	w.t.Helper()
	n, again := len(w.warningsWith(fails)), len(w.warningsWith(works))
	if n == 0 || n > most || again < n-1 || again > n {
		w.t.Errorf("%d lines with %q and %d with %q, want 1 to %d, in pairs", n, fails, again, works, most)
	}
}

// Receives that fail and work in turn are reported once a minute.
func TestFlappingReceives_AreLoggedOnceAMinute(t *testing.T) {
	for _, probability := range []float64{0.05, 0.3} {
		inWorld(t, standardQueue, lasting(2*time.Second), func(c *longpoll.Config) { c.Engine.Concurrency = 16 }, func(w *world) {
			w.inject(latency(5*time.Millisecond), sqs.Fault{Kind: sqs.Throttled, Operation: "ReceiveMessage", Probability: probability})
			w.sendMany(2000)
			w.start()
			w.after(170 * time.Second)
			w.paired("receiving fails", "works again", 3)
		})
	}
}

// So are extensions, but for times in which they fail for 5 s.
func TestFlappingExtensions_AreLoggedOnceAMinute(t *testing.T) {
	for _, test := range []struct {
		probability float64
		most        int
	}{{0.05, 10}, {0.2, 15}} {
		inWorld(t, standardQueue, lasting(time.Hour), func(c *longpoll.Config) {
			c.Engine.Concurrency, c.Engine.RecordTimeout, c.Visibility = 100, 2*time.Hour, 30*time.Second
		}, func(w *world) {
			w.inject(latency(5*time.Millisecond), sqs.Fault{Kind: sqs.Throttled, Operation: extension, Probability: test.probability})
			w.sendMany(100)
			w.start()
			w.after(10*time.Minute - time.Second)
			w.paired("visibility fails", "visibility works", test.most)
		})
	}
}

// A longer failure is reported in time, also soon after a short one was.
func TestOutageSoonAfterShortFailure_IsLogged(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Throttled, Operation: "ReceiveMessage", Times: 1})
		w.after(25 * time.Second)
		w.paired("receiving fails", "works again", 1)
		w.inject(sqs.Fault{Kind: sqs.Refused})
		w.after(20*time.Second + 15*time.Second) // the open receive, and what is waited before it is reported
		if n := len(w.warningsWith("receiving fails")); n != 2 {
			t.Errorf("%d lines that receiving fails, want a second one: it has failed for more than 5 s", n)
		}
		w.after(20 * time.Second)
		w.Server().ClearFaults()
		w.after(time.Minute)
		w.paired("receiving fails", "works again", 2)
		if n := len(w.warningsWith("works again")); n != 2 {
			t.Errorf("%d lines that receiving works again, want 2", n)
		}
	})
}
