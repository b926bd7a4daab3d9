// Package storetest tests an [idempotency.Store] against every sentence of the interface's
// comments:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) idempotency.Store { return mystore.New(client, "test") })
//	}
//
// Every test has its own keys, so all tests may share one table. No test waits longer than
// 1.2 s, and all together take about 10 s. A store that uses package time, and does no input or
// output, needs no real time in a bubble of testing/synctest:
//
//	storetest.RunWith(t, newStore, storetest.Config{Test: synctest.Test})
package storetest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
)

// Config configures how tests run. The zero value is for a store on a server.
type Config struct {
	// Test runs the body of each test. Use synctest.Test for virtual time. Defaults to
	// calling it.
	Test func(t *testing.T, body func(t *testing.T))

	// Wait waits until the time of the store has advanced by d. Defaults to time.Sleep.
	Wait func(d time.Duration)
}

// Run tests the stores that newStore returns, one for each test. Run does not close them: use
// [testing.T.Cleanup].
func Run(t *testing.T, newStore func(t *testing.T) idempotency.Store) {
	t.Helper()
	RunWith(t, newStore, Config{})
}

// RunWith is [Run] with a configuration.
func RunWith(t *testing.T, newStore func(t *testing.T) idempotency.Store, c Config) {
	t.Helper()
	if c.Test == nil {
		c.Test = func(t *testing.T, body func(t *testing.T)) { body(t) }
	}
	if c.Wait == nil {
		c.Wait = time.Sleep
	}
	for _, test := range slices.Concat(claimTests, endTests, keptTests) {
		t.Run(test.name, func(t *testing.T) {
			c.Test(t, func(t *testing.T) {
				test.body(&tester{T: t, store: newStore(t), key: "storetest#" + rand.Text(), wait: c.Wait})
			})
		})
	}
}

// A test is a named test of one key.
type test struct {
	name string
	body func(t *tester)
}

const (
	long   = time.Minute            // a lease that does not end in a test
	short  = 100 * time.Millisecond // a lease that ends in a test
	past   = 150 * time.Millisecond // after a short one
	ever   = 24 * time.Hour
	coarse = 1200 * time.Millisecond // past a short time that a store may round up to seconds
)

// tester makes calls for one key, and checks their results.
type tester struct {
	*testing.T
	store idempotency.Store
	key   string
	wait  func(time.Duration)
}

func (t *tester) claim(owner string, lease time.Duration) idempotency.Found {
	t.Helper()
	return t.claims(idempotency.Claim{Key: t.key, Owner: owner, Lease: lease, Remember: ever})
}

func (t *tester) claims(c idempotency.Claim) idempotency.Found {
	t.Helper()
	found, err := t.store.Claim(t.Context(), c)
	if err != nil {
		t.Fatalf("claim for %s: %v", c.Owner, err)
	}
	return found
}

func (t *tester) wantClaimed(owner string, lease time.Duration) {
	t.Helper()
	t.want(t.claim(owner, lease), idempotency.Found{State: idempotency.Claimed})
}

// wantInProgress checks that another worker's claim lasts for between least and most.
func (t *tester) wantInProgress(least, most time.Duration) {
	t.Helper()
	found := t.claim("onlooker", long)
	if found.State != idempotency.InProgress || found.Left < least || found.Left > most+time.Millisecond {
		t.Fatalf("found %v, %v left; want it in progress, for %v to %v", found.State, found.Left, least, most)
	}
}

func (t *tester) wantCompleted(result string) {
	t.Helper()
	t.want(t.claim("onlooker", long), idempotency.Found{State: idempotency.Completed, Result: []byte(result)})
}

func (t *tester) want(got, want idempotency.Found) {
	t.Helper()
	if got.State != want.State || got.Content != want.Content || !bytes.Equal(got.Result, want.Result) || (got.Result == nil) != (want.Result == nil) {
		t.Fatalf("found %+v, want %+v", got, want)
	}
}

func (t *tester) complete(owner, result string) error {
	return t.store.Complete(t.Context(), t.key, owner, idempotency.Completion{Result: []byte(result), Remember: ever})
}

func (t *tester) renew(owner string, lease time.Duration) error {
	return t.store.Renew(t.Context(), t.key, owner, lease)
}

func (t *tester) release(owner string) error { return t.store.Release(t.Context(), t.key, owner) }

func (t *tester) done(err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v, want nil", err)
	}
}

// wantFenced checks that all calls of a former owner are refused.
func (t *tester) wantFenced(owner string) {
	t.Helper()
	if err := t.complete(owner, owner+"'s"); !errors.Is(err, idempotency.ErrNotOwner) {
		t.Errorf("to complete, %s got %v, want ErrNotOwner", owner, err)
	}
	if err := t.renew(owner, 2*long); !errors.Is(err, idempotency.ErrNotOwner) {
		t.Errorf("to renew, %s got %v, want ErrNotOwner", owner, err)
	}
	t.releasesNothing(owner)
}

func (t *tester) releasesNothing(owner string) {
	t.Helper()
	if err := t.release(owner); err != nil && !errors.Is(err, idempotency.ErrNotOwner) {
		t.Errorf("to release, %s got %v, want ErrNotOwner or nil", owner, err)
	}
}
