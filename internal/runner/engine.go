package runner

import (
	"cmp"
	"context"
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
	cfg     Config
	// Hooks are also used by the package that settles the results.
	Hooks *hooks.Set
	// Slots are shared with the runners of other engines, and Priority is that of this
	// engine's runners. Slots is nil if they are not shared. Both are set before the first
	// runner is made.
	Slots    *Slots
	Priority int
}

// Config configures how records are handled; package handler describes each field.
type Config struct {
	Concurrency                                 int
	Reserve, RecordTimeout, MinRemaining, Grace time.Duration
	Classify                                    func(error) error
}

// DefaultConcurrency is the number of records handled at a time if neither the configuration
// nor the handler asks for one.
const DefaultConcurrency = 10

const maxConcurrency = 10_000

// WithDefaults returns the configuration with the Concurrency that h asks for, and the
// defaults that do not depend on the remaining time.
func (c Config) WithDefaults(h batch.Handler) Config {
	c.Concurrency = cmp.Or(c.Concurrency, min(max(0, wrapped.Concurrency(h)), maxConcurrency), DefaultConcurrency)
	c.Grace = cmp.Or(c.Grace, time.Second)
	return c
}

// New returns an Engine, which passes records to h.
func New(h batch.Handler, cfg Config, set *hooks.Set) *Engine {
	f, ok := h.(batch.HandlerFunc)
	if !ok {
		f = h.Handle
	}
	return &Engine{handler: h, handle: f, cfg: cfg.WithDefaults(h), Hooks: set}
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

// Times are the time limits of an invocation. Zero without a deadline.
type Times struct{ Deadline, Cutoff, SettleBy time.Time }

// Times derives the time limits of an invocation that begins now from ctx's deadline. A
// quarter of the reserve is for the response. Times returns zero for a ctx without a deadline.
func (e *Engine) Times(ctx context.Context) Times {
	deadline, ok := ctx.Deadline()
	if !ok {
		return Times{}
	}
	return TimesBefore(deadline, e.cfg.Reserve, max(0, time.Until(deadline)))
}

// TimesBefore returns the time limits of an invocation with a deadline, see [Engine.Times].
func TimesBefore(deadline time.Time, configured, remaining time.Duration) Times {
	reserve := Reserve(configured, remaining)
	return Times{
		Deadline: deadline,
		Cutoff:   deadline.Add(-reserve),
		SettleBy: deadline.Add(-reserve / 4),
	}
}
