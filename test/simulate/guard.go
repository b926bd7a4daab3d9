package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
)

// Guard is the idempotency of a function. All processes of a history share one store.
type Guard struct {
	On bool
	// What follows is idempotency.Config's. With a Prefix the function's queues share their keys.
	Prefix        string
	Lease, Grace  time.Duration
	KeepPermanent bool
}

// key identifies the work of a message: copies have the same.
func (m Message) key() string { return strconv.Itoa(cmp.Or(m.Key, m.Number+1)) }

// keyOf is a message's key as it is stored. Those of queues are apart, where they are not shared.
func (p *Plan) keyOf(m Message) string {
	q := p.Queues[m.Queue]
	return cmp.Or(p.Functions[q.Function].Guard.Prefix, q.Name) + "#" + m.key()
}

// guard is the function's middleware.
func (u *user) guard(f Function) func(batch.Handler) batch.Handler {
	cfg := idempotency.Config{
		Key: func(_ context.Context, r batch.Record) (string, error) {
			return u.w.plan.message(u.numbers[r.Body]).key(), nil
		},
		Prefix: f.Guard.Prefix, Hash: idempotency.Plain, Lease: f.Guard.Lease, Grace: f.Guard.Grace, KeepPermanent: f.Guard.KeepPermanent,
	}
	middleware := idempotency.New(&wayToStore{u.w, u.env}, cfg)
	return func(next batch.Handler) batch.Handler { return mutated(u.w.mutant.Guard, middleware(next)) }
}

// Task is one call of a guarded function: work that was let in.
type Task struct {
	*Handling
	Key      string
	Started  Moment
	Canceled Moment // when its context ended, before it did
	Ended    Moment
	End      End
}

// over is when work on a task had ended, if its handler follows its context.
func (t *Task) over() Moment {
	first := t.Ended
	for _, m := range []Moment{t.Canceled, t.work().Killed} {
		if m.Before(first) {
			first = m
		}
	}
	return first
}

// handlingKey is the key of a record's handling in its context.
type handlingKey struct{}

// worked is middleware that notes the calls that the guard lets in.
func (u *user) worked(next batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		var t *Task
		u.env.alive(func() {
			if h, ok := ctx.Value(handlingKey{}).(*Handling); ok {
				t = &Task{Handling: h, Key: u.w.plan.keyOf(u.w.plan.message(u.numbers[r.Body])), Started: u.moment()}
				u.h.Tasks = append(u.h.Tasks, t)
			}
		})
		if t == nil {
			return errDead
		}
		defer context.AfterFunc(ctx, func() {
			u.locked(func() {
				if !t.Ended.Came() {
					t.Canceled = u.moment()
					t.Handling.TakenOver = errors.Is(context.Cause(ctx), idempotency.ErrTakenOver)
				}
			})
		})()
		return handle(ctx, r, next, func(end End, _ error) {
			u.env.alive(func() { t.Ended, t.End = u.moment(), end })
		})
	})
}

// guard draws a function's idempotency; takenOut tells that what always fails for good leaves its queues.
func (g generator) guard(f Function, number int, takenOut bool) Guard {
	return Guard{
		On:            true,
		Prefix:        sometimes(g, 2, fmt.Sprint("function-", number)),
		Lease:         sometimes(g, 3, time.Second, 3*time.Second, 20*time.Second),
		Grace:         sometimes(g, 3, time.Millisecond, 100*time.Millisecond, f.Timeout),
		KeepPermanent: takenOut && g.oneIn(4),
	}
}

// guards has some functions be guarded, and sends copies of their messages.
func (g generator) guards(p *Plan) {
	if g.oneIn(2) {
		return
	}
	for i := range p.Functions {
		// A failure that is kept is never handled again: something must take it out.
		takenOut := !slices.ContainsFunc(p.Queues, func(q Queue) bool { return q.Function == i && !p.endsMalformed(q, p.Functions[i]) })
		p.Functions[i].Guard = g.guard(p.Functions[i], i, takenOut)
	}
	trouble, each := pick(g, 0, 10, 30, 70), pick(g, 1, 2, 4)
	for _, m := range p.Messages[:min(len(p.Messages), 40)] {
		for g.oneIn(1+each) && len(p.Messages) < 100 {
			p.Messages = append(p.Messages, g.copyOf(p, m, trouble))
		}
	}
	slices.SortStableFunc(p.Messages, func(a, b Message) int { return cmp.Compare(a.At, b.At) })
	if !g.oneIn(3) {
		for range 1 + g.IntN(3) {
			p.StoreFaults = append(p.StoreFaults, g.storeFault())
		}
	}
	p.StoreTakes = sometimes(g, 2, time.Millisecond, 10*time.Millisecond, 30*time.Millisecond)
}

// copyOf is the same work once more, at once or later, also in another group or another queue of the function.
func (g generator) copyOf(p *Plan, m Message, trouble int) Message {
	queue := m.Queue
	f := p.Functions[p.Queues[queue].Function]
	if other := g.IntN(len(p.Queues)); f.Guard.Prefix != "" && p.Queues[other].Function == p.Queues[queue].Function {
		queue = other
	}
	at := m.At + pick(g, 0, 0, 20*time.Millisecond, time.Second, f.Timeout/2, f.Timeout, 20*time.Second)
	c := g.message(p, len(p.Messages), at, queue, trouble)
	c.Malformed, c.Key = false, cmp.Or(m.Key, m.Number+1)
	if c.Group != "" && c.Queue == m.Queue && g.oneIn(3) {
		c.Group = m.Group
	}
	return c
}
