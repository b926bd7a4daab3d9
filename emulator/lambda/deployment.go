package lambda

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

var (
	// ErrThrottled is returned by Invoke when every environment is busy. Lambda answers
	// TooManyRequestsException then.
	ErrThrottled = errors.New("every environment is busy (TooManyRequestsException)")

	// ErrClosed is returned by Invoke and Mapping.Run when the deployment is closed, before
	// the call or during it.
	ErrClosed = errors.New("the deployment is closed")

	// ErrPayloadTooLarge is returned by Invoke for a payload above 6 MiB. Lambda answers
	// RequestTooLargeException then.
	ErrPayloadTooLarge = errors.New("the payload is too large (RequestTooLargeException)")
)

// Deployment is a function that can be invoked. It is safe for concurrent use and must be
// closed.
type Deployment struct {
	fn      Function
	ctx     context.Context // ends at Close
	cancel  context.CancelFunc
	running sync.WaitGroup // running invocations
	output  sync.Mutex     // serializes calls of fn.Output
	boot    bootBackoff
	init    time.Duration // limit of a process's start, in addition to the function's timeout

	mu           sync.Mutex
	closing      sync.Once
	closed       bool
	environments []*environment
	idle         []*environment      // one entry for each free place, most recently used last
	waiting      []chan *environment // callers of reserveOrWait, in order of arrival
}

// Start deploys the function. As on Lambda, no process is started before the first
// invocation. The error names the field of Function that is wrong.
func Start(fn Function) (*Deployment, error) {
	fn = fn.withDefaults()
	if err := fn.validate(); err != nil {
		return nil, err
	}
	fn.Env, fn.Command = maps.Clone(fn.Env), slices.Clone(fn.Command)
	d := &Deployment{fn: fn, init: initTimeout}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d, nil
}

// Function returns the configuration with its defaults filled in.
func (d *Deployment) Function() Function { return d.fn }

// ARN returns the function's ARN, which is also in the context of handlers.
func (d *Deployment) ARN() string { return d.fn.arn() }

// Invoke runs the function once and waits for its answer. Errors of the function are in
// Result.Error. Invoke itself returns an error if the invocation did not take place or its
// caller did not wait for the answer: ErrThrottled, ErrClosed, ErrPayloadTooLarge, or ctx's
// error. As with Lambda's RequestResponse invocations, the function goes on after
// ctx's end.
func (d *Deployment) Invoke(ctx context.Context, payload []byte) (Result, error) {
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	if len(payload) > maxPayload {
		return Result{}, fmt.Errorf("lambda: function %s: %d bytes, limit %d: %w", d.fn.Name, len(payload), maxPayload, ErrPayloadTooLarge)
	}
	d.mu.Lock()
	env, err := d.reserve()
	d.mu.Unlock()
	if err != nil {
		return Result{}, err
	}
	done := make(chan Result, 1)
	go func() { done <- d.run(env, newInvocation(payload)) }()
	select {
	case r := <-done:
		if r.Error != nil && r.Error.closed {
			return r, d.error(ErrClosed)
		}
		return r, nil
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

// run runs inv in env, which the caller has reserved, and releases env.
func (d *Deployment) run(env *environment, inv *invocation) Result {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return inv.result(env.number, closedAnswer())
	}
	d.running.Add(1)
	d.mu.Unlock()
	defer d.running.Done()
	result, late := env.run(inv)
	if late == nil {
		d.release(env)
		return result
	}
	d.running.Go(func() { // the place is not free before the late code ends
		late()
		d.release(env)
	})
	return result
}

// reserve reserves a place in a warm environment, or else in a new one. It returns ErrThrottled
// if no place is free. The caller holds d.mu.
func (d *Deployment) reserve() (*environment, error) {
	if d.closed {
		return nil, d.error(ErrClosed)
	}
	if n := len(d.idle); n > 0 {
		env := d.idle[n-1]
		d.idle = d.idle[:n-1]
		return env, nil
	}
	if len(d.environments) < d.fn.Concurrency {
		env := newEnvironment(d, len(d.environments)+1)
		d.environments = append(d.environments, env)
		for range d.fn.perEnvironment() - 1 {
			d.idle = append(d.idle, env)
		}
		return env, nil
	}
	return nil, d.error(ErrThrottled)
}

// reserveOrWait is like reserve, but waits for a place until ctx's end.
func (d *Deployment) reserveOrWait(ctx context.Context) (*environment, error) {
	d.mu.Lock()
	env, err := d.reserve()
	if !errors.Is(err, ErrThrottled) {
		d.mu.Unlock()
		return env, err
	}
	turn := make(chan *environment, 1)
	d.waiting = append(d.waiting, turn)
	d.mu.Unlock()

	select {
	case env := <-turn:
		return env, nil
	case <-d.ctx.Done():
		err = d.error(ErrClosed)
	case <-ctx.Done():
		err = ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.waiting, turn); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
		return nil, err
	}
	// The place came at the same moment as the end of ctx.
	return <-turn, nil
}

// release frees a place in env, for the first waiting caller if there is one.
func (d *Deployment) release(env *environment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) > 0 {
		d.waiting[0] <- env
		d.waiting = d.waiting[1:]
		return
	}
	d.idle = append(d.idle, env)
}

// Kill kills the processes of all environments, as if they had crashed, and returns their number.
// The next invocations start new ones. A function that runs in this process has none.
func (d *Deployment) Kill() (killed int) {
	d.mu.Lock()
	environments := slices.Clone(d.environments)
	d.mu.Unlock()
	for _, e := range environments {
		if p := e.running(); p != nil {
			p.Kill()
			killed++
		}
	}
	return killed
}

// Close kills every process, ends open invocations with ErrClosed, and waits for their end. The
// context of in-process handlers ends; for a handler that ignores this, Close waits until the
// invocation's deadline. It may be called more than once.
func (d *Deployment) Close() error {
	d.mu.Lock()
	d.closed = true
	environments := d.environments
	d.mu.Unlock()
	d.cancel()
	d.running.Wait()
	d.closing.Do(func() { // a second caller waits for the first
		var closing sync.WaitGroup
		for _, env := range environments {
			closing.Go(env.close)
		}
		closing.Wait()
	})
	return nil
}

func (d *Deployment) error(err error) error {
	return fmt.Errorf("lambda: function %s: %w", d.fn.Name, err)
}
