package bulk_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
)

// failing fails the items with these values.
func failing(err error, bodies ...string) func(context.Context, []bulk.Item[string]) error {
	return func(_ context.Context, items []bulk.Item[string]) error {
		for i := range items {
			if slices.Contains(bodies, items[i].Value) {
				items[i].Fail(err)
			}
		}
		return nil
	}
}

// A record fails at its last attempt. Those behind it were in its chunks, and in
// the last one too; they must not follow it to the dead-letter queue.
func TestWhatIsBehindARecordThatIsBuriedIsWrittenAgain(t *testing.T) {
	for _, mode := range []string{"Lambda", "container"} {
		inWorldOf(t, mode, true, func(t *testing.T, w *world) {
			w.do = failing(errNo, "a:1")
			w.run.Failures.Backoff = func(int) time.Duration { return time.Second }
			w.Send("a:0", "a:1", "a:2", "a:3")
			if mode == "container" {
				w.poll(time.Minute)
			} else {
				for range 5 {
					w.invoke(10, 30*time.Second)
					time.Sleep(2 * time.Second)
				}
			}
			wantChunks(t, w.seen(),
				[]string{"a:0", "a:1", "a:2", "a:3"},
				[]string{"a:1", "a:2", "a:3"}, []string{"a:1", "a:2", "a:3"}, []string{"a:1", "a:2", "a:3"}, []string{"a:1", "a:2", "a:3"},
				[]string{"a:2", "a:3"})
			dead := w.DeadLetters()
			if len(dead) != 1 || *dead[0].Body != "a:1" {
				t.Errorf("%d dead letters, want a:1: %v", len(dead), dead)
			}
			if r := w.result("a:3"); r.Outcome != batch.Succeeded {
				t.Errorf("a:3 is %v: %v", r.Outcome, r.Err)
			}
		})
	}
}

func TestAChunkHoldsGroupsInOrder(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.do = func(context.Context, []bulk.Item[string]) error { time.Sleep(10 * time.Second); return nil }
		w.Send("a:0", "b:0", "a:1", "c:0", "a:2", "b:1")
		failed := w.invoke(10, 15*time.Second) // for one chunk: what is behind needs no time of its own
		if len(failed) > 0 || len(w.seen()) != 1 || len(w.seen()[0]) != 6 {
			t.Fatalf("failed %q, chunks %q", failed, w.seen())
		}
		for group, want := range map[string][]string{"a": {"a:0", "a:1", "a:2"}, "b": {"b:0", "b:1"}} {
			got := slices.DeleteFunc(slices.Clone(w.seen()[0]), func(body string) bool { return body[:1] != group })
			wantChunks(t, [][]string{got}, want)
		}
		w.wantOutcomes(t, map[batch.Outcome]int{batch.Succeeded: 6})
	})
}

func TestWhatIsBehindAFailedRecordIsNotDone(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.do = failing(batch.RetryAfter(time.Minute, errNo), "a:1", "b:0")
		failed := w.lambda("a:0", "a:1", "a:2", "b:0", "c:0")
		slices.Sort(failed)
		if !slices.Equal(failed, []string{"a:1", "a:2", "b:0"}) || len(w.seen()) != 1 {
			t.Errorf("failed %q, chunks %q", failed, w.seen())
		}
		if r := w.result("a:2"); r.Outcome != batch.Skipped || r.VisibleIn != time.Minute {
			t.Errorf("a:2 is %v, back in %v", r.Outcome, r.VisibleIn)
		}
	})
}

func TestAGroupOfMoreThanAChunk(t *testing.T) {
	for _, cfg := range []bulk.Config{{MaxItems: 3}, {MaxBytes: 9}} {
		inWorld(t, true, func(w *world) {
			w.cfg = cfg
			w.lambda("a:0", "a:1", "a:2", "a:3", "a:4", "a:5", "a:6")
			wantChunks(t, w.seen(), []string{"a:0", "a:1", "a:2"}, []string{"a:3", "a:4", "a:5"}, []string{"a:6"})
		})
	}
}

// The time that a chunk takes is that of its first record, also for what decides
// whether another one is worth starting.
func TestNoChunkIsBegunThatHasTooLittleTime(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.cfg.MaxItems = 4
		w.do = func(context.Context, []bulk.Item[string]) error { time.Sleep(10 * time.Second); return nil }
		failed := w.lambda("a:0", "a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "a:7", "a:8", "a:9")
		if n := w.outcomes(); !slices.Equal(failed, []string{"a:8", "a:9"}) || n[batch.NotStarted] != 2 || len(w.seen()) != 2 {
			t.Errorf("failed %q, outcomes %v, chunks %q", failed, n, w.seen())
		}
	})
}

// What cannot be decoded ends what is taken along, and fails in its own turn.
func TestAMalformedRecordBehindEndsTheChunk(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.decode = func(_ context.Context, r batch.Record) (string, error) {
			switch r.Body {
			case "a:1":
				return "", &batch.MalformedError{Reason: "it is bad"}
			case "a:3":
				panic("it cannot be decoded")
			}
			return r.Body, nil
		}
		failed := w.lambda("a:0", "a:1", "a:2", "a:3", "a:4")
		wantChunks(t, w.seen(), []string{"a:0"}, []string{"a:2"})
		if !slices.Equal(failed, []string{"a:3", "a:4"}) {
			t.Errorf("failed %q", failed)
		}
		if dead := w.DeadLetters(); len(dead) != 1 || *dead[0].Body != "a:1" {
			t.Errorf("dead letters: %v", dead)
		}
		w.wantOutcomes(t, map[batch.Outcome]int{batch.Succeeded: 2, batch.DeadLettered: 1, batch.Retry: 1, batch.Skipped: 1})
	})
}

// A decoder that hangs or ends its goroutine harms its own record only.
func TestADecoderThatHangsBehindHoldsNothingUp(t *testing.T) {
	for name, hang := range map[string]func(){"hangs": func() { time.Sleep(time.Hour) }, "ends": runtime.Goexit} {
		inWorldOf(t, name, true, func(t *testing.T, w *world) {
			w.decode = func(_ context.Context, r batch.Record) (string, error) {
				if r.Body == "a:2" {
					hang()
				}
				return r.Body, nil
			}
			failed := w.lambda("a:0", "a:1", "a:2", "b:0")
			if !slices.Equal(failed, []string{"a:2"}) || !slices.Equal(w.items(), []string{"a:0", "a:1", "b:0"}) || w.times[0] > 50*time.Millisecond {
				t.Errorf("failed %q, chunks %q at %v", failed, w.seen(), w.times)
			}
		})
	}
}

// With middleware around it, which may know what the bulk handler does not, a
// chunk has one record of a group.
func TestMiddlewareAroundSeesRecordsInTheirTurn(t *testing.T) {
	inWorld(t, true, func(w *world) {
		var turns []string
		w.wrap = around(func(ctx context.Context, r batch.Record, h batch.Handler) error {
			turns = append(turns, r.Body)
			r.Body = "x" + r.Body
			return h.Handle(ctx, r)
		})
		w.lambda("a:0", "a:1", "a:2")
		wantChunks(t, w.seen(), []string{"xa:0"}, []string{"xa:1"}, []string{"xa:2"})
		wantChunks(t, [][]string{turns}, []string{"a:0", "a:1", "a:2"})
	})
}
