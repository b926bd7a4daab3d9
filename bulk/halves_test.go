package bulk_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

var errRefused = batch.Permanent(errors.New("refused"))

// halved refuses calls for more than two items, so that each two of four are
// written by a call of their own: the first by one, the second by the other.
func (w *world) halved(first, second func(context.Context, []bulk.Item[string]) error) {
	var calls atomic.Int32
	w.do = func(ctx context.Context, items []bulk.Item[string]) error {
		if len(items) > 2 {
			return errRefused
		}
		if calls.Add(1) == 1 {
			return first(ctx, items)
		}
		return second(ctx, items)
	}
}

func written(context.Context, []bulk.Item[string]) error { return nil }

func takes(d time.Duration) func(context.Context, []bulk.Item[string]) error {
	return func(context.Context, []bulk.Item[string]) error { time.Sleep(d); return nil }
}

// A permanent error or a panic of a call for many is about one of them. The others do not
// become dead letters with it.
func TestOneRecordTakesNoOtherAlong(t *testing.T) {
	for name, c := range map[string]struct {
		end  func() error
		want batch.Outcome
	}{
		"a verb":       {func() error { return errRefused }, batch.DeadLettered},
		"a classifier": {func() error { return errors.New("ValidationException") }, batch.DeadLettered},
		"a panic":      {func() error { panic("oops") }, batch.Retry},
	} {
		inWorldOf(t, name, false, func(t *testing.T, w *world) {
			if name == "a classifier" {
				w.run.Classify = batch.Permanent
			}
			w.do = func(_ context.Context, items []bulk.Item[string]) error {
				if slices.Contains(values(items), "7") {
					return c.end()
				}
				return nil
			}
			w.sendMany(20)
			w.invoke(20, 30*time.Second)
			if r := w.result("7"); r.Outcome != c.want || w.outcomes()[batch.Succeeded] != 19 {
				t.Errorf("record 7 is %v (%v), the outcomes are %v", r.Outcome, r.Err, w.outcomes())
			}
			if sizes := w.sizes(); sizes[0] != 20 || len(sizes) > 11 { // 20, 10, 10, 5, 5, 2, 3, 1, 2, 1, 1
				t.Errorf("calls for %v records", sizes)
			}
		})
	}
}

// A function that ignores its context returns after the invocation was answered:
// its batch is over, and what it writes then would be reported nowhere.
func TestNoHalfBeginsAfterItsTime(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		want  batch.Outcome // of the second half
	}{
		"after the invocation was answered": {11100 * time.Millisecond, batch.Abandoned},
		"within the grace":                  {9505 * time.Millisecond, batch.Retry},
	} {
		inWorldOf(t, name, true, func(t *testing.T, w *world) {
			w.run.Reserve, w.run.Grace = 500*time.Millisecond, 10*time.Millisecond
			w.halved(takes(c.takes), written)
			w.Send("a:0", "a:1", "b:0", "b:1")
			failed := w.invoke(10, 10*time.Second)
			time.Sleep(time.Hour)
			if len(w.seen()) != 2 {
				t.Errorf("the function was given %q at %v, want all and one half", w.seen(), w.times)
			}
			for _, body := range w.seen()[1] {
				if done := c.want == batch.Retry; done == slices.Contains(failed, body) {
					t.Errorf("%s was written within the grace: %v; failed: %q", body, done, failed)
				}
			}
			n := 0
			for _, body := range []string{"a:0", "b:0"} {
				if r := w.result(body); r.Outcome == c.want && (c.want == batch.Abandoned || errors.Is(r.Err, context.DeadlineExceeded)) {
					n++
				}
			}
			if want := map[batch.Outcome]int{batch.Abandoned: 2, batch.Retry: 1}[c.want]; n != want {
				t.Errorf("%d records are %v for want of time, want %d: %v", n, c.want, want, w.outcomes())
			}
			if dead := w.DeadLetters(); len(dead) > 0 {
				t.Errorf("%d dead letters: nothing says which record was refused", len(dead))
			}
		})
	}
}

// A chunk that is refused when its time is over is not halved any more. Nothing
// says which record was refused: none of them is a dead letter.
func TestARefusalAfterTheDeadlineMakesNoDeadLetters(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.do = func(ctx context.Context, _ []bulk.Item[string]) error {
			<-ctx.Done()
			return errRefused
		}
		w.sendMany(4)
		if failed := w.invoke(10, 10*time.Second); len(failed) != 4 || len(w.seen()) != 1 {
			t.Errorf("failed %q, chunks %q", failed, w.seen())
		}
		if n := w.outcomes(); n[batch.Retry] != 4 || len(w.DeadLetters()) != 0 {
			t.Errorf("outcomes are %v", n)
		}
	})
}

// What a half has written is done, although the other half hangs.
func TestAHalfThatWasWrittenIsDoneAtOnce(t *testing.T) {
	for name, bodies := range map[string][]string{
		"one group":  {"a:0", "a:1", "a:2", "a:3"},
		"two groups": {"a:0", "a:1", "b:0", "b:1"},
		"no groups":  {"0", "1", "2", "3"},
	} {
		inWorldOf(t, name, name != "no groups", func(t *testing.T, w *world) {
			w.halved(written, takes(time.Minute))
			w.Send(bodies...)
			failed := w.invoke(10, 10*time.Second)
			if len(w.seen()) != 3 {
				t.Fatalf("the function was given %q, want all and two halves", w.seen())
			}
			for i, half := range w.seen()[1:] {
				for _, body := range half {
					if slices.Contains(failed, body) != (i == 1) {
						t.Errorf("%s of half %d is %v: %v", body, i, w.result(body).Outcome, w.result(body).Err)
					}
					if r := w.result(body); i == 0 && r.Duration > time.Millisecond {
						t.Errorf("%s took %v", body, r.Duration)
					}
				}
			}
		})
	}
}

// In a container the written half is deleted while the other is still at work, and
// what the other writes in the end is deleted as well: each is written once.
func TestAHalfThatWasWrittenIsDeletedAtOnce(t *testing.T) {
	for name, bodies := range map[string][]string{"FIFO": {"a:0", "a:1", "a:2", "a:3"}, "standard": {"0", "1", "2", "3"}} {
		inWorldOf(t, name, name == "FIFO", func(t *testing.T, w *world) {
			w.halved(written, takes(50*time.Second))
			w.cfg.Linger = time.Second
			w.Send(bodies...)
			sent := time.Now()
			w.poll(5 * time.Minute)
			if len(w.seen()) != 3 || w.left() != 0 {
				t.Fatalf("the function was given %q, %d messages are left", w.seen(), w.left())
			}
			for _, e := range w.Events(sqs.Deleted) {
				if took := e.Time.Sub(sent); slices.Contains(w.seen()[1], e.Body) != (took < 3*time.Second) {
					t.Errorf("%s was deleted after %v", e.Body, took)
				}
			}
		})
	}
}

// A half in which a record of a group fails, next to one that goes on.
func TestAGroupGoesOnBehindWhatWasWritten(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.do = func(_ context.Context, items []bulk.Item[string]) error {
			time.Sleep(time.Second)
			if slices.Contains(values(items), "a:1") {
				return errRefused
			}
			return nil
		}
		w.run.Failures.OnPermanent = "retry"
		w.Send("a:0", "b:0", "a:1", "b:1", "a:2", "b:2", "b:3", "a:3")
		failed := w.invoke(10, 60*time.Second)
		slices.Sort(failed)
		if !slices.Equal(failed, []string{"a:1", "a:2", "a:3"}) {
			t.Errorf("failed %q", failed)
		}
		times := map[string]int{}
		for _, chunk := range w.seen() {
			if !slices.Contains(chunk, "a:1") { // its calls wrote nothing
				for _, body := range chunk {
					times[body]++
				}
			}
		}
		for _, body := range []string{"a:0", "b:0", "b:1", "b:2", "b:3"} {
			if times[body] != 1 {
				t.Errorf("%s was written %d times: %q", body, times[body], w.seen())
			}
		}
		if times["a:2"]+times["a:3"] > 0 {
			t.Errorf("what is behind a:1 was written: %q", w.seen())
		}
	})
}

// A chunk whose records are no longer waited for gives its place away, and the records
// that are still waited for are counted right: the next chunk is not held up.
func TestHalvesLeaveNoPlaceTaken(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.run.RecordTimeout, w.cfg.Parallel, w.run.Concurrency = 10*time.Second, 1, 4
		w.run.Failures.Backoff = func(int) time.Duration { return time.Hour }
		w.halved(written, func(_ context.Context, items []bulk.Item[string]) error {
			if slices.Contains(values(items), "a:2") {
				time.Sleep(time.Hour)
			}
			return nil
		})
		w.Send("a:0", "a:1", "a:2", "a:3")
		go func() {
			time.Sleep(30 * time.Second)
			w.Queue.Send("b:0", "c:0", "d:0", "e:0")
		}()
		w.poll(2 * time.Minute)
		deleted := []string{}
		for _, e := range w.Events(sqs.Deleted) {
			deleted = append(deleted, e.Body)
		}
		slices.Sort(deleted)
		if want := []string{"a:0", "a:1", "b:0", "c:0", "d:0", "e:0"}; !slices.Equal(deleted, want) {
			t.Errorf("deleted %q, want %q; chunks %q at %v", deleted, want, w.seen(), w.times)
		}
	})
}
