package runner

import (
	"context"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
)

// recordContext is a delivery as the context of its handler. It has the values of the
// runner's or the batch's context, the record, and an end of its own. It does the work of
// context.WithDeadline and context.WithValue without an allocation. It owns no timer, since
// the worker ends it (see expire). Contexts that end with it are made only when a handler
// asks for them.
type recordContext Delivery

func (c *recordContext) Deadline() (time.Time, bool) {
	if c.deadline == 0 {
		return c.runner.parent.Deadline()
	}
	return c.runner.began.Add(c.deadline), true
}

func (c *recordContext) Done() <-chan struct{} { return c.asked().Done() }

// ending is a context of the standard library that ends with a recordContext.
type ending struct {
	context.Context
	cancel context.CancelFunc
}

// asked returns the context that ends with c. Most handlers never need it.
func (c *recordContext) asked() *ending {
	if c.ending.Load() == nil {
		ctx, cancel := context.WithCancel(context.Background())
		c.ending.CompareAndSwap(nil, &ending{ctx, cancel})
	}
	asked := c.ending.Load()
	if c.err.Load() != nil { // see end
		asked.cancel()
	}
	return asked
}

// Err also compares the clock, so that a handler which only polls Err sees the end in time
// even if the runner's timer is late.
func (c *recordContext) Err() error {
	if err := c.err.Load(); err != nil {
		return *err
	}
	if err := c.runner.parent.Err(); err != nil {
		return c.end(err)
	}
	if c.deadline != 0 && time.Since(c.runner.began) >= c.deadline {
		return c.end(context.DeadlineExceeded)
	}
	return nil
}

func (c *recordContext) Value(key any) any {
	switch key.(type) {
	case ctxkey.Record:
		return c.Record
	case ctxkey.Runner:
		return View{(*Delivery)(c)}
	}
	return c.inherited().Value(key)
}

// inherited is where values come from that are not the record's own.
func (c *recordContext) inherited() context.Context {
	if values := c.values.Load(); values != nil {
		return values.record
	}
	return c.runner.parent
}

// BatchContext returns the context that has the values of d's batch.
func (d *Delivery) BatchContext() context.Context {
	if values := d.values.Load(); values != nil {
		return values.batch
	}
	return d.runner.parent
}

// AfterFunc is a method that the context package looks for in parents of unknown types.
// With it, a derived context needs no goroutine.
func (c *recordContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.asked().Context, f)
}

// end ends the context with err, unless it has ended. It returns the error with which the
// context ended.
func (c *recordContext) end(err error) error {
	kept := &canceled
	if err != canceled {
		kept = new(err)
	}
	c.err.CompareAndSwap(nil, kept)
	if asked := c.ending.Load(); asked != nil { // else asked sees the error
		asked.cancel()
	}
	return *c.err.Load()
}

var canceled = context.Canceled // most contexts end with it: no allocation
