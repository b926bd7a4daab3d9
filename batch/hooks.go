package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/inner"
)

// A hook is any value with one or more of the methods of the interfaces below,
// and of [CallHook], [PollHook] and [FlushHook].
// Hooks are called on the path of the records: they must not block, and must
// be safe for several goroutines. A hook that panics is contained; what it
// panicked with goes to the warning hooks.
//
// On Lambda a hook that blocks is waited for, before it costs the response:
//
//   - RecordFinished, and Warned that none was started, for half of the
//     time that is left until [Times].SettleBy;
//   - BatchSettled, Called, and Warned of what settling met, for half of the time
//     that is left until the deadline; Flush as [FlushHook] says.
//
// After that they are told beside the response, and a warning says so. Not bounded
// are BatchContext and BatchStarted: nothing is handled before they return. One
// that blocks in RecordContext or RecordStarted is its record's handler that blocks:
// the record is abandoned.
//
// In a container BatchContext, BatchStarted and the hooks for records are called on the
// goroutine of a record, and take its slot for as long as they block; the others on
// goroutines of their own. /livez fails when one takes more than 30 s.

// BatchInfo describes a batch that begins.
type BatchInfo struct {
	Records int
	// QueueARN is the queue of the batch's first record.
	QueueARN string
	Started  time.Time
	Times    Times
}

// BatchStartedHook is told that a batch begins, before its first record.
type BatchStartedHook interface {
	BatchStarted(ctx context.Context, b BatchInfo)
}

// BatchSettledHook is told that a batch is over: every record has its outcome,
// and what could be settled is. The results are in the order of the records
// and must not be kept or changed.
type BatchSettledHook interface {
	BatchSettled(ctx context.Context, b BatchInfo, results []Result)
}

// RecordStartedHook is told that a record's handler is about to be called.
type RecordStartedHook interface {
	RecordStarted(ctx context.Context, r *Record)
}

// RecordFinishedHook is told that a record's handler returned or was
// abandoned, or that the record was skipped. The outcome is the handler's: a
// permanent failure is Retry here, and DeadLettered in [BatchSettledHook] if
// that came true, unless it was dead-lettered in place: a FIFO record that others wait for. It is not told
// of records that were not started.
type RecordFinishedHook interface {
	RecordFinished(ctx context.Context, r Result)
}

// WarningHook is told what an operator should know: something was refused,
// is misconfigured or about to go wrong. No record is lost by it.
type WarningHook interface {
	Warned(ctx context.Context, w Warning)
}

// Warning is something that an operator should know.
type Warning struct {
	// Message says what happened and what to do.
	Message string
	// MessageID is the record it is about; empty when it is about none in particular.
	MessageID string
	// Queue is the name of the queue it is about; empty when that is not known.
	Queue string
	// Err is the cause; may be nil.
	Err error
	// Info is set when nothing is wrong: it is said once how something was set up.
	// Package telemetry/log writes it at level INFO; it does not count as a warning.
	Info bool
	// Serious is set when somebody should look now: records are held up, or
	// handled in vain, and time alone has not mended it. Package telemetry/log
	// writes such a warning at level ERROR.
	Serious bool
}

// Hooks is a set of hooks, sorted by what they want to be told. A nil *Hooks has none.
type Hooks struct {
	batchStarted   []BatchStartedHook
	batchSettled   []BatchSettledHook
	recordStarted  []RecordStartedHook
	recordFinished []RecordFinishedHook
	warned         []WarningHook
	batchContext   []BatchContextHook
	recordContexts []RecordContextHook
	called         []CallHook
	polling        []PollHook
	flush          []FlushHook
}

// NewHooks sorts hooks. It returns an error that names each which has none of
// the methods of a hook, or whose method Validate() error returns one: what was
// made in one line is validated here.
func NewHooks(hooks ...any) (*Hooks, error) {
	h := &Hooks{}
	var errs []error
	for i, hook := range hooks {
		if err := inner.Validate(hook); err != nil {
			errs = append(errs, fmt.Errorf("batch: Hooks[%d]: %w", i, err))
		}
		n := collect(&h.batchStarted, hook) + collect(&h.batchSettled, hook) +
			collect(&h.recordStarted, hook) + collect(&h.recordFinished, hook) + collect(&h.warned, hook) +
			collect(&h.batchContext, hook) + collect(&h.recordContexts, hook) +
			collect(&h.called, hook) + collect(&h.polling, hook) + collect(&h.flush, hook)
		if n == 0 {
			errs = append(errs, fmt.Errorf("batch: Hooks[%d] is a %T, which has none of the hooks' methods (see batch.BatchStartedHook)", i, hook))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return h, nil
}

func collect[T any](to *[]T, hook any) int {
	if h, ok := hook.(T); ok {
		*to = append(*to, h)
		return 1
	}
	return 0
}

// BatchStarted tells the hooks that a batch begins.
func (h *Hooks) BatchStarted(ctx context.Context, b BatchInfo) {
	if h != nil {
		each(ctx, h, b.QueueARN, h.batchStarted, func(hook BatchStartedHook) { hook.BatchStarted(ctx, b) })
	}
}

// BatchSettled tells the hooks that a batch is over.
func (h *Hooks) BatchSettled(ctx context.Context, b BatchInfo, results []Result) {
	if h != nil {
		each(ctx, h, b.QueueARN, h.batchSettled, func(hook BatchSettledHook) { hook.BatchSettled(ctx, b, results) })
	}
}

// Warn tells the hooks of a warning.
func (h *Hooks) Warn(ctx context.Context, w Warning) {
	if h != nil {
		each(ctx, nil, "", h.warned, func(hook WarningHook) { hook.Warned(ctx, w) })
	}
}

// WantsBatch reports whether a hook is told, or asked, when a batch begins.
func (h *Hooks) WantsBatch() bool { return len(h.batchStarted)+len(h.batchContext) > 0 }

// WantsStarted reports whether a hook is told, or asked, before a handler is called.
func (h *Hooks) WantsStarted() bool { return len(h.recordStarted)+len(h.recordContexts) > 0 }

// RecordStarted tells the hooks that a record's handler is about to be called.
func (h *Hooks) RecordStarted(ctx context.Context, r *Record) {
	each(ctx, h, r.QueueARN, h.recordStarted, func(hook RecordStartedHook) { hook.RecordStarted(ctx, r) })
}

// WantsFinished reports whether a hook is told of records' outcomes.
func (h *Hooks) WantsFinished() bool { return len(h.recordFinished) > 0 }

// RecordFinished tells the hooks of a record's outcome.
func (h *Hooks) RecordFinished(ctx context.Context, r Result) {
	each(ctx, h, r.Record.QueueARN, h.recordFinished, func(hook RecordFinishedHook) { hook.RecordFinished(ctx, r) })
}

// each calls the hooks one by one; what a hook panics with goes to report's
// warnings, as something about the queue with an ARN.
func each[T any](ctx context.Context, report *Hooks, arn string, hooks []T, call func(T)) {
	for _, hook := range hooks {
		func() {
			defer func() {
				if v := recover(); v != nil {
					report.Warn(ctx, hookPanicked(hook, arn, &PanicError{Value: v, Stack: debug.Stack()}))
				}
			}()
			call(hook)
		}()
	}
}

func hookPanicked(hook any, arn string, err *PanicError) Warning {
	return Warning{Queue: QueueName(arn), Message: fmt.Sprintf("a hook of type %T panicked", hook), Err: err}
}
