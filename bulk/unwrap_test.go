package bulk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
)

// envelope takes "(" off the bodies; without one they are malformed.
func envelope(h batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		inner, ok := strings.CutSuffix(r.Body, ")")
		if !ok {
			return &batch.MalformedError{Reason: "no envelope"}
		}
		r.Body = inner
		return h.Handle(ctx, r)
	})
}

func TestUnwrapIsBetweenTheEngineAndTheChunk(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.cfg.Unwrap = envelope
		w.lambda("a:0)", "a:1)", "a:2", "a:3)", "b:0)")
		if got := w.seen(); len(got) != 2 || !slices.Equal(w.items(), []string{"a:0", "a:1", "a:3", "b:0"}) || !slices.Equal(got[1], []string{"a:3"}) {
			t.Errorf("chunks are %q", got)
		}
		if dead := w.DeadLetters(); len(dead) != 1 || *dead[0].Body != "a:2" {
			t.Errorf("dead letters: %v", dead)
		}
	})
}

// Middleware runs once for each record. What it does after a success, it does after the chunk was
// written.
func TestUnwrapKnowsTheOutcome(t *testing.T) {
	inWorld(t, true, func(w *world) {
		var before, after []string
		w.cfg.Unwrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			before = append(before, r.Body)
			err := h.Handle(ctx, r)
			if err == nil {
				after = append(after, r.Body)
			}
			return err
		})
		w.do = func(ctx context.Context, items []bulk.Item[string]) error {
			if len(after) > 0 {
				t.Errorf("%q before the chunk was written", after)
			}
			return failing(errNo, "a:2")(ctx, items)
		}
		failed := w.lambda("a:0", "a:1", "a:2", "a:3")
		wantChunks(t, [][]string{before, after, failed}, []string{"a:0", "a:1", "a:2", "a:3"}, []string{"a:0", "a:1"}, []string{"a:2", "a:3"})
	})
}

// What is behind a record that fails does not wait for the end of the poll.
func TestUnwrapEndsWithTheRecordThatFails(t *testing.T) {
	inWorld(t, true, func(w *world) {
		var ended []string
		w.cfg.Unwrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			err := h.Handle(ctx, r)
			w.mu.Lock()
			defer w.mu.Unlock()
			if time.Since(w.began) < time.Second {
				ended = append(ended, r.Body)
			}
			return err
		})
		w.do = failing(errNo, "a:1")
		w.run.Failures.Backoff = func(int) time.Duration { return time.Hour }
		w.Send("a:0", "a:1", "a:2")
		w.poll(time.Minute)
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		wantChunks(t, [][]string{ended}, []string{"a:0", "a:1", "a:2"})
	})
}

// Middleware that fails, or hangs, after the chunk was written: the rest of the
// group comes back with its record, and nothing waits for what it might have been.
func TestUnwrapThatFailsAfterwards(t *testing.T) {
	for name, after := range map[string]func() error{
		"fails": func() error { return errNo },
		"hangs": func() error { time.Sleep(time.Hour); return nil },
	} {
		inWorldOf(t, name, true, func(t *testing.T, w *world) {
			w.run.RecordTimeout = 5 * time.Second
			w.cfg.Unwrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
				if err := h.Handle(ctx, r); err != nil || r.Body != "a:1" {
					return err
				}
				return after()
			})
			failed := w.lambda("a:0", "a:1", "a:2")
			if !slices.Equal(failed, []string{"a:1", "a:2"}) || len(w.seen()) != 1 || time.Since(w.began) > 10*time.Second {
				t.Errorf("failed %q after %v; chunks %q", failed, time.Since(w.began), w.seen())
			}
		})
	}
}

// A record that leaves its chunk takes those with it that it has taken along.
func TestWhatIsBehindLeavesWithItsRecord(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.cfg = bulk.Config{MaxItems: 4, Parallel: 1, Unwrap: around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			if r.Body == "a:0" {
				time.Sleep(time.Second)
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Second)
				defer cancel()
			}
			return h.Handle(ctx, r)
		})}
		w.do = func(context.Context, []bulk.Item[string]) error { time.Sleep(4 * time.Second); return nil }
		failed := w.lambda("b:0", "b:1", "b:2", "b:3", "a:0", "a:1")
		wantChunks(t, append(w.seen(), failed), []string{"b:0", "b:1", "b:2", "b:3"}, []string{"a:0", "a:1"})
	})
}

// A second call for a record in the chunk of an earlier one fails, as one in its own turn does.
func TestUnwrapThatCallsTwiceForARecordBehind(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.cfg.Unwrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			if r.Body == "a:1" {
				return twice(h).Handle(ctx, r)
			}
			return h.Handle(ctx, r)
		})
		failed := w.lambda("a:0", "a:1")
		wantChunks(t, append(w.seen(), failed), []string{"a:0", "a:1"}, []string{"a:1"})
	})
}

func twice(h batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		return errors.Join(h.Handle(ctx, r), h.Handle(ctx, r))
	})
}

func twiceAtOnce(h batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		other := make(chan error)
		go func() { other <- h.Handle(ctx, r) }()
		return errors.Join(h.Handle(ctx, r), <-other)
	})
}

func forgetful(h batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(_ context.Context, r batch.Record) error { return h.Handle(context.Background(), r) })
}

// Middleware that a bulk handler cannot have is reported as an error, and no record is lost.
func TestUnwrapThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name   string
		fifo   bool
		unwrap func(batch.Handler) batch.Handler
		want   string // in the error; empty if it can be
	}{
		{"calls twice", false, twice, ""},
		{"calls twice at the same time", false, twiceAtOnce, ""},
		{"calls twice, FIFO", true, twice, "calls its handler twice"},
		{"drops the context", false, forgetful, "does not pass its context on"},
		{"drops the context, FIFO", true, forgetful, "does not pass its context on"},
	} {
		inWorldOf(t, c.name, c.fifo, func(t *testing.T, w *world) {
			w.cfg.Unwrap = c.unwrap
			failed := w.lambda("a:0", "a:1")
			r := w.result("a:0")
			if c.want == "" && (len(failed) > 0 || len(w.items()) != 4) || c.want != "" && (len(failed) != 2 || !strings.Contains(r.Err.Error(), c.want)) {
				t.Errorf("failed %q, chunks %q: %v", failed, w.seen(), r.Err)
			}
		})
	}
}

// What is taken behind a record is no more than a chunk has room for, however
// large the middleware makes it.
func TestNoMoreIsLookedAtThanFits(t *testing.T) {
	large := around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
		r.Body = strings.Repeat(r.Body, 4)
		return h.Handle(ctx, r)
	})
	for name, c := range map[string]struct {
		cfg    bulk.Config
		decode int // of ten records, those looked at before their turn included
		chunks int
	}{
		"chunks of one": {bulk.Config{MaxItems: 1}, 10, 10},
		"small ones":    {bulk.Config{MaxItems: 5}, 10, 2},
		"few bytes":     {bulk.Config{MaxBytes: 50, Unwrap: large}, 12, 3}, // four fit, the fifth is one too many
		"too few":       {bulk.Config{MaxBytes: 12, Unwrap: large}, 10, 10},
	} {
		inWorldOf(t, name, true, func(t *testing.T, w *world) {
			var decoded atomic.Int32
			w.cfg, w.run.Concurrency = c.cfg, 1
			w.decode = func(ctx context.Context, r batch.Record) (string, error) {
				decoded.Add(1)
				return text(ctx, r)
			}
			failed := w.lambda("a:0", "a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "a:7", "a:8", "a:9")
			if len(failed) > 0 || int(decoded.Load()) != c.decode || len(w.seen()) != c.chunks {
				t.Errorf("failed %q; %d decoded, want %d; chunks %q", failed, decoded.Load(), c.decode, w.seen())
			}
		})
	}
}
