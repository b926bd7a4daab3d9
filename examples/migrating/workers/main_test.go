package main

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/examples/migrating/internal/sample"
)

func TestMain(m *testing.M) {
	for range machines {
		go work(new(machine), jobs)
	}
	os.Exit(m.Run())
}

// Three of the bodies are no orders: they reach no worker.
func TestWorkers(t *testing.T) {
	sample.Run(t, consumer, "malformed.json", config).Is(t, []int{2, 4, 5},
		"engraved order=o-1", "engraved order=o-3", "engraved order=o-6")
}

// A machine that is not there makes its worker panic.
func TestAPanicIsTheAnswer(t *testing.T) {
	var missing *machine
	var panicked *batch.PanicError
	if err := missing.run(job{ctx: t.Context()}); !errors.As(err, &panicked) || len(panicked.Stack) == 0 {
		t.Errorf("the answer is %v, want a panic with its stack", err)
	}
}

func TestAnOrderWithoutAFreeWorkerEndsWithItsContext(t *testing.T) {
	before := jobs
	jobs = make(chan job) // no worker is there
	defer func() { jobs = before }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := handOver(ctx, Order{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
}
