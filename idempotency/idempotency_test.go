package idempotency_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/sqstest"
	"github.com/sqsbatch/sqsbatch/test/random"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

// order is the body of a message.
func order(id string) string { return fmt.Sprintf(`{"id":%q}`, id) }

// shop is a handler that counts how often the work of an order is done.
type shop struct {
	mu   sync.Mutex
	done []string
	do   func(ctx context.Context, id string, attempt int) error
}

type placed struct{ ID string }

func (s *shop) ship(ctx context.Context, o placed) error {
	r, _ := batch.RecordFrom(ctx)
	if s.do != nil {
		if err := s.do(ctx, o.ID, r.Attempt); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, o.ID)
	return nil
}

func (s *shop) want(t *testing.T, ids ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := slices.Sorted(slices.Values(s.done)); !slices.Equal(got, ids) {
		t.Errorf("done is the work of %v, want %v", got, ids)
	}
}

func byID(o placed) string { return o.ID }

// guarded is the shop's handler behind the middleware.
func (s *shop) guarded(store idempotency.Store, c idempotency.Config) batch.Handler {
	if c.Key == nil {
		c.Key = idempotency.KeyOf(byID)
	}
	return batch.Chain(batch.JSON(s.ship), idempotency.New(store, c))
}

// inBoth runs a test on Lambda and in a container.
func inBoth(t *testing.T, cfg sqstest.Config, h func() batch.Handler, test func(t *testing.T, q *sqstest.Queue)) {
	for name, container := range map[string]bool{"Lambda": false, "container": true} {
		t.Run(name, func(t *testing.T) {
			cfg := cfg
			cfg.Container = container
			sqstest.RunWith(t, h(), cfg, test)
		})
	}
}

// deliver sends messages, and waits until they are settled.
func deliver(q *sqstest.Queue, bodies ...string) {
	q.Send(bodies...)
	q.UntilIdle()
}

func TestDuplicate_IsDeletedAndNotHandled(t *testing.T) {
	var s *shop
	inBoth(t, sqstest.Config{}, func() batch.Handler {
		s = &shop{}
		return s.guarded(idempotency.NewMemory(), idempotency.Config{})
	}, func(t *testing.T, q *sqstest.Queue) {
		deliver(q, order("1"), order("2"))
		deliver(q, order("1"))
		q.Want("succeeded", "succeeded", "duplicate")
		s.want(t, "1", "2")
	})
}

func TestCopiesAtOnce_OneIsHandledAndTheOthersComeBack(t *testing.T) {
	var s *shop
	inBoth(t, sqstest.Config{}, func() batch.Handler {
		s = &shop{do: func(context.Context, string, int) error { time.Sleep(3 * time.Second); return nil }}
		return s.guarded(idempotency.NewMemory(), idempotency.Config{})
	}, func(t *testing.T, q *sqstest.Queue) {
		deliver(q, order("1"), order("1"), order("1"))
		s.want(t, "1")
		var outcomes []string
		for _, m := range q.Messages() {
			outcomes = append(outcomes, m.String())
			if last := m.Attempts[len(m.Attempts)-1]; last.Err != nil {
				t.Errorf("%s ended with %v", m.Body, last.Err)
			}
		}
		slices.Sort(outcomes)
		if want := []string{"in-progress, duplicate", "in-progress, duplicate", "succeeded"}; !slices.Equal(outcomes, want) {
			t.Errorf("%q, want %q", outcomes, want)
		}
	})
}

func TestFailure_ReleasesTheKey(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":  func() error { return errors.New("the carrier is down") },
		"panic":  func() error { panic("no carrier") },
		"Goexit": func() error { runtime.Goexit(); return nil },
		"hurry":  func() error { return batch.RetryAfter(0, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &shop{do: func(_ context.Context, _ string, attempt int) error {
				if attempt < 3 {
					return fail()
				}
				return nil
			}}
			sqstest.Run(t, s.guarded(idempotency.NewMemory(), idempotency.Config{}), func(t *testing.T, q *sqstest.Queue) {
				deliver(q, order("1"))
				q.Want("retry, retry, succeeded")
			})
		})
	}
}

func TestPermanentFailure_IsForgottenUnlessKept(t *testing.T) {
	unknown := errors.New("unknown article")
	for name, c := range map[string]struct {
		err      error
		kept     bool
		classify func(error) error
		want     string // of the second message
	}{
		"forgotten":         {batch.Permanent(unknown), false, nil, "dead-letter"},
		"kept":              {batch.Permanent(unknown), true, nil, "duplicate"},
		"kept, by Classify": {unknown, true, func(err error) error { return batch.Permanent(err) }, "duplicate"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shop{do: func(context.Context, string, int) error { return c.err }}
			h := s.guarded(idempotency.NewMemory(), idempotency.Config{KeepPermanent: c.kept})
			sqstest.RunWith(t, h, sqstest.Config{Handler: handler.Config{Classify: c.classify}}, func(t *testing.T, q *sqstest.Queue) {
				deliver(q, order("1"))
				deliver(q, order("1"))
				q.Want("dead-letter", c.want)
			})
		})
	}
}

// A record that only waited for another worker must not die of it. It waits for as long as it
// can: what it waits for may end in the last moment.
func TestLastAttempt_WaitsForTheOther(t *testing.T) {
	for _, c := range []struct {
		takes  time.Duration
		bodies []string
	}{{20 * time.Second, []string{order("1"), order("1"), order("1")}}, {8 * time.Second, []string{order("1"), order("1")}}} {
		var s *shop
		inBoth(t, sqstest.Config{MaxReceiveCount: 2}, func() batch.Handler {
			s = &shop{do: func(context.Context, string, int) error { time.Sleep(c.takes); return nil }}
			return s.guarded(idempotency.NewMemory(), idempotency.Config{Lease: time.Second})
		}, func(t *testing.T, q *sqstest.Queue) {
			deliver(q, c.bodies...)
			s.want(t, "1")
			for _, m := range q.Messages() {
				if !m.DeadLetter.IsZero() {
					t.Errorf("%v is a dead letter: %v", m.Body, m)
				}
			}
		})
	}
}

// hooked is a store whose calls a test changes. An error of before is that of the call, which
// is then not made. An error of after is that of a call which was made. Both may be nil.
func hooked(store idempotency.Store, before, after hook) idempotency.Store {
	return &random.Around{Store: store, Call: func(ctx context.Context, c random.StoreCall, do func(context.Context) (idempotency.Found, error)) (found idempotency.Found, err error) {
		if before != nil {
			if err := before(ctx, c); err != nil {
				return found, err
			}
		}
		found, err = do(ctx)
		if after != nil {
			err = cmp.Or(after(ctx, c), err)
		}
		return found, err
	}}
}

type hook func(ctx context.Context, c random.StoreCall) error

// on is a hook for the calls of one operation.
func on(operation string, do func(ctx context.Context) error) hook {
	return func(ctx context.Context, c random.StoreCall) error {
		if c.Operation != operation {
			return nil
		}
		return do(ctx)
	}
}

var errDown = errors.New("the store is down")

func down(context.Context) error { return errDown }

// warnings are those of the hooks.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) Warned(_ context.Context, warning batch.Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !warning.Info {
		w.list = append(w.list, warning.Message)
	}
}

func (w *warnings) has(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.list, func(m string) bool { return strings.Contains(m, part) })
}

func TestStoreIsDown_RetriesOrProceeds(t *testing.T) {
	for _, proceed := range []bool{false, true} {
		s, w := &shop{}, &warnings{}
		began := time.Now()
		store := hooked(idempotency.NewMemory(), on("Claim", func(context.Context) error {
			if time.Since(began) < time.Minute {
				return errDown
			}
			return nil
		}), nil)
		sqstest.RunWith(t, s.guarded(store, idempotency.Config{ProceedWithoutStore: proceed}), sqstest.Config{
			Handler: handler.Config{Hooks: testhooks.Of(w)},
		}, func(t *testing.T, q *sqstest.Queue) {
			began = time.Now()
			deliver(q, order("1"))
			s.want(t, "1")
			attempts := len(q.Messages()[0].Attempts)
			if proceed != (attempts == 1) || proceed != w.has("without protection") {
				t.Errorf("proceed is %v: %d attempts, warnings %q", proceed, attempts, w.list)
			}
		})
	}
}

// The work is done: to do it again because the store does not answer would be wrong.
func TestCompletionFails_RecordSucceeds(t *testing.T) {
	s, w := &shop{}, &warnings{}
	store := hooked(idempotency.NewMemory(), on("Complete", down), nil)
	sqstest.RunWith(t, s.guarded(store, idempotency.Config{}), sqstest.Config{
		Handler: handler.Config{Hooks: testhooks.Of(w)},
	}, func(t *testing.T, q *sqstest.Queue) {
		deliver(q, order("1"))
		q.Want("succeeded")
		if !w.has("did not answer: a duplicate") {
			t.Errorf("warnings %q", w.list)
		}
	})
}

func TestNoKey_IsPermanentUnlessAllowed(t *testing.T) {
	for name, key := range map[string]idempotency.KeyFunc{
		"field":           idempotency.Field("number"),
		"nested field":    idempotency.Field("id", "number"),
		"attribute":       idempotency.Attribute("id"),
		"deduplication":   idempotency.DeduplicationID,
		"an empty string": func(context.Context, batch.Record) (string, error) { return "", nil },
	} {
		for _, allowed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, allowed), func(t *testing.T) {
				s := &shop{}
				sqstest.Run(t, s.guarded(idempotency.NewMemory(), idempotency.Config{Key: key, ProceedWithoutKey: allowed}), func(t *testing.T, q *sqstest.Queue) {
					deliver(q, order("1"), order("1"))
					if allowed {
						s.want(t, "1", "1")
						return
					}
					s.want(t)
					q.Want("dead-letter", "dead-letter")
					if err := q.Messages()[0].Attempts[0].Err; !errors.Is(err, idempotency.ErrNoKey) {
						t.Errorf("the error is %v", err)
					}
				})
			})
		}
	}
}

func TestDifferentContent_IsPermanent(t *testing.T) {
	s, store := &shop{}, idempotency.NewMemory()
	h := s.guarded(store, idempotency.Config{Key: idempotency.Field("id"), Content: idempotency.Body})
	sqstest.Run(t, h, func(t *testing.T, q *sqstest.Queue) {
		deliver(q, `{"id":"1","to":"Ann"}`)
		deliver(q, `{"id":"1","to":"Bob"}`, `{"id":"1","to":"Ann"}`)
		q.Want("succeeded", "dead-letter", "duplicate")
		if err := q.Messages()[1].Attempts[0].Err; !errors.Is(err, idempotency.ErrDifferentContent) || strings.Contains(err.Error(), "Bob") {
			t.Errorf("the error is %v", err)
		}
		found, err := store.Claim(t.Context(), idempotency.Claim{Key: "orders#" + idempotency.SHA256("1"), Owner: "onlooker"})
		if want := idempotency.SHA256(`{"id":"1","to":"Ann"}`); err != nil || found.Content != want {
			t.Errorf("the store has the content %q, %v; want the digest %s", found.Content, err, want)
		}
	})
}

func TestKeptResult_IsGivenToDuplicates(t *testing.T) {
	var heard []int
	ship := func(ctx context.Context, _ placed) error { return idempotency.Keep(ctx, 42) }
	h := batch.Chain(batch.JSON(ship), idempotency.New(idempotency.NewMemory(), idempotency.Config{
		Key: idempotency.KeyOf(byID),
		OnDuplicate: idempotency.Kept(func(_ context.Context, n int) error {
			heard = append(heard, n)
			return nil
		}),
	}))
	sqstest.Run(t, h, func(t *testing.T, q *sqstest.Queue) {
		deliver(q, order("1"))
		deliver(q, order("1"))
		q.Want("succeeded", "duplicate")
		if !slices.Equal(heard, []int{42}) {
			t.Errorf("heard %v", heard)
		}
	})
}

func TestKeep_SaysWhyNot(t *testing.T) {
	if err := idempotency.Keep(t.Context(), 1); err == nil {
		t.Error("kept without a claim")
	}
	var errs []error
	h := batch.Chain(batch.JSON(func(ctx context.Context, _ placed) error {
		errs = append(errs, idempotency.Keep(ctx, strings.Repeat("x", idempotency.MaxResult)), idempotency.Keep(ctx, func() {}))
		return nil
	}), idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.KeyOf(byID)}))
	if err := h.Handle(t.Context(), batch.Record{Body: order("1")}); err != nil {
		t.Fatal(err)
	}
	for _, err := range errs {
		if err == nil {
			t.Error("kept what cannot be")
		}
	}
}

func TestConfig_IsChecked(t *testing.T) {
	h := batch.Chain(batch.Text(func(context.Context, string) error { return nil }), idempotency.New(nil, idempotency.Config{Lease: time.Millisecond, Remember: -1, Grace: -1}))
	err := h.(interface{ Validate() error }).Validate()
	for _, part := range []string{"store is nil", "Key is nil", "Lease is 1ms", "Remember is -1ns", "Grace is -1ns"} {
		if !strings.Contains(fmt.Sprint(err), part) {
			t.Errorf("%v: want %q", err, part)
		}
	}
}

// demanding is a handler with the optional methods.
type demanding struct{ batch.HandlerFunc }

func (demanding) Validate() error  { return errDown }
func (demanding) Concurrency() int { return 7 }

func TestNew_KeepsTheHandlersMethods(t *testing.T) {
	once := idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Body})
	h := once(demanding{})
	if err := h.(interface{ Validate() error }).Validate(); !errors.Is(err, errDown) {
		t.Errorf("Validate: %v", err)
	}
	if n := h.(interface{ Concurrency() int }).Concurrency(); n != 7 {
		t.Errorf("Concurrency: %d", n)
	}
	if h := once(batch.HandlerFunc(nil)); h != nil {
		t.Errorf("a nil handler became %v", h)
	}
}

func TestKeyThatCannotBeStored_IsPermanent(t *testing.T) {
	for name, c := range map[string]struct {
		key  string
		hash func(string) string
	}{
		"too long":        {strings.Repeat("x", 1025), idempotency.Plain},
		"not UTF-8":       {"\xff", idempotency.Plain},
		"hash of nothing": {"x", func(string) string { return "" }},
	} {
		h := batch.Chain(batch.Text(func(context.Context, string) error { t.Error(name + ": it is handled"); return nil }),
			idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Body, Hash: c.hash}))
		if err := h.Handle(t.Context(), batch.Record{Body: c.key}); !batch.VerdictOf(err).Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
}
