package simulate

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/longpoll"
)

// hooks notes what the toolkit tells.
type hooks struct {
	*recorder
	world    *world
	env      *environment
	function Function
	called   atomic.Int64 // how often the slow one was
}

// block blocks in a call of a hook, about a record if there is a receipt, if the plan
// says so.
func (h *hooks) block(hook, receipt string) {
	f := h.function
	if f.SlowHook != hook || h.world.healed.Load() || (h.called.Add(1)-1)%int64(max(1, f.HookTakesEach)) != 0 {
		return
	}
	h.locked(func() {
		if !h.closed {
			h.h.Struck["slow hook of "+hook]++
			h.h.Blocked[receipt] = true
		}
	})
	h.env.blocked.Add(1)
	defer h.env.blocked.Add(-1)
	timer := time.NewTimer(f.HookTakes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.env.dead:
	case <-h.world.over:
	}
}

func (h *hooks) RecordStarted(_ context.Context, r *batch.Record) {
	h.block("RecordStarted", r.ReceiptHandle)
}
func (h *hooks) Called(context.Context, batch.Call)    { h.block("Called", "") }
func (h *hooks) Warned(context.Context, batch.Warning) { h.block("Warned", "") }

func (h *hooks) BatchStarted(context.Context, batch.BatchInfo) { h.block("BatchStarted", "") }

func (h *hooks) RecordFinished(ctx context.Context, r batch.Result) {
	h.block("RecordFinished", r.Record.ReceiptHandle)
	h.note(ctx, func(w *Work) { w.Finished[r.Record.ReceiptHandle]++ })
}

func (h *hooks) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	list := make([]Outcome, len(results))
	for k, r := range results {
		list[k] = Outcome{
			MessageID: r.Record.MessageID, Receipt: r.Record.ReceiptHandle, Attempt: r.Record.Attempt,
			Outcome: r.Outcome, FailedAt: r.Started.Add(r.Duration),
			VisibleIn: r.VisibleIn, VisibilitySet: r.VisibilitySet, DeadLetters: r.DeadLetterQueue,
			Lost: errors.Is(r.Err, longpoll.ErrLost), Aborted: errors.Is(r.Err, batch.ErrAborted),
		}
	}
	h.note(ctx, func(w *Work) { w.Results = append(w.Results, list...) })
	h.block("BatchSettled", "")
}

// note notes something of the process, or of the invocation that ctx belongs to.
func (h *hooks) note(ctx context.Context, f func(*Work)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, p := h.byID[requestID(ctx)], h.env.process
	switch {
	case h.env.isDead():
	case p != nil:
		f(&p.Work)
	case i != nil:
		f(&i.Work)
	}
}

// logs reads the counts out of the log's line about a batch.
type logs struct{ *hooks }

func (l logs) Enabled(context.Context, slog.Level) bool { return true }
func (l logs) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l logs) WithGroup(string) slog.Handler            { return l }

func (l logs) Handle(ctx context.Context, r slog.Record) error {
	if r.Message != "batch" {
		return nil
	}
	l.note(ctx, func(w *Work) {
		w.Logged = map[string]int64{}
		r.Attrs(func(a slog.Attr) bool {
			if a.Value.Kind() == slog.KindInt64 {
				w.Logged[a.Key] = a.Value.Int64()
			}
			return true
		})
	})
	return nil
}
