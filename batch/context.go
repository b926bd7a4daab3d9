package batch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/gather"
)

// recordContext is the context of one record: the invocation's values, the
// record, and an end of its own. It does what context.WithDeadline and
// context.WithValue would, at one allocation instead of six: it owns no timer
// (the run ends it, see worker.go), and its channel is made only when someone
// asks for it.
type recordContext struct {
	worker   *worker // that handles the record, or did
	record   *Record
	deadline time.Time                       // zero: the parent's
	values   atomic.Pointer[context.Context] // in place of the parent's, see RecordContextHook

	mu    sync.Mutex
	done  chan struct{}
	err   error
	after map[*func()]struct{}

	// Guarded by run.mu.
	expired time.Time // when it was ended because of its own deadline
	parked  bool      // it waits for other records, see gathering
	known   bool      // its outcome came together with an earlier one's
}

func (c *recordContext) parent() context.Context { return c.worker.parent }

func (c *recordContext) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() {
		return c.parent().Deadline()
	}
	return c.deadline, true
}

func (c *recordContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err notices the end by itself, so that a handler which only polls Err is
// told on time even when the run's timer is late.
func (c *recordContext) Err() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := c.parent().Err(); err != nil {
		return c.end(err)
	}
	if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		return c.end(context.DeadlineExceeded)
	}
	return nil
}

func (c *recordContext) Value(key any) any {
	switch key.(type) {
	case recordKey:
		return c.record
	case gather.Key:
		return (*gathering)(c)
	}
	if values := c.values.Load(); values != nil {
		return (*values).Value(key)
	}
	return c.parent().Value(key)
}

// AfterFunc is what the context package looks for in a parent that it does not
// know: with it, a derived context costs no goroutine.
func (c *recordContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = make(map[*func()]struct{})
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[&f]
		delete(c.after, &f)
		return waiting
	}
}

// end ends the context with err unless it has ended, and returns what it ended with.
func (c *recordContext) end(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	for f := range c.after {
		go (*f)()
	}
	c.after = nil
	return err
}
