package simulate

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// recorder writes a history. It is called from everywhere, also under the server's lock, and calls nothing itself.
type recorder struct {
	mu        sync.Mutex
	h         *History
	seq       int
	numbers   map[string]int         // of the plan's messages, by body
	byID      map[string]*Invocation // by request id
	byReceipt map[string]int         // numbers of messages, by receipt handle
	running   map[string]bool        // receipt handles that are being handled
	busy      int                    // invocations under way
	sources   map[string]bool        // names of the source queues
	left      int                    // messages that are in them
	latest    time.Time              // when something last happened
	given     int                    // messages that were received, unless by Lambda
	closed    bool                   // nothing more is noted
}

func newRecorder(p Plan) *recorder {
	r := &recorder{
		h:         &History{Plan: p, Began: time.Now(), Struck: map[string]int{}, Blocked: map[string]bool{}},
		numbers:   map[string]int{},
		byID:      map[string]*Invocation{},
		byReceipt: map[string]int{},
		running:   map[string]bool{},
		sources:   map[string]bool{},
	}
	for _, m := range p.Messages {
		r.numbers[m.body()] = m.Number
	}
	for _, q := range p.Queues {
		r.sources[q.Name] = true
	}
	return r
}

// moment is now; the caller holds the lock.
func (r *recorder) moment() Moment {
	r.seq++
	return Moment{At: time.Now(), Seq: r.seq}
}

func (r *recorder) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// struck notes that a fault struck, unless the history is being read already.
func (r *recorder) struck(what string) {
	r.locked(func() {
		if !r.closed {
			r.h.Struck[what]++
		}
	})
}

// observe is the server's Observe.
func (r *recorder) observe(e sqs.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.h.Events = append(r.h.Events, Event{e, r.moment()})
	if !r.sources[e.Queue] {
		return
	}
	r.latest = e.Time
	switch e.Kind {
	case sqs.Sent:
		r.left++
	case sqs.Received:
		r.byReceipt[e.ReceiptHandle] = r.numbers[e.Body]
		if r.h.Plan.Polls() {
			r.given++
		}
	case sqs.Deleted, sqs.Redriven, sqs.Expired:
		r.left--
	}
}

// numberOf is the number of the message of an entry; -1 if it is not known. The caller holds the lock.
func (r *recorder) numberOf(e Entry) int {
	n, known := r.byReceipt[e.Receipt]
	if e.Body != "" {
		n, known = r.numbers[e.Body]
	}
	if !known {
		return -1
	}
	return n
}

// began notes an invocation of the mapping of a queue, which begins when its handler has its turn.
func (r *recorder) began(queue Queue, told lambda.Invocation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := &Invocation{
		ID: told.RequestID, Function: queue.Function, Records: told.Records,
		Work: Work{Number: len(r.h.Invocations), Queue: queue.Name, Finished: map[string]int{}},
	}
	r.h.Invocations = append(r.h.Invocations, i)
	r.byID[i.ID] = i
	r.busy++
}

func (r *recorder) ended(told lambda.Ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.byID[told.RequestID]
	i.Ended, i.Result = r.moment(), told
	r.busy--
	r.latest = i.Ended.At
}

func (r *recorder) invocation(id string) *Invocation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// over reports whether the source queues are empty and nothing is under way.
func (r *recorder) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left == 0 && r.busy == 0
}

// isQuiet reports whether messages are left, and nothing has happened for a while.
func (r *recorder) isQuiet() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left > 0 && r.busy == 0 && time.Since(r.latest) >= settled
}

// steps is how far the history has come: the invocations, or what processes were given to handle.
func (r *recorder) steps() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.h.Invocations) + r.given
}

// hooks notes what the toolkit tells.
type hooks struct {
	*recorder
	world    *world
	env      *environment
	function Function
	called   atomic.Int64 // how often the slow one was
}

// block blocks in a call of a hook, if the plan says so; receipt is "" if it is not about a record.
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
	defer h.world.turns.wait(h.env.turn("hook" + receipt))
	timer := time.NewTimer(f.HookTakes)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.env.ctx.Done():
	case <-h.world.over:
	}
}

// hooks returns the hooks for a configuration.
func (h *hooks) hooks() batch.Hooks {
	all := batch.Hooks{
		Called: func(context.Context, batch.Call) { h.block("Called", "") }, Warned: func(context.Context, batch.Warning) { h.block("Warned", "") },
		RecordFinished: h.RecordFinished, BatchSettled: h.BatchSettled,
	}
	switch h.function.SlowHook { // without one there is less to call
	case "BatchContext":
		all.BatchContext = func(ctx context.Context, _ batch.BatchInfo, records []batch.Record) context.Context {
			receipt := ""
			if !records[0].ReceivedAt.IsZero() { // in a container it is about a record
				receipt = records[0].ReceiptHandle
			}
			h.block("BatchContext", receipt)
			return ctx
		}
	case "RecordContext":
		all.RecordContext = func(ctx context.Context, r *batch.Record) context.Context {
			h.block("RecordContext", r.ReceiptHandle)
			return ctx
		}
	}
	return all
}

func (h *hooks) RecordFinished(ctx context.Context, r batch.Result) {
	h.block("RecordFinished", r.Record.ReceiptHandle)
	h.note(ctx, func(w *Work) { w.Finished[r.Record.ReceiptHandle]++ })
}

func (h *hooks) BatchSettled(ctx context.Context, b batch.BatchInfo, results []batch.Result) {
	h.world.turns.wait(h.env.turn("BatchSettled" + requestID(ctx) + results[0].Record.ReceiptHandle))
	list := make([]Outcome, len(results))
	for k, r := range results {
		list[k] = Outcome{
			MessageID: r.Record.MessageID, Receipt: r.Record.ReceiptHandle, Attempt: r.Record.Attempt,
			Outcome: r.Outcome, FailedAt: r.Started.Add(r.Duration),
			VisibleIn: r.VisibleIn, VisibilitySet: r.VisibilitySet, DeadLetters: r.DeadLetterQueue,
			Lost: errors.Is(r.Err, longpoll.ErrLost), Aborted: errors.Is(r.Err, batch.ErrAborted),
		}
	}
	h.note(ctx, func(w *Work) {
		settled := h.env.rec.moment()
		for k := range list {
			list[k].Settled = settled
		}
		w.Results = append(w.Results, list...)
	})
	h.block("BatchSettled", "")
}

// note notes something of the process, or of the invocation that ctx belongs to.
func (h *hooks) note(ctx context.Context, f func(*Work)) {
	h.env.alive(func() {
		if p := h.env.process; p != nil {
			f(&p.Work)
		} else if i := h.byID[requestID(ctx)]; i != nil {
			f(&i.Work)
		}
	})
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
