package storetest_test

import (
	"testing"
	"testing/synctest"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/storetest"
)

// A test of a store of your own, in virtual time because it is in memory.
func ExampleRunWith() {
	TestStore := func(t *testing.T) {
		newStore := func(*testing.T) idempotency.Store { return idempotency.NewMemory() }
		storetest.RunWith(t, newStore, storetest.Config{Test: synctest.Test})
	}
	_ = TestStore
}
