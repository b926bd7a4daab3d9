package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// outage is a handler whose dependency is down until a moment.
type outage struct{ until atomic.Int64 }

func (o *outage) begins(d time.Duration) { o.until.Store(time.Now().Add(d).UnixNano()) }
func (o *outage) handle(ctx context.Context, r batch.Record) error {
	time.Sleep(10 * time.Millisecond)
	if time.Now().UnixNano() < o.until.Load() {
		return batch.Abort(time.Minute, errors.New("down"))
	}
	return nil
}

// While a handler asks to wait nothing is received, what waited is not started,
// and after that everything is handled.
func TestAbortPutsOffWhatWasNotStarted(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		var o outage
		inWorld(t, fifo, o.handle, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
			w.Send(numbered(200, "")...)
			w.start()
			w.after(300 * time.Millisecond)
			if s := w.p.Status(); s.Running != 2 || s.Waiting == 0 {
				t.Fatalf("%d run and %d wait, want 2 and some: the test tests nothing", s.Running, s.Waiting)
			}
			o.begins(30 * time.Second)
			w.after(100 * time.Millisecond)
			s := w.p.Status()
			if s.State != "aborted" || s.Running+s.Waiting+s.Undeleted != 0 || s.Counts.Failed > 2 {
				t.Errorf("%+v", s)
			}
			handled, receives := len(w.bodies()), w.count(receiving)
			w.after(58 * time.Second)
			if n := len(w.bodies()) - handled; n != 0 {
				t.Errorf("%d handled meanwhile", n)
			}
			if n := w.count(receiving) - receives; n != 0 {
				t.Errorf("%d receives meanwhile", n)
			}
			w.after(5 * time.Minute)
			if n := w.deleted(); n != 200 || w.p.Status().State != "polling" {
				t.Errorf("%d of 200 deleted afterwards, %s", n, w.p.Status().State)
			}
			if warned := w.warningsWith("batch.Abort"); len(warned) != 1 {
				t.Errorf("%q", warned)
			}
			most := 0
			for _, e := range w.Events(sqs.Received) {
				most = max(most, e.ReceiveCount)
			}
			if most > 2 {
				t.Errorf("a record was delivered %d times", most)
			}
		})
	}
}

// No record of a group overtakes another.
func TestAbortKeepsTheOrderOfGroups(t *testing.T) {
	const groupsOf, each = 5, 20
	var o outage
	var g groups
	inWorld(t, fifoQueue, g.around(o.handle), func(c *longpoll.Config) { c.Engine.Concurrency = 3 }, func(w *world) {
		w.noRedrive()
		var bodies []string
		for n := range each {
			for group := range groupsOf {
				bodies = append(bodies, fmt.Sprintf("g%d:%d", group, n))
			}
		}
		w.Send(bodies...)
		w.start()
		w.after(60 * time.Millisecond)
		o.begins(270 * time.Second)
		w.after(20 * time.Minute)
		g.check(t, groupsOf, each)
		if n := len(w.warningsWith("batch.Abort")); n != 5 {
			t.Errorf("%d aborts: the test tests nothing", n)
		}
	})
}

// What an open receive brings meanwhile is not handled either, and a stop waits
// for none of it.
func TestAbortWhileAReceiveIsOpen(t *testing.T) {
	var o outage
	inWorld(t, standardQueue, o.handle, nil, func(w *world) {
		w.start()
		o.begins(time.Second)
		w.Send("a")
		w.after(50 * time.Millisecond) // the next receive was opened when a came
		w.Send("b")
		w.after(50 * time.Millisecond)
		if got := strings.Join(w.bodies(), " "); got != "a" && got != "a b" {
			t.Errorf("handled: %q", got)
		}
		if took := w.stop(); took > time.Second {
			t.Errorf("the stop took %v", took)
		}
		if w.visible() != 0 {
			t.Error("something is visible before the time of the abort")
		}
		w.after(time.Minute)
		if n := w.visible(); n != 2 {
			t.Errorf("%d of 2 are visible after it", n)
		}
	})
}

// After the time of an abort one record is tried. What waits for the end of an
// outage keeps its attempts.
func TestAbortIsFollowedByAProbe(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		var o outage
		inWorld(t, fifo, o.handle, func(c *longpoll.Config) { c.Engine.Concurrency = 20 }, func(w *world) {
			w.Send(numbered(200, "")...)
			o.begins(time.Hour)
			w.start()
			w.after(59 * time.Minute)
			received := len(w.Events(sqs.Received))
			if most := 59 + 100; received > most || received < 59 {
				t.Errorf("%d deliveries in an outage of 59 min, want about one a minute (%d)", received, most)
			}
			handled := len(w.bodies())
			w.after(2 * time.Minute)
			if s := w.p.Status(); s.Counts.Succeeded < 150 || s.State != "polling" {
				t.Errorf("%d succeeded after the outage, %d handled before, %s", s.Counts.Succeeded, handled, s.State)
			}
			w.after(10 * time.Minute)
			if n := w.deleted(); n < 180 {
				t.Errorf("%d of 200 were handled, the others are dead letters: each minute can cost one of them an attempt", n)
			}
		})
	}
}

// A record that takes its time is no reason to leave the other slots idle for long.
func TestAbortsProbeHasAnEnd(t *testing.T) {
	var o outage
	h := func(ctx context.Context, r batch.Record) error {
		if err := o.handle(ctx, r); err != nil {
			return err
		}
		time.Sleep(10 * time.Minute)
		return nil
	}
	inWorld(t, standardQueue, h, nil, func(w *world) {
		o.begins(30 * time.Second)
		w.Send(numbered(30, "")...)
		w.start()
		w.after(60*time.Second + 9*time.Second)
		if s := w.p.Status(); s.Running != 1 || s.Waiting != 0 {
			t.Errorf("%d run and %d wait, want one alone", s.Running, s.Waiting)
		}
		w.after(3 * time.Second)
		if s := w.p.Status(); s.Running != 10 {
			t.Errorf("%d run, want 10", s.Running)
		}
	})
}
