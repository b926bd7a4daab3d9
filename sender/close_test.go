package sender_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
)

func TestClose_SendsWhatIsLeftWithoutLinger(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Linger: time.Minute})
		var told atomic.Int32
		for i := range 4 {
			w.enqueue(s, numbered(i), func(sender.Result) { told.Add(1) })
		}
		began := time.Now()
		if left := s.Close(w.Context()); left != nil || time.Since(began) != 0 {
			w.Errorf("left %v after %v", left, time.Since(began))
		}
		if told.Load() != 4 || len(w.bodies()) != 4 {
			w.Errorf("%d results, %d in the queue, want 4", told.Load(), len(w.bodies()))
		}
		if err := s.Send(w.Context(), sender.Text("x")); !errors.Is(err, sender.ErrClosed) {
			w.Errorf("Send after Close: %v", err)
		}
		if err := s.Enqueue(w.Context(), sender.Text("x"), nil); !errors.Is(err, sender.ErrClosed) {
			w.Errorf("Enqueue after Close: %v", err)
		}
		if left := s.Close(w.Context()); left != nil {
			w.Errorf("the second Close: %v", left)
		}
		if err := s.Flush(w.Context()); err != nil {
			w.Errorf("Flush after Close: %v", err)
		}
	})
}

func TestClose_ReturnsWhatItGivesUp(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Hang, Operation: "SendMessageBatch"})
		s := w.sender(sender.Config{Concurrency: 1, CallTimeout: time.Minute, MaxBuffered: 4})
		var told []sender.Result
		for i := range 3 {
			w.enqueue(s, numbered(i), func(r sender.Result) { told = append(told, r) })
		}
		var others sync.WaitGroup
		others.Go(func() {
			if err := s.Send(context.Background(), numbered(3)); !errors.Is(err, sender.ErrClosed) || failure(err) == nil || failure(err).MayHaveBeenSent {
				w.Errorf("Send: %v", err)
			}
		})
		synctest.Wait()
		others.Go(func() { // it waits for a place
			if err := s.Enqueue(context.Background(), numbered(4), nil); !errors.Is(err, sender.ErrClosed) {
				w.Errorf("Enqueue: %v", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		left := s.Close(ctx)
		w.wantTook(began, 3*time.Second)
		others.Wait()
		if len(told) != 3 || len(left) != 4 {
			w.Fatalf("%d results were passed on, %d returned, want 3 and 4", len(told), len(left))
		}
		for i, r := range left {
			if r.Message.Body != numbered(i).Body || !errors.Is(r.Err, sender.ErrClosed) || r.MayHaveBeenSent != (i == 0) {
				w.Errorf("result %d: %+v", i, r)
			}
		}
		if left := s.Close(w.Context()); left != nil {
			w.Errorf("the second Close: %v", left)
		}
	})
}

func TestFlush_WaitsForWhatWasThereAndNoMore(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(time.Second)
		s := w.sender(sender.Config{Linger: time.Minute, Concurrency: 1})
		for i := range 3 {
			w.enqueue(s, numbered(i), nil)
		}
		began := time.Now()
		var later sync.WaitGroup
		later.Go(func() {
			time.Sleep(1500 * time.Millisecond)
			w.enqueue(s, sender.Text("later"), nil)
		})
		w.flush(s)
		w.wantTook(began, 2*time.Second) // two calls
		later.Wait()
		ctx, cancel := context.WithTimeout(w.Context(), time.Millisecond)
		defer cancel()
		if err := s.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("Flush whose context ends: %v", err)
		}
		w.flush(s)
		for range 100 { // which of two ends it sees first is up to chance
			if err := s.Flush(ctx); err != nil {
				w.Fatalf("Flush of an empty buffer, by a context that has ended: %v", err)
			}
		}
	})
}

func TestEnqueue_WaitsWhileTheBufferIsFull(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(time.Second)
		s := w.sender(sender.Config{MaxBufferedBytes: 1 << 20, MaxBuffered: 3, Concurrency: 1})
		half := sender.Text(strings.Repeat("b", 1<<19))
		w.enqueue(s, half, nil)
		w.enqueue(s, half, nil)
		ctx, cancel := context.WithTimeout(w.Context(), 500*time.Millisecond)
		defer cancel()
		if err := s.Enqueue(ctx, half, nil); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("Enqueue while the buffer has 1 MiB: %v", err)
		}
		began := time.Now()
		w.enqueue(s, half, nil)
		w.wantTook(began, 500*time.Millisecond) // the rest of the first call
		cancelled, stop := context.WithCancel(w.Context())
		stop()
		if err := s.Enqueue(cancelled, numbered(1), nil); !errors.Is(err, context.Canceled) {
			w.Errorf("Enqueue with a context that has ended: %v", err)
		}
	})
}

// Those who wait get places in the order in which they came, so a goroutine's order is kept,
// and a large message is not overtaken forever.
func TestEnqueue_PlacesGoToThoseWhoCameFirst(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(time.Second)
		s := w.sender(sender.Config{MaxBuffered: 1})
		var order []string
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				w.enqueue(s, numbered(i), func(r sender.Result) { order = append(order, r.Message.Body) })
			})
			synctest.Wait()
		}
		all.Wait()
		w.flush(s)
		if want := []string{"0", "1", "2", "3", "4"}; !slices.Equal(order, want) {
			w.Errorf("sent in the order %q", order)
		}
	})
}

// A message is in the buffer until its function has returned: a slow one must not let
// results pile up.
func TestEnqueue_ASlowFunctionFillsTheBuffer(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{MaxBuffered: 2})
		free := make(chan struct{})
		for i := range 2 {
			w.enqueue(s, numbered(i), func(sender.Result) { <-free })
		}
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		if err := s.Enqueue(ctx, numbered(2), nil); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("Enqueue while two functions hang: %v", err)
		}
		close(free)
		w.enqueue(s, numbered(2), nil)
	})
}

// Flush waits for the functions of Enqueue, also if Close has given up their messages.
func TestFlush_WaitsForFunctionsThatCloseCalls(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Hang})
		s := w.sender(sender.Config{})
		free := make(chan struct{})
		w.enqueue(s, numbered(0), func(sender.Result) { <-free })
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if left := s.Close(ctx); len(left) != 1 {
				w.Errorf("left: %v", left)
			}
		})
		time.Sleep(2 * time.Second)
		began := time.Now()
		all.Go(func() {
			time.Sleep(time.Second)
			close(free)
		})
		w.flush(s)
		w.wantTook(began, time.Second) // when the function had returned
		all.Wait()
	})
}
