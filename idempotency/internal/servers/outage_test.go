package servers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/internal/histories"
	"github.com/sqsbatch/sqsbatch/test/cases"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// lease is that of outages' claims, the shortest that there is.
const lease = time.Second

// load has messages that are handled during outages of their store. Each is delivered twice at a time, and once more
// at the end. Their work is outside of the store, like the charge of a card.
type load struct {
	t       *testing.T
	handler batch.Handler
	outages []outage
	// patience is how long a message may take.
	patience time.Duration

	mu       sync.Mutex
	messages map[string]*message
	broken   []string // promises
}

// message has the deliveries of one message.
type message struct {
	id       string
	attempts []*attempt
	// The end of any claim or renewal that the store may have. Calls without an answer count from their end.
	heldUntil time.Time
	calling   int // claims and renewals under way
	waited    time.Duration
}

// attempt is one delivery.
type attempt struct {
	worked    time.Time // when its work was done
	claimed   time.Time // when it had the answer to its claim
	renewed   time.Time // when its last claim or renewal that was answered began
	answered  time.Time // when that was answered, or the completion
	confirmed bool      // the completion was answered
	unknown   bool      // the completion was not answered
	err       error     // of the handler
}

type attemptKey struct{}

func newLoad(t *testing.T, store idempotency.Store) *load {
	l := &load{t: t, patience: 30 * time.Second, messages: map[string]*message{}}
	spy := &random.Around{Store: store, Call: l.call}
	work := batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		a := ctx.Value(attemptKey{}).(*attempt)
		a.worked = time.Now()
		lasts := time.Duration(rand.IntN(30)) * time.Millisecond
		if rand.IntN(8) == 0 {
			lasts += 2 * lease / 3 // it is renewed
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lasts):
			return nil
		}
	})
	l.handler = batch.Chain(work, idempotency.New(spy, idempotency.Config{Key: idempotency.MessageID, Prefix: "k", Hash: idempotency.Plain, Lease: lease}))
	return l
}

// call notes what the store answers.
func (l *load) call(ctx context.Context, c random.StoreCall, do func(context.Context) (idempotency.Found, error)) (idempotency.Found, error) {
	a := ctx.Value(attemptKey{}).(*attempt)
	l.mu.Lock()
	m := l.messages[strings.TrimPrefix(c.Key, "k#")]
	holds := c.Operation == "Claim" || c.Operation == "Renew"
	if holds {
		m.calling++
	}
	others := m.calling > 1
	l.mu.Unlock()
	began := time.Now()
	found, err := do(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case holds:
		if m.calling--; found.State == idempotency.InProgress {
			others = others || m.calling > 0
			if !others && began.After(m.heldUntil.Add(10*time.Millisecond)) {
				l.broke("message %s: in progress %v after the end of the last claim", m.id, began.Sub(m.heldUntil))
			}
			break
		}
		if ended := time.Now().Add(lease); !errors.Is(err, idempotency.ErrNotOwner) && found.State != idempotency.Completed && ended.After(m.heldUntil) {
			m.heldUntil = ended
		}
		if err == nil && found.State != idempotency.Completed {
			a.renewed, a.answered = began, time.Now()
			if a.claimed.IsZero() {
				a.claimed = a.answered
			}
		}
	case c.Operation == "Complete" && err == nil:
		a.confirmed, a.answered = true, time.Now()
	case c.Operation == "Complete":
		a.unknown = a.unknown || !errors.Is(err, idempotency.ErrNotOwner)
	}
	return found, err
}

func (l *load) broke(format string, args ...any) {
	l.broken = append(l.broken, fmt.Sprintf(format, args...))
}

// deliver delivers a message until it is done.
func (l *load) deliver(m *message) {
	began := time.Now()
	for {
		a := &attempt{}
		l.mu.Lock()
		m.attempts = append(m.attempts, a)
		l.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithValue(l.t.Context(), attemptKey{}, a), time.Minute)
		a.err = l.handler.Handle(ctx, batch.Record{MessageID: m.id})
		cancel()
		if a.err == nil || errors.Is(a.err, batch.ErrDuplicate) {
			break
		}
		if time.Since(began) > l.patience {
			l.mu.Lock()
			l.broke("message %s does not end: %v", m.id, a.err)
			l.mu.Unlock()
			break
		}
		time.Sleep(50 * time.Millisecond) // the real time of the server
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m.waited = max(m.waited, time.Since(began))
}

// run handles messages while outages makes them happen, and then all messages once more.
func (l *load) run(outages func()) {
	const atOnce = 16
	ended := make(chan struct{})
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
				}
				m := &message{id: fmt.Sprintf("%d-%d", i, n)}
				l.mu.Lock()
				l.messages[m.id] = m
				l.mu.Unlock()
				var both sync.WaitGroup
				for range 2 {
					both.Go(func() { l.deliver(m) })
				}
				both.Wait()
			}
		})
	}
	outages()
	close(ended)
	all.Wait()
	again := make(chan *message)
	for range atOnce {
		all.Go(func() {
			for m := range again {
				l.deliver(m)
			}
		})
	}
	for _, m := range l.messages {
		again <- m
	}
	close(again)
	all.Wait()
}

// Why a work was done again.
const (
	lost       = "an outage lost the claim or the completion"
	unanswered = "the completion was not answered"
	failed     = "its context ended, and its claim was released"
	ended      = "its claim could not be renewed, and ended"
	noReason   = "NO REASON"
)

// judge counts the works that were done again, by reason.
func (l *load) judge() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	again, longest := map[string]int{}, time.Duration(0)
	for _, m := range l.messages {
		var done []*attempt
		for _, a := range m.attempts {
			if !a.worked.IsZero() {
				done = append(done, a)
			}
		}
		if len(done) == 0 {
			l.broke("message %s was never handled", m.id)
			continue
		}
		longest = max(longest, m.waited)
		slices.SortFunc(done, func(a, b *attempt) int { return a.worked.Compare(b.worked) })
		for i, b := range done[1:] {
			why := l.why(done[i], b)
			if again[why]++; why == noReason {
				l.broke("message %s was handled again for no reason:\n%+v\n%+v", m.id, *done[i], *b)
			}
		}
	}
	var lasted []time.Duration
	for _, o := range l.outages {
		lasted = append(lasted, o.back.Sub(o.killed).Round(time.Millisecond))
	}
	l.t.Logf("%d messages, outages of %v, done again: %v; a message waited for %v at most", len(l.messages), lasted, again, longest.Round(10*time.Millisecond))
	return again
}

// why returns the reason for which the work of a was done again by b.
func (l *load) why(a, b *attempt) string {
	for _, o := range l.outages {
		if !a.answered.Before(o.from) && a.renewed.Before(o.killed) && b.claimed.After(o.killed) {
			return lost
		}
	}
	switch {
	case a.confirmed:
		return noReason
	case a.unknown:
		return unanswered
	case a.err != nil && !errors.Is(a.err, batch.ErrInProgress):
		return failed
	case b.claimed.Sub(a.renewed) >= lease:
		return ended
	}
	return noReason
}

// outagesOf makes some outages, one after another.
func (l *load) outagesOf(one func() (outage, error)) {
	for range cases.Of(2, 10) {
		time.Sleep(lease / 2)
		o, err := one()
		if err != nil {
			l.t.Error(err)
			return
		}
		l.outages = append(l.outages, o)
	}
	time.Sleep(lease)
}

// setup is a server that fails in one way.
type setup struct {
	name    string
	cluster func(t *testing.T) *cluster
	restart bool // it is killed and started again, or else failed over
	loses   bool // what it has answered
}

func (s *setup) fail(c *cluster) (outage, error) {
	if s.restart {
		return c.restart()
	}
	return c.failOver(func() { time.Sleep(lease / 3) })
}

func setups() (all []setup) {
	if *postgresFolder != "" {
		postgres := func(synchronous bool, settings ...string) func(t *testing.T) *cluster {
			return func(t *testing.T) *cluster {
				c, _ := newPostgresCluster(t, synchronous, settings...)
				return c
			}
		}
		all = append(all,
			setup{"PostgreSQL killed", postgres(false), true, false},
			setup{"PostgreSQL killed, synchronous_commit=off", postgres(false, "synchronous_commit=off", "wal_writer_delay=10s"), true, true},
			setup{"PostgreSQL failed over", postgres(false), false, true},
			setup{"PostgreSQL failed over, synchronous", postgres(true), false, false},
		)
	}
	for _, program := range redisPrograms() {
		redis := func(wait bool, settings ...string) func(t *testing.T) *cluster {
			return func(t *testing.T) *cluster { return newRedisCluster(t, program, wait, settings...) }
		}
		name := filepath.Base(program)
		all = append(all,
			setup{name + " killed", redis(false), true, true},
			setup{name + " killed, appendonly", redis(false, "--appendonly", "yes"), true, false},
			setup{name + " failed over", redis(false), false, true},
			setup{name + " failed over, WAIT", redis(true), false, false},
		)
	}
	return all
}

// With a store that loses nothing, only work whose completion was not answered is done again. What another one loses is
// done again, and the load must see it: else it would prove nothing.
func TestOutage(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			c := s.cluster(t)
			if !s.restart {
				if err := c.protect(); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			l := newLoad(t, c.store(t))
			l.run(func() {
				l.outagesOf(func() (outage, error) {
					o, err := s.fail(c)
					switch {
					case !s.loses:
						o.from = o.back.Add(time.Hour) // nothing may be lost
					case o.from.IsZero():
						o.from = began
					}
					return o, err
				})
			})
			again := l.judge()
			for _, text := range l.broken {
				t.Error(text)
			}
			if s.loses != (again[lost] > 0) {
				t.Errorf("outages lost %d works", again[lost])
			}
		})
	}
}

// The load finds a store that forgets what it answered, and one whose claims do not end.
func TestOutage_Mutants(t *testing.T) {
	for name, m := range map[string]struct {
		forgets, sticks bool
		want            string
	}{
		"no mistake": {},
		"forgets":    {forgets: true, want: "for no reason"},
		"sticks":     {sticks: true, want: "after the end of the last claim"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			down := false
			left := map[string]bool{} // keys whose completion did not arrive
			around := &random.Around{Store: idempotency.NewMemory()}
			around.Call = func(ctx context.Context, c random.StoreCall, do func(context.Context) (idempotency.Found, error)) (idempotency.Found, error) {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case down:
					left[c.Key] = true
					return idempotency.Found{}, errors.New("down")
				case m.sticks && c.Operation == "Claim" && left[c.Key]:
					return idempotency.Found{State: idempotency.InProgress}, nil
				}
				return do(ctx)
			}
			l := newLoad(t, around)
			l.patience = 3 * time.Second
			l.run(func() {
				l.outagesOf(func() (outage, error) {
					mu.Lock()
					down = true
					mu.Unlock()
					o := outage{killed: time.Now()}
					time.Sleep(50 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if down = false; m.forgets {
						around.Store = idempotency.NewMemory()
					}
					o.back = time.Now()
					o.from = o.back.Add(time.Hour)
					return o, nil
				})
			})
			l.judge()
			all := strings.Join(l.broken, "\n")
			if m.want == "" && all != "" || !strings.Contains(all, m.want) {
				t.Errorf("%q, want %q", all, m.want)
			}
		})
	}
}

// An order of all calls explains all answers, although the server is killed again and again, unless it loses what it
// has answered.
func TestOutage_Histories(t *testing.T) {
	for _, s := range setups() {
		if !s.restart || s.loses && strings.HasPrefix(s.name, "PostgreSQL") {
			continue // it loses too little for one history
		}
		t.Run(s.name, func(t *testing.T) {
			c, drawn := s.cluster(t), drawn()
			store := c.store(t)
			drawn.Few, drawn.Store = 20, func(f *histories.Faults) idempotency.Store { return f.Around(store) }
			over, kills := make(chan struct{}), 0
			var restarting sync.WaitGroup
			restarting.Go(func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(lease):
					}
					if _, err := c.restart(); err != nil {
						t.Error(err)
						return
					}
					kills++
				}
			})
			if s.loses {
				random.Catch(t, 50, func(t *testing.T, seed uint64) string { return drawn.Find(t, seed, random.Seen{}) })
			} else {
				histories.Check(t, drawn)
			}
			close(over)
			restarting.Wait()
			t.Logf("killed %d times", kills)
		})
	}
}
