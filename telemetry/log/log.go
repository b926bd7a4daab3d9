// Package log writes what became of a batch's records to a [slog.Logger]: a
// line for each record that did not succeed, one for the batch, and every
// warning. It is a hook of package batch; package handler installs it.
//
// Every line has "logger":"sqsbatch", and "queue", the queue's name, where it is
// known. A record's line has the message "record" and messageId, attempt, outcome, durationMs, allowedMs (the time it was
// given), visibleInMs (when it comes back, if that was set), deadLetterQueue,
// maxReceiveCount, reason (the error), and stack (of a panic). The batch's line
// has the message "batch" ("batches", of each queue, see [Options]), records, a count for each outcome that occurred,
// durationMs and remainingMs. A warning is at level WARN, or ERROR if it is
// serious. Bodies are never written.
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
	// INFO. Defaults to false: a success costs nothing.
	Succeeded bool

	// Every sums up batches: there is at most one line for batches in that time,
	// and queue, with the counts since the one before, and [Hook.Flush] writes the last.
	// Defaults to 0: a line for each batch.
	Every time.Duration
}

// maxLines bounds the lines about records for one batch: in a storm the
// first ones tell the cause, and the batch's line has the counts.
const maxLines = 100

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
	lines, unlogged := 0, 0
	for i := range results {
		r := &results[i]
		counts[r.Outcome]++
		level := levelOf(r)
		if r.Outcome == batch.Succeeded && !h.opts.Succeeded || !h.logger.Enabled(ctx, level) {
			continue
		}
		if lines == maxLines && !h.opts.Succeeded {
			unlogged++
			continue
		}
		lines++
		h.logger.LogAttrs(ctx, level, "record", attrs(r)...)
	}
	if !h.logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	if h.opts.Every > 0 {
		if sum, due := h.sums.add(b.QueueARN, counts, h.opts.Every); due {
			h.logSum(ctx, b.QueueARN, sum)
		}
		return
	}
	line := counts.attrs(batch.QueueName(b.QueueARN))
	if unlogged > 0 {
		line = append(line, slog.Int("unlogged", unlogged))
	}
	line = append(line, ms("durationMs", time.Since(b.Started)))
	if !b.Times.Deadline.IsZero() {
		line = append(line, ms("remainingMs", time.Until(b.Times.Deadline)))
	}
	h.logger.LogAttrs(ctx, slog.LevelInfo, "batch", line...)
}

// Warned implements [batch.WarningHook].
func (h *Hook) Warned(ctx context.Context, w batch.Warning) {
	line := ofQueue(w.Queue)
	if w.MessageID != "" {
		line = append(line, slog.String("messageId", w.MessageID))
	}
	if w.Err != nil {
		line = append(line, slog.String("reason", w.Err.Error()))
	}
	level := slog.LevelWarn
	if w.Serious {
		level = slog.LevelError
	}
	h.logger.LogAttrs(ctx, level, w.Message, append(line, stack(w.Err)...)...)
}

// levelOf is by consequence: what was given up on or points to a bug is an
// error, what comes back a warning.
func levelOf(r *batch.Result) slog.Level {
	var panicked *batch.PanicError
	switch {
	case errors.Is(r.Err, batch.ErrStopped):
		return slog.LevelDebug // it waited for its turn, as others did for a slot
	case r.Outcome == batch.Succeeded, r.Outcome == batch.Skipped:
		return slog.LevelInfo
	case r.Outcome == batch.DeadLettered, r.Outcome == batch.Dropped, r.Outcome == batch.Abandoned, errors.As(r.Err, &panicked):
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
}

var countNames = [...]string{
	batch.Pending:      "pending",
	batch.Succeeded:    "succeeded",
	batch.Retry:        "retry",
	batch.DeadLettered: "deadLetter",
	batch.Dropped:      "dropped",
	batch.NotStarted:   "notStarted",
	batch.Skipped:      "skipped",
	batch.Abandoned:    "abandoned",
}

// ofQueue begins a line with a queue's name, if that is known.
func ofQueue(name string) []slog.Attr {
	line := make([]slog.Attr, 0, 12)
	if name != "" {
		line = append(line, slog.String("queue", name))
	}
	return line
}

func attrs(r *batch.Result) []slog.Attr {
	line := append(ofQueue(batch.QueueName(r.Record.QueueARN)),
		slog.String("messageId", r.Record.MessageID),
		slog.Int("attempt", r.Record.Attempt),
		slog.String("outcome", r.Outcome.String()),
	)
	if r.MaxReceiveCount > 0 {
		line = append(line, slog.Int("maxReceiveCount", r.MaxReceiveCount))
	}
	if !r.Started.IsZero() {
		line = append(line, ms("durationMs", r.Duration))
	}
	if r.Allowed > 0 {
		line = append(line, ms("allowedMs", r.Allowed))
	}
	if r.VisibilitySet {
		line = append(line, ms("visibleInMs", r.VisibleIn))
	}
	if r.DeadLetterQueue != "" {
		line = append(line, slog.String("deadLetterQueue", r.DeadLetterQueue))
	}
	if r.Err != nil {
		line = append(line, slog.String("reason", r.Err.Error()))
	}
	return append(line, stack(r.Err)...)
}

func stack(err error) []slog.Attr {
	var panicked *batch.PanicError
	if errors.As(err, &panicked) {
		return []slog.Attr{slog.String("stack", string(panicked.Stack))}
	}
	return nil
}

// ms is a duration in milliseconds, to a tenth of one.
func ms(key string, d time.Duration) slog.Attr {
	return slog.Float64(key, float64(d.Round(100*time.Microsecond))/float64(time.Millisecond))
}
