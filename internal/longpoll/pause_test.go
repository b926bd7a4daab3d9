package longpoll_test

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

func TestPauseHoldsNothing(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, fifo, slowing, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
			w.inject(latency(5 * time.Millisecond))
			w.Send(numbered(60, "")...) // in a FIFO queue each is a group of its own
			w.start()
			w.after(600 * time.Millisecond)
			w.needsWaiting()
			began := len(w.bodies())
			w.p.Pause()
			w.p.Pause() // twice is once
			w.after(100 * time.Millisecond)
			if s := w.p.Status(); s.State != "paused" || s.Running != 2 || s.Waiting != 0 {
				t.Errorf("paused: %s, %d run and %d wait; want 2 and none", s.State, s.Running, s.Waiting)
			}
			w.after(5 * time.Second)
			if n := len(w.bodies()); n != began || w.deleted() != began {
				t.Errorf("%d handled and %d deleted after the pause, want %d: what ran goes on", n, w.deleted(), began)
			}
			calls := w.count(receiving)
			w.after(time.Hour)
			if n := w.count(receiving) - calls; n != 0 {
				t.Errorf("%d receives while paused", n)
			}
			if n := len(w.Events(sqs.Received)) - len(w.Events(sqs.Returned)) - w.deleted(); n != 0 {
				t.Errorf("%d messages are held while paused", n)
			}
			w.p.Resume()
			w.p.Resume()
			w.after(time.Minute)
			w.wantDeleted(60)
			w.wantState("polling")
		})
	}
}

// What an open receive brings after the pause began is released.
func TestPauseGivesTheOpenReceiveUp(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(5 * time.Second)
		w.p.Pause()
		w.after(100 * time.Millisecond)
		w.Send("early")
		w.after(time.Second)
		w.Send("late")
		w.after(time.Second)
		w.wantHandled()
		w.wantVisible(2)
	})
}

func TestPauseBeforeRunAndAfterTheStop(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.p.Pause()
		w.Send("a")
		w.start()
		w.after(time.Minute)
		w.wantState("paused")
		w.wantHandled()
		w.p.Resume()
		w.after(time.Second)
		w.wantHandled("a")
		w.after(time.Second)
		w.p.Pause()
		w.stopWithin(brief)
		w.p.Pause()
		w.p.Resume()
		w.after(time.Minute)
		w.wantState("stopped")
	})
}

func TestPauseWhileReceivingFails(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(time.Second)
		w.inject(sqs.Fault{Kind: sqs.Refused})
		w.after(5 * time.Minute)
		w.p.Pause()
		w.after(time.Second)
		calls := w.count(receiving)
		w.after(10 * time.Minute)
		if n := w.count(receiving) - calls; n != 0 {
			t.Errorf("%d receives while paused", n)
		}
		w.Server().ClearFaults()
		w.p.Resume()
		w.Send("a")
		w.after(21 * time.Second)
		w.wantHandled("a")
		w.wantWarned(1, "works again")
	})
}

// What is released for a pause is released also when a stop follows.
func TestPauseAndStopStrandNothing(t *testing.T) {
	inWorld(t, standardQueue, slowing, func(c *longpoll.Config) { c.Engine.Concurrency = 2 }, func(w *world) {
		w.Send(numbered(60, "")...)
		w.start()
		w.after(600 * time.Millisecond)
		w.inject(latency(100 * time.Millisecond))
		waiting := w.p.Status().Waiting
		w.p.Pause()
		w.stop()
		if n := w.visible(); waiting == 0 || n != 60-w.deleted() {
			t.Errorf("%d waited; %d are visible after the stop, want %d", waiting, n, 60-w.deleted())
		}
	})
}

// A Resume before the receives of a pause were given up lets them go on.
func TestPauseOfAMoment(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(5 * time.Second)
		calls := w.count(receiving)
		for range 3 {
			w.p.Pause()
			w.after(10 * time.Millisecond)
			w.p.Resume()
		}
		w.after(time.Second)
		if n := w.count(receiving) - calls; n != 0 {
			t.Errorf("%d more receives: the one that was open goes on", n)
		}
		w.Send("a")
		w.after(time.Second)
		w.wantHandled("a")
	})
}

// A Resume soon after the receives of a pause were given up waits until SQS has noticed that: it
// would hand messages to them otherwise.
func TestResumeJustAfterAPause(t *testing.T) {
	inWorld(t, standardQueue, ok, nil, func(w *world) {
		w.start()
		w.after(5 * time.Second)
		w.p.Pause()
		w.after(210 * time.Millisecond)
		calls := w.count(receiving)
		w.p.Resume()
		for _, want := range []int{0, 1} {
			w.after(30 * time.Millisecond)
			if n := w.count(receiving) - calls; n != want {
				t.Errorf("%d receives began, want %d", n, want)
			}
		}
	})
}

// However pauses follow each other, the last one ends all receives, as a stop does, and after the
// last Resume there are as many as before.
func TestPausesOneAfterAnother(t *testing.T) {
	const ms = time.Millisecond
	for _, pause := range []time.Duration{0, 10 * ms, 50 * ms, 199 * ms, 200 * ms, 201 * ms, 230 * ms, time.Second} {
		for _, end := range []string{"goes on", "pauses", "stops"} {
			inWorld(t, standardQueue, ok, nil, func(w *world) {
				w.start()
				w.after(5 * time.Second)
				for range 3 {
					w.p.Pause()
					w.after(pause)
					w.p.Resume()
					w.after(10 * ms)
				}
				switch end {
				case "pauses":
					w.p.Pause()
				case "stops":
					w.stopWithin(brief)
				}
				w.after(time.Second)
				w.Send("late")
				w.after(time.Second)
				if n := len(w.Events(sqs.Received)); (n > 0) != (end == "goes on") {
					t.Errorf("after pauses of %v it %s, and %d messages were received", pause, end, n)
				}
				if n := openReceives(w, time.Now().Add(-time.Second)); n > 2 {
					t.Errorf("%d receives are open after pauses of %v", n, pause)
				}
			})
		}
	}
}
