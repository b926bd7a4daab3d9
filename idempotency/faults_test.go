package idempotency_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

// A record that failed permanently, and that nothing takes to a dead-letter queue, comes
// back. It is no duplicate of itself: it would be deleted, and be nowhere.
func TestKeptPermanentFailure_IsNotItsOwnDuplicate(t *testing.T) {
	s := &shop{do: func(context.Context, string, int) error { return batch.Permanent(errors.New("unknown article")) }}
	h := s.guarded(idempotency.NewMemory(), idempotency.Config{KeepPermanent: true})
	synctest.Test(t, func(t *testing.T) {
		of := func(messageID string) error {
			return h.Handle(t.Context(), batch.Record{MessageID: messageID, Body: order("1")})
		}
		for range 2 {
			if err := of("m-1"); !batch.VerdictOf(err).Permanent {
				t.Errorf("the message itself: %v", err)
			}
		}
		if err := of("m-2"); !errors.Is(err, batch.ErrDuplicate) {
			t.Errorf("another message with its key: %v", err)
		}
	})
}

// Duplicates, and the record itself, say why the work failed: in a dead letter's reason, and as
// what package reply answers.
func TestKeptPermanentFailure_SaysWhyItFailed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a text":         {"unknown article", "unknown article"},
		"quotes, breaks": {"a \"b\"\n\x1b\\<é>", "a \"b\"\n\x1b\\<é>"},
		"not UTF-8":      {"a\xffb", "a\ufffdb"},
		"no text":        {"", ""},
		"a long text":    {strings.Repeat("é", 1000), strings.Repeat("é", 500)},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shop{do: func(context.Context, string, int) error { return batch.Permanent(errors.New(c.text)) }}
			h := s.guarded(idempotency.NewMemory(), idempotency.Config{KeepPermanent: true})
			_ = h.Handle(t.Context(), batch.Record{MessageID: "m-1", Body: order("1")})
			for _, messageID := range []string{"m-1", "m-2"} {
				err := h.Handle(t.Context(), batch.Record{MessageID: messageID, Body: order("1")})
				if failed, ok := errors.AsType[*idempotency.FailedError](err); !ok || failed.Text != c.want {
					t.Errorf("%s: %#v, want the text %q", messageID, err, c.want)
				}
			}
		})
	}
}

// The claim has begun when the store was asked, not when it answered.
func TestLateAnswerToAClaim_DoesNotLetTwoIn(t *testing.T) {
	for _, late := range []time.Duration{2 * time.Second, 3 * time.Second, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store, runs := idempotency.NewMemory(), ""
			var over, began time.Time // of A's context, and of B's work
			c := idempotency.Config{Lease: 6 * time.Second}
			wait := late
			answersLate := on("Claim", func(context.Context) error {
				time.Sleep(wait)
				wait = 0
				return nil
			})
			a := worker(hooked(store, nil, answersLate), c, func(ctx context.Context) error {
				runs += "A"
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				over = time.Now()
				return ctx.Err()
			})
			b := worker(store, c, func(context.Context) error {
				runs += "B"
				began = time.Now()
				return nil
			})
			ended := make(chan error)
			go func() { ended <- a(t.Context()) }()
			time.Sleep(7 * time.Second) // A's claim has ended, unless it was renewed
			err := b(t.Context())
			if <-ended; runs != "A" && runs != "B" || runs == "A" && batch.VerdictOf(err).Outcome != batch.InProgress {
				t.Errorf("%v late: %s have run, from %v to %v; B ends with %v", late, runs, over, began, err)
			}
		})
	}
}

// Classify is for the errors of the handler: a table that is missing makes no dead letters.
func TestStoreError_IsNotClassified(t *testing.T) {
	store := hooked(idempotency.NewMemory(), on("Claim", down), nil)
	h := batch.Chain(batch.Text(func(context.Context, string) error { return nil }), idempotency.New(store, idempotency.Config{Key: idempotency.Body}))
	err := h.Handle(t.Context(), batch.Record{Body: "x"})
	if err == nil || errors.Is(err, errDown) || !strings.Contains(err.Error(), errDown.Error()) {
		t.Errorf("%v", err)
	}
}

func TestStoreThatHangs_LeavesTimeToProceed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := false
		w := worker(hooked(idempotency.NewMemory(), on("Claim", toEnd), nil), idempotency.Config{ProceedWithoutStore: true}, func(context.Context) error {
			done = true
			return nil
		})
		began := time.Now()
		if err := w(soon(t, 30*time.Second)); err != nil || !done || time.Since(began) != 5*time.Second {
			t.Errorf("%v, done: %v, after %v", err, done, time.Since(began))
		}
	})
}

// toEnd answers nothing until the context ends.
func toEnd(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// The retry of a record whose claim was made, but not answered in time, must not find it.
func TestClaimWithoutAnAnswer_IsGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		wait func(context.Context) error
		stop time.Duration // a drain begins, if not 0
		want time.Duration
	}{
		"no answer":    {toEnd, 0, 5 * time.Second},
		"slow answers": {func(context.Context) error { time.Sleep(16 * time.Second); return nil }, 0, 32 * time.Second},
		"drain":        {toEnd, time.Second, time.Second},
	} {
		inBubble(t, name, func(t *testing.T) {
			store, runs := idempotency.NewMemory(), 0
			do := func(context.Context) error { runs++; return nil }
			cfg := idempotency.Config{Lease: 30 * time.Second}
			ctx, cancel := context.WithCancel(soon(t, time.Minute))
			defer cancel()
			if c.stop != 0 {
				time.AfterFunc(c.stop, cancel)
			}
			began := time.Now()
			err := worker(hooked(store, nil, on("Claim", c.wait)), cfg, do)(ctx)
			if took := time.Since(began); err == nil || runs != 0 || took != c.want {
				t.Errorf("%v after %v and %d calls of the handler", err, took, runs)
			}
			if err := worker(store, cfg, do)(t.Context()); err != nil || runs != 1 {
				t.Errorf("the retry: %v after %d calls of the handler", err, runs)
			}
		})
	}
}

// A store that does not answer must not cost the record its backoff, which it would lose if
// it was abandoned.
func TestClaimThatCannotBeGivenBack_EndsInTime(t *testing.T) {
	for name, c := range map[string]struct{ time, want time.Duration }{
		"much time":   {time.Minute, 5*time.Second + 500*time.Millisecond},
		"little time": {1200 * time.Millisecond, 1200 * time.Millisecond},
		"no time":     {500 * time.Millisecond, 500 * time.Millisecond},
	} {
		inBubble(t, name, func(t *testing.T) {
			began := time.Now()
			err := worker(hooked(idempotency.NewMemory(), on("Release", toEnd), on("Claim", toEnd)), idempotency.Config{}, func(context.Context) error {
				t.Error("it is handled")
				return nil
			})(soon(t, c.time))
			if took := time.Since(began); err == nil || took != c.want {
				t.Errorf("%v after %v, want %v", err, took, c.want)
			}
		})
	}
}

// The handler is called: the claim, if it was made, keeps others out meanwhile.
func TestProceedWithoutStore_KeepsAClaimWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, cfg := idempotency.NewMemory(), idempotency.Config{ProceedWithoutStore: true}
		var other error
		err := worker(hooked(store, nil, on("Claim", toEnd)), cfg, func(context.Context) error {
			other = worker(store, cfg, func(context.Context) error { t.Error("it is done twice"); return nil })(t.Context())
			return nil
		})(soon(t, time.Minute))
		if err != nil || batch.VerdictOf(other).Outcome != batch.InProgress {
			t.Errorf("%v, and the other ends with %v", err, other)
		}
	})
}

func TestGuardWithinAGuard_DoesNotWaitForItself(t *testing.T) {
	c := idempotency.Config{Key: idempotency.Body}
	once := idempotency.New(idempotency.NewMemory(), c)
	calls := 0
	h := batch.Chain(batch.Text(func(context.Context, string) error { calls++; return nil }), once, once)
	if err := h.Handle(t.Context(), batch.Record{Body: "x"}); err != nil || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// rude is an error whose method panics.
type rude struct{}

func (rude) Error() string { return "rude" }
func (rude) Unwrap() error { panic("no") }

func TestErrorWhoseMethodPanics_ReleasesTheKey(t *testing.T) {
	store, calls := idempotency.NewMemory(), 0
	h := batch.Chain(batch.Text(func(context.Context, string) error { calls++; return rude{} }), idempotency.New(store, idempotency.Config{Key: idempotency.Body}))
	for range 2 {
		func() {
			defer func() { _ = recover() }()
			_ = h.Handle(t.Context(), batch.Record{Body: "x"})
		}()
	}
	if calls != 2 {
		t.Errorf("%d calls: the key was not released", calls)
	}
}

func TestKeys_KeepKindsApart(t *testing.T) {
	s := &shop{}
	h := s.guarded(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Keys(idempotency.Field("type"), idempotency.Field("id"))})
	sqstest.Run(t, h, func(t *testing.T, q *sqstest.Queue) {
		deliver(q, `{"type":"placed","id":"1"}`, `{"type":"cancelled","id":"1"}`)
		deliver(q, `{"type":"placed","id":"1"}`, `{"id":"1"}`, `no JSON`)
		q.Want("succeeded", "succeeded", "duplicate", "dead-letter", "dead-letter")
	})
}
