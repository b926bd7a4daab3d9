package main

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/examples/lifecycle/internal/stoptest"
)

// The worker finishes what handlers wait to hand over: three orders, one after another.
func TestStop_TakesTheTimeOfTheWork(t *testing.T) {
	stoptest.Stop{Orders: 3, Takes: 8 * time.Second, Deleted: 3, Visible: 0}.Check(t, run)
}

// More than the drain has time for: what is left is released.
func TestStop_MoreWorkThanTime(t *testing.T) {
	stoptest.Stop{Orders: 12, Takes: 24 * time.Second, Deleted: 8, Visible: 4}.Check(t, run)
}

// The worker does one order, and eleven wait for it. The stop takes as long as that one.
func TestStopTogether_TakesTheTimeOfTheWorkersRecord(t *testing.T) {
	stoptest.Stop{Orders: 12, Takes: 2 * time.Second, Deleted: 1, Visible: 11}.Check(t, runTogether)
}
