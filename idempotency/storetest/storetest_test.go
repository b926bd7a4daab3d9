package storetest_test

import (
	"testing"
	"testing/synctest"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/storetest"
)

func TestMemory(t *testing.T) {
	storetest.RunWith(t, func(*testing.T) idempotency.Store { return idempotency.NewMemory() }, storetest.Config{Test: synctest.Test})
}
