// Command workers shows the result of moving a consumer that hands its messages to a pool
// of workers over a channel to sqsbatch.
package main

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

const machines = 4

var (
	consumer = batch.JSON(handOver)
	config   = handler.Config{Concurrency: machines}
)

func main() {
	for range machines {
		go work(new(machine), jobs)
	}
	handler.RunWith(consumer, config)
}

// Order is a message.
type Order struct {
	ID       string `json:"id"`
	Quantity int    `json:"quantity"`
}

// job is an order on its way to a worker.
type job struct {
	ctx   context.Context // the record's: it ends at the record's deadline
	order Order
	done  chan error
}

var jobs = make(chan job) // without a buffer: an order waits in its handler

// handOver gives an order to the next worker that is free, and returns its answer.
func handOver(ctx context.Context, o Order) error {
	j := job{ctx: ctx, order: o, done: make(chan error, 1)}
	select {
	case jobs <- j:
		return <-j.done // the worker has it, so its answer counts, not the end of ctx
	case <-batch.Stopping(ctx):
		return batch.ErrStopped // the process stops: another one has it at once
	case <-ctx.Done():
		return ctx.Err() // no worker was free in time
	}
}

// work is a worker. It answers each job.
func work(m *machine, jobs <-chan job) {
	for j := range jobs {
		j.done <- m.run(j)
	}
}

// machine is what each worker has of its own: it engraves one order at a time.
type machine struct{ engraved int }

// run makes a panic the order's error: sqsbatch cannot recover one of our goroutines.
func (m *machine) run(j job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &batch.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return m.engrave(j.ctx, j.order)
}

func (m *machine) engrave(ctx context.Context, o Order) error {
	m.engraved++ // without a lock: no other goroutine has this machine
	slog.InfoContext(ctx, "engraved", "order", o.ID)
	return nil
}
