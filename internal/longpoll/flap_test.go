package longpoll_test

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

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
