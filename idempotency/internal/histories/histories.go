// Package histories tests stores of idempotency with concurrent workers. It makes random
// histories of calls, with faults between the workers and the store. Porcupine compares each
// with a model: it finds an order of the calls that explains all answers, or proves that there
// is none.
//
// The package is separate, for tests only, so that packages that import idempotency or
// storetest do not compile porcupine.
package histories

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// Config configures the histories. Store is required.
type Config struct {
	// Store returns the store of one history, with f between the workers and the store, or
	// between the store and its server.
	Store func(f *Faults) idempotency.Store

	// Few and Many are how many histories there are, and AtOnce how many at a time, as of package
	// random. Each has 4 workers with 5 claims on 2 keys.
	Few, Many, AtOnce int

	// Lease is the base of leases, which are a quarter of it to five quarters.
	Lease time.Duration

	// Lag is the longest delay of a request, and of an answer.
	Lag time.Duration

	// Slack is the largest error of a claim's end, for stores that round.
	Slack time.Duration

	// Test runs the body of each history: synctest.Test for virtual time. Defaults to
	// calling it.
	Test func(t *testing.T, body func(t *testing.T))
}

const (
	workers = 4
	tasks   = 5
	keys    = 2
	// solvable is the time for porcupine to decide. Most histories take a millisecond. Many
	// calls without an answer on one key may take very long.
	solvable = 5 * time.Second
)

// Check fails the test at the first history that no order of calls explains. A history without
// takeovers, for example, would prove nothing about takeovers.
func Check(t *testing.T, c Config) {
	t.Helper()
	counts := random.Histories{Few: c.Few, Many: c.Many, AtOnce: c.AtOnce, Run: func(t *testing.T, seed uint64, seen random.Seen) {
		seen["histories"]++
		if illegal := c.Find(t, seed, seen); illegal != "" {
			t.Error(illegal)
		}
	}}.Check(t)
	n := counts["histories"]
	if u := counts[undecided]; u > n/100 {
		t.Errorf("%d of %d histories could not be decided", u, n)
	}
	for _, name := range []string{"claims", "takeovers", "refused calls", "duplicates", "lost answers"} {
		if counts[name] < n/10 {
			t.Errorf("%d histories have %d %s only", n, counts[name], name)
		}
	}
}

// Find makes the history of a seed, and returns it if no order of calls explains it, or "".
func (c Config) Find(t *testing.T, seed uint64, seen random.Seen) (illegal string) {
	calls := c.record(t, seed)
	count(seen, calls)
	illegal, decided := c.explain(calls)
	seen.Saw(undecided, !decided)
	return illegal
}

// record makes one history.
func (c Config) record(t *testing.T, seed uint64) (calls []*call) {
	body := func(t *testing.T) {
		r := &recorder{began: time.Now(), ctx: t.Context()}
		f := &Faults{recorder: r, lag: c.Lag, lease: c.Lease, random: random.New(seed, workers)}
		store := c.Store(f)
		var wg sync.WaitGroup
		for i := range workers {
			w := &worker{recorder: r, store: store, lease: c.Lease, random: random.New(seed, uint64(i))}
			wg.Go(func() {
				for n := range tasks {
					w.owner = fmt.Sprintf("%c%d", 'A'+i, n)
					w.key = fmt.Sprintf("histories#%d#%d#%d", r.began.UnixNano(), seed, w.random.IntN(keys))
					w.task()
				}
			})
		}
		wg.Wait()
		f.late.Wait()
		calls = r.ended()
	}
	if c.Test == nil {
		body(t)
	} else {
		c.Test(t, body)
	}
	return calls
}

// explain returns "" if an order of the calls explains the answers, or if that is not decided.
func (c Config) explain(calls []*call) (illegal string, decided bool) {
	byKey := map[string][]porcupine.Operation{}
	for _, one := range calls {
		byKey[one.key] = append(byKey[one.key], porcupine.Operation{Input: one, Output: one, Call: one.begin, Return: one.end})
	}
	model := model(c.Slack.Nanoseconds())
	decided = true
	for key, operations := range byKey {
		switch porcupine.CheckOperationsTimeout(model, operations, solvable) {
		case porcupine.Illegal:
			return describe(key, calls), true
		case porcupine.Unknown:
			decided = false
		}
	}
	return "", decided
}

func describe(key string, calls []*call) string {
	var b strings.Builder
	fmt.Fprintf(&b, "key %s: no order of these calls explains their answers:\n", key)
	slices.SortFunc(calls, func(a, b *call) int { return cmp.Compare(a.begin, b.begin) })
	for _, one := range calls {
		if one.key == key {
			fmt.Fprintln(&b, one)
		}
	}
	return b.String()
}

// undecided counts histories that porcupine could not decide in time.
const undecided = "undecided"

func count(n random.Seen, calls []*call) {
	held := map[string]bool{} // keys that were claimed and not released or completed yet
	for _, c := range calls {
		n["calls"]++
		switch {
		case c.unknown:
			n["lost answers"]++
		case c.refused:
			n["refused calls"]++
		case c.kind == claim && c.found.State == idempotency.InProgress:
			n["in progress"]++
		case c.kind == claim && c.found.State == idempotency.Completed:
			n["duplicates"]++
		case c.kind == claim:
			n["claims"]++
			if held[c.key] {
				n["takeovers"]++
			}
			held[c.key] = true
		case c.kind == complete, c.kind == release:
			held[c.key] = false
		}
	}
}
