// Package log writes what became of a batch's records to a [slog.Logger]: a
// line for each record that did not succeed, one for the batch, and every
// warning. It is a hook of package batch; package handler installs it:
//
//	hook := log.New(logger, log.Options{Every: time.Minute})
//	err := handler.Poll(ctx, h, handler.Config{Hooks: []any{hook}})
//
// Every line has "logger":"sqsbatch", and "queue", the queue's name, where it is
// known. docs/observability/log.md lists the fields of each kind of line. Levels are
// by consequence: ERROR is what was given up on or points to a bug, WARN what
// failed and comes back, INFO what is as it should be. Bodies are not written
// unless [Options.BodyBytes] asks for them.
//
// In a storm the first lines tell the cause, and the line of the batch, or of
// the batches since the last one, how many were left out: no count is lost.
//
// Read in this order: log.go (which lines), line.go (a record's), chain.go (what
// is wrapped in an error), short.go (how long they get), sum.go (lines for a
// time).
package log

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Options change what is logged. The zero value is good.
type Options struct {
	// Succeeded also writes a line for each record that succeeded, at level
	// INFO, and leaves out no line. Defaults to false: a success costs nothing.
	Succeeded bool

	// Every sums up batches: there is one line for the batches of that time and
	// queue, unless there were none, and [Hook.Flush] writes the last. It is also
	// the time for which lines of records and warnings are bounded, see
	// [MaxLines]; for who handles records one by one, as a container does.
	// Defaults to 0: a line for each batch.
	Every time.Duration

	// BodyBytes writes the first bytes of the bodies of records that failed,
	// were dead-lettered, dropped or abandoned. Bodies are often secret, and the
	// log is kept elsewhere than the queue: mind who reads it. Beside a long error
	// or stack there may be fewer, so that lines stay below 16 KiB. Defaults to 0:
	// no body is written.
	BodyBytes int
}

// MaxLines bounds the lines about records of one batch, or of one queue in the
// time [Options.Every]: so many up to level WARN, and so many above it. With
// Every it bounds the warnings, too. A storm of failures must not become a bill.
const MaxLines = 100

// Hook is a hook of package batch that logs. It is safe for concurrent use.
type Hook struct {
	logger *slog.Logger
	opts   Options
	sums   sums
}

// New returns a hook that writes to logger, or to slog.Default() if that is nil.
func New(logger *slog.Logger, opts Options) *Hook {
	if logger == nil {
		logger = slog.Default()
	}
	return &Hook{logger: logger.With("logger", "sqsbatch"), opts: opts}
}

// BatchSettled implements [batch.BatchSettledHook].
func (h *Hook) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	var counts counts
	var own bound // of this batch
	for i := range results {
		r := &results[i]
		if int(r.Outcome) < len(counts) {
			counts[r.Outcome]++
		}
		if r.Outcome != batch.Succeeded && r.Outcome != batch.Duplicate || h.opts.Succeeded {
			h.record(ctx, r, &own)
		}
	}
	if h.opts.Every > 0 {
		h.add(batch.QueueName(b.QueueARN), counts)
		return
	}
	level := own.above(slog.LevelInfo)
	if !h.logger.Enabled(ctx, level) {
		return
	}
	line := counts.attrs(batch.QueueName(b.QueueARN))
	if own.left > 0 {
		line = append(line, slog.Int("unlogged", own.left))
	}
	line = append(line, ms("durationMs", time.Since(b.Started)))
	if !b.Times.Deadline.IsZero() {
		line = append(line, ms("remainingMs", time.Until(b.Times.Deadline)))
	}
	h.logger.LogAttrs(ctx, level, "batch", line...)
}

// record writes a record's line, if it is due, also when its error's methods panic.
func (h *Hook) record(ctx context.Context, r *batch.Result, own *bound) {
	defer func() {
		if v := recover(); v != nil {
			h.logger.LogAttrs(ctx, slog.LevelError, "record", append(head(r), unreadable(r.Err, v))...)
		}
	}()
	level := levelOf(r)
	if !h.logger.Enabled(ctx, level) {
		return
	}
	if !h.opts.Succeeded {
		within := false
		if h.opts.Every > 0 {
			within = h.within(batch.QueueName(r.Record.QueueARN), level, ofRecords)
		} else {
			within = own.take(level)
		}
		if !within {
			return
		}
	}
	h.logger.LogAttrs(ctx, level, "record", h.attrs(r)...)
}

// Warned implements [batch.WarningHook].
func (h *Hook) Warned(ctx context.Context, w batch.Warning) {
	level := slog.LevelWarn
	switch {
	case w.Info:
		level = slog.LevelInfo
	case w.Serious:
		level = slog.LevelError
	}
	if !h.logger.Enabled(ctx, level) || h.opts.Every > 0 && !h.within(w.Queue, level, ofWarnings) {
		return
	}
	line := ofQueue(w.Queue)
	if w.MessageID != "" {
		line = append(line, slog.String("messageId", w.MessageID))
	}
	line, _ = appendError(line, w.Err)
	h.logger.LogAttrs(ctx, level, w.Message, line...)
}

// levelOf is by consequence: what was given up on, by sqsbatch or by SQS next,
// or points to a bug (a panic, a Goexit) is an error, what comes back a warning.
func levelOf(r *batch.Result) slog.Level {
	var panicked *batch.PanicError
	switch {
	case r.Outcome == batch.Succeeded, r.Outcome == batch.Duplicate:
		return slog.LevelInfo
	case r.Outcome == batch.DeadLettered, r.Outcome == batch.Dropped, r.Outcome == batch.Abandoned, lastAttempt(r),
		errors.As(r.Err, &panicked), errors.Is(r.Err, batch.ErrGoexit):
		return slog.LevelError
	case errors.Is(r.Err, batch.ErrStopped):
		return slog.LevelDebug // it waited for its turn, as others did for a slot
	case r.Outcome == batch.Skipped, r.Outcome == batch.InProgress:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// lastAttempt reports whether SQS moves the record to the dead-letter queue next.
func lastAttempt(r *batch.Result) bool {
	return !r.Outcome.Done() && r.MaxReceiveCount > 0 && r.Record.Attempt >= r.MaxReceiveCount
}
