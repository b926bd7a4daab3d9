package runner

import (
	"context"
	"errors"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

// Engine is a handler with how it is run: what runners share. It holds no state of
// theirs, and is safe for concurrent use.
type Engine struct {
	handler batch.Handler     // as it was given
	handle  batch.HandlerFunc // called directly: each call on the way would copy the record on the stack
	cfg     batch.Config
	// Hooks are also for the package that settles the results.
	Hooks *hooks.Set
	// Slots are shared with other engines' runners, in which those of this one count for
	// Weight, 1 or more; nil if not. Both are set before the first runner is made.
	Slots  *Slots
	Weight int
}

// New returns an Engine. It returns an error when h is nil or its method
// Validate() error, if it has one, returns one; when a value of cfg is out of its
// bounds; or when a hook has none of the hooks' methods.
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

// Bounds of the reserve when it is not configured.
const (
	minReserve = 200 * time.Millisecond
	maxReserve = 2 * time.Second
)

// Times derives an invocation's moments from ctx's deadline, for one that begins
// now. The reserve, unless configured, is a tenth of the remaining time,
// between 200 ms and 2 s, but never above a quarter of it: a function with a
// timeout of 1 s keeps 200 ms, one of 20 s or more 2 s. A configured reserve is
// cut to half of the remaining time. A quarter of the reserve is for the response.
// It is zero for a ctx without deadline.
func (e *Engine) Times(ctx context.Context) batch.Times {
	deadline, ok := ctx.Deadline()
	if !ok {
		return batch.Times{}
	}
	remaining := max(0, time.Until(deadline))
	reserve := min(e.cfg.Reserve, remaining/2)
	if e.cfg.Reserve == 0 {
		reserve = min(max(remaining/10, minReserve), maxReserve, remaining/4)
	}
	return batch.Times{
		Deadline: deadline,
		Cutoff:   deadline.Add(-reserve),
		SettleBy: deadline.Add(-reserve / 4),
	}
}
