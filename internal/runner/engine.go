package runner

import (
	"context"
	"errors"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Engine is a handler with its configuration, shared by runners. It has no state of a
// runner, and is safe for concurrent use.
type Engine struct {
	handler batch.Handler     // as it was given
	handle  batch.HandlerFunc // called directly: each call on the way would copy the record on the stack
	cfg     batch.Config
	// Hooks are also used by the package that settles the results.
	Hooks *hooks.Set
	// Slots are shared with the runners of other engines; Weight, 1 or more, is the share
	// of this engine's runners. Slots is nil if they are not shared. Both are set before
	// the first runner is made.
	Slots  *Slots
	Weight int
}

// New returns an Engine. It returns an error if h is nil, if h's method Validate() error
// returns one, if a value of cfg is out of its bounds, or if a hook implements no hook
// interface.
func New(h batch.Handler, cfg batch.Config) (*Engine, error) {
	f, ok := h.(batch.HandlerFunc)
	var noHandler error
	if wrapped.IsNil(h) {
		noHandler = errors.New("batch: the handler is nil")
	}
	cfg = cfg.WithDefaultsFor(h)
	badHandler := wrapped.Validate(h)
	set, badHooks := hooks.New(cfg.Hooks...)
	if err := errors.Join(noHandler, badHandler, cfg.Validate(), badHooks); err != nil {
		return nil, err
	}
	if !ok {
		f = h.Handle
	}
	return &Engine{handler: h, handle: f, cfg: cfg, Hooks: set}, nil
}

// Limits of the reserve if it is not configured.
const (
	minReserve = 200 * time.Millisecond
	maxReserve = 2 * time.Second
)

// Reserve returns how much of an invocation's remaining time is kept back. If it is not
// configured (0), it is a tenth of the remaining time, between 200 ms and 2 s, but at most a
// quarter of it. A function with a timeout of 1 s keeps 200 ms; one of 20 s or more keeps
// 2 s. A configured reserve is at most half of the remaining time.
func Reserve(configured, remaining time.Duration) time.Duration {
	if configured == 0 {
		return min(max(remaining/10, minReserve), maxReserve, remaining/4)
	}
	return min(configured, remaining/2)
}

// Times derives the time limits of an invocation that begins now from ctx's deadline. A
// quarter of the reserve is for the response. Times returns zero for a ctx without a deadline.
func (e *Engine) Times(ctx context.Context) batch.Times {
	deadline, ok := ctx.Deadline()
	if !ok {
		return batch.Times{}
	}
	remaining := max(0, time.Until(deadline))
	reserve := Reserve(e.cfg.Reserve, remaining)
	return batch.Times{
		Deadline: deadline,
		Cutoff:   deadline.Add(-reserve),
		SettleBy: deadline.Add(-reserve / 4),
	}
}
