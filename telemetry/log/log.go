// Package log writes the outcomes of records to a [slog.Logger]: a line for each record
// that did not succeed, one for the batch, and every warning. Package handler installs it
// by itself. To use it with a Poller or for a second log:
//
//	err := handler.Poll(ctx, h, handler.Config{Hooks: log.New(logger, log.Config{Every: time.Minute})})
//
// Every line has "logger":"sqsbatch", and "queue" with the queue's name if it is known.
// docs/observability/log.md lists the fields of each kind of line. The level shows the
// consequence:
//
//   - ERROR: the record was given up, or there is probably a bug.
//   - WARN: the record failed and comes back.
//   - INFO: normal operation.
//
// Bodies are not written unless [Config.BodyBytes] is set.
//
// If very many records fail, the first lines show the cause. The line for the batch, or for
// the batches of the interval, has the number of lines left out, so counts stay complete.
//
// Read the files in this order: log.go (which lines are written), line.go (a record's line,
// limits of its length, wrapped errors), sum.go (lines for an interval).
package log

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Config configures the log. The zero value is ready to use.
type Config struct {
	// Succeeded also writes a line for each record that succeeded, at level INFO, without a
	// limit on their number. Defaults to false: a success costs nothing.
	Succeeded bool

	// Every is the interval of summaries: one line for all batches of a queue in that time,
	// if there were any. Flush of the hooks writes the last one. [MaxLines] then applies to
	// the interval. Use Every if records are handled one by one, as in a container.
	// Defaults to 0: a line for each batch.
	Every time.Duration

	// BodyBytes is the number of bytes of a body to write, for records that failed or were
	// dead-lettered, dropped or abandoned. Bodies are often confidential, and the log is
	// not protected like the queue: check who can read it. With a long error or stack fewer
	// bytes are written, so that lines stay below 16 KiB. Defaults to 0: no body is
	// written.
	BodyBytes int
}

// MaxLines is the largest number of lines about records up to level WARN, and of lines above
// it: for each batch or, with [Config.Every], for each queue and interval. With Every it
// limits the warnings, too. The limit keeps the cost of the log low when very many records
// fail.
const MaxLines = 100

// writer writes the log of one process.
type writer struct {
	logger *slog.Logger
	opts   Config
	sums   sums
}

// New returns hooks that write to logger, or to slog.Default() if logger is nil.
func New(logger *slog.Logger, opts Config) batch.Hooks {
	if logger == nil {
		logger = slog.Default()
	}
	h := &writer{logger: logger.With("logger", "sqsbatch"), opts: opts, sums: sums{of: map[string]*queue{}}}
	return batch.Hooks{BatchSettled: h.batchSettled, Warned: h.warned, Flush: h.flush}
}

// batchSettled writes the lines of a batch.
func (h *writer) batchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	var counts counts
	var own bound // of this batch
	for i := range results {
		r := &results[i]
		if int(r.Outcome) < len(counts) {
			counts[r.Outcome]++
		}
		if !r.Outcome.OK() || h.opts.Succeeded {
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
	if !b.Started.IsZero() {
		line = append(line, ms("durationMs", time.Since(b.Started)))
	}
	if !b.Deadline.IsZero() {
		line = append(line, ms("remainingMs", time.Until(b.Deadline)))
	}
	h.logger.LogAttrs(ctx, level, "batch", line...)
}

// record writes a record's line if the level and the limit allow it, even if the methods of the
// record's error panic.
func (h *writer) record(ctx context.Context, r *batch.Result, own *bound) {
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
			within = own.allow(level)
		}
		if !within {
			return
		}
	}
	h.logger.LogAttrs(ctx, level, "record", h.attrs(r)...)
}

// warned writes a warning's line.
func (h *writer) warned(ctx context.Context, w batch.Warning) {
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

// levelOf returns ERROR for a record that sqsbatch gave up or SQS will give up next, and
// for a bug (a panic, a Goexit). It returns WARN for a record that comes back.
func levelOf(r *batch.Result) slog.Level {
	var panicked *batch.PanicError
	switch {
	case r.Outcome.OK():
		return slog.LevelInfo
	case r.Outcome == batch.DeadLettered, r.Outcome == batch.Dropped, r.Outcome == batch.Abandoned, lastAttempt(r),
		errors.As(r.Err, &panicked), errors.Is(r.Err, batch.ErrGoexit): // last: methods of the error may panic
		return slog.LevelError
	case errors.Is(r.Err, batch.ErrStopped):
		return slog.LevelDebug // the record waited for its turn, like one without a slot
	case r.Outcome == batch.Skipped, r.Outcome == batch.InProgress:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// lastAttempt reports whether SQS will move the record to the dead-letter queue next.
func lastAttempt(r *batch.Result) bool {
	return !r.Outcome.Done() && r.MaxReceiveCount > 0 && r.Record.Attempt >= r.MaxReceiveCount
}
