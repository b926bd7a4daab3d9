package longpoll_test

import (
	"context"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

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
		if took := w.stop(); took > brief {
			t.Errorf("the stop took %v", took)
		}
		w.wantHandled()
		if n := w.visible(); n != 1 {
			t.Errorf("%d visible after the stop, want 1", n)
		}
	})
}
