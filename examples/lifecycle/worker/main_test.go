package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/examples/lifecycle/internal/stoptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The worker does one order, and eleven wait for it. The stop takes as long as that one.
func TestStop_TakesTheTimeOfTheWorkersRecord(t *testing.T) {
	stoptest.Stop{Orders: 12, Takes: 2 * time.Second, Deleted: 1, Visible: 11}.Check(t, run)
}
