package idempotency_test

import (
	"context"
	"errors"
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

// lateStore answers its first claim late.
type lateStore struct {
	idempotency.Store
	late *time.Duration
}

func (s lateStore) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	found, err := s.Store.Claim(ctx, c)
	wait := *s.late
	*s.late = 0
	time.Sleep(wait)
	return found, err
}

// The claim has begun when the store was asked, not when it answered.
func TestLateAnswerToAClaim_DoesNotLetTwoIn(t *testing.T) {
	for _, late := range []time.Duration{2 * time.Second, 3 * time.Second, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store, runs := idempotency.NewMemory(), ""
			var over, began time.Time // of A's context, and of B's work
			c := idempotency.Config{Lease: 6 * time.Second}
			wait := late
			a := worker(lateStore{store, &wait}, c, func(ctx context.Context) error {
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
			if <-ended; runs != "A" && runs != "B" || runs == "A" && !batch.VerdictOf(err).InProgress {
				t.Errorf("%v late: %s have run, from %v to %v; B ends with %v", late, runs, over, began, err)
			}
		})
	}
}

// It waits for as long as it can: what it waits for may end in the last moment.
func TestLastAttempt_WaitsForAllOfItsTime(t *testing.T) {
	var s *shop
	inBoth(t, sqstest.Config{MaxReceiveCount: 2}, func() batch.Handler {
		s = &shop{do: func(context.Context, string, int) error { time.Sleep(8 * time.Second); return nil }}
		return s.guarded(idempotency.NewMemory(), idempotency.Config{Lease: time.Second})
	}, func(t *testing.T, q *sqstest.Queue) {
		q.Send(order("1"), order("1"))
		q.UntilIdle()
		s.want(t, "1")
		for _, m := range q.Messages() {
			if !m.DeadLetter.IsZero() {
				t.Errorf("%v is a dead letter: %v", m.Body, m)
			}
		}
	})
}

// A claim that lasts for all of the record's time is renewed no more.
func TestRenewals_AreFew(t *testing.T) {
	renewals := 0
	store := slowStore{idempotency.NewMemory(), func(op string) error {
		if op == "renew" {
			renewals++
		}
		return nil
	}}
	synctest.Test(t, func(t *testing.T) {
		slow := worker(store, idempotency.Config{Lease: 3 * time.Second, Grace: time.Millisecond}, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		_ = slow(soon(t, 4*time.Second))
	})
	if renewals != 2 {
		t.Errorf("%d renewals in 4 s with a lease of 3 s, want 2: after 1 s and after 2 s", renewals)
	}
}
