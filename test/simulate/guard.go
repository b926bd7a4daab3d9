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
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/test/random"
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
	middleware := idempotency.New(u.w.wayToStore(u.env), cfg)
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
func (t *Task) over() Moment { return earliest(t.Ended, t.Canceled, t.work().Killed) }

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
			u.w.turns.wait(u.env.turn(r.ReceiptHandle + "cancel task"))
			u.locked(func() {
				if !t.Ended.Came() {
					t.Canceled = u.moment()
					t.Handling.TakenOver = errors.Is(context.Cause(ctx), idempotency.ErrTakenOver)
				}
			})
		})()
		return handle(ctx, r, next, func(end End, _ error) {
			u.w.turns.wait(u.env.turn(r.ReceiptHandle + "has worked"))
			u.env.alive(func() {
				t.Ended, t.End = u.moment(), end
				if end == Failed && errors.Is(context.Cause(ctx), idempotency.ErrTakenOver) { // it may have returned first
					t.Handling.TakenOver = true
				}
			})
		})
	})
}

// guard draws a function's idempotency; takenOut tells that what always fails for good leaves its queues.
func (g generator) guard(f Function, number int, takenOut bool) Guard {
	return Guard{
		On:            true,
		Prefix:        random.Sometimes(g, 2, fmt.Sprint("function-", number)),
		Lease:         random.Sometimes(g, 3, time.Second, 3*time.Second, 20*time.Second),
		Grace:         random.Sometimes(g, 3, time.Millisecond, 100*time.Millisecond, f.Timeout),
		KeepPermanent: takenOut && g.OneIn(4),
	}
}

// guards has some functions be guarded, and sends copies of their messages.
func (g generator) guards(p *Plan) {
	if g.OneIn(2) {
		return
	}
	for i := range p.Functions {
		// A failure that is kept is never handled again: something must take it out.
		takenOut := !slices.ContainsFunc(p.Queues, func(q Queue) bool { return q.Function == i && !p.endsMalformed(q, p.Functions[i]) })
		p.Functions[i].Guard = g.guard(p.Functions[i], i, takenOut)
	}
	trouble, each := random.Pick(g, 0, 10, 30, 70), random.Pick(g, 1, 2, 4)
	for _, m := range p.Messages[:min(len(p.Messages), 40)] {
		for g.OneIn(1+each) && len(p.Messages) < 100 {
			p.Messages = append(p.Messages, g.copyOf(p, m, trouble))
		}
	}
	slices.SortStableFunc(p.Messages, func(a, b Message) int { return cmp.Compare(a.At, b.At) })
	if !g.OneIn(3) {
		for range 1 + g.IntN(3) {
			p.StoreFaults = append(p.StoreFaults, g.storeFault())
		}
	}
	p.StoreTakes = random.Sometimes(g, 2, time.Millisecond, 10*time.Millisecond, 30*time.Millisecond)
}

// copyOf is the same work once more, at once or later, also in another group or another queue of the function.
func (g generator) copyOf(p *Plan, m Message, trouble int) Message {
	queue := m.Queue
	f := p.Functions[p.Queues[queue].Function]
	if other := g.IntN(len(p.Queues)); f.Guard.Prefix != "" && p.Queues[other].Function == p.Queues[queue].Function {
		queue = other
	}
	at := m.At + random.Pick(g, 0, 0, 20*time.Millisecond, time.Second, f.Timeout/2, f.Timeout, 20*time.Second)
	c := g.message(p, len(p.Messages), at, queue, trouble)
	c.Malformed, c.Key = false, cmp.Or(m.Key, m.Number+1)
	if c.Group != "" && c.Queue == m.Queue && g.OneIn(3) {
		c.Group = m.Group
	}
	return c
}

// StoreFault is what goes wrong with calls to the idempotency store.
type StoreFault struct {
	Kind      StoreFaultKind
	Operation string        // Claim, Renew, Complete or Release
	Skip      int           // calls that pass before the first that is struck
	Times     int           // how many are struck; 0: all until Heal
	Takes     time.Duration // of AnswersLate and ArrivesLate
}

// StoreFaultKind is what goes wrong with a call to the store.
type StoreFaultKind string

const (
	StoreRefuses StoreFaultKind = "refused"      // it fails, and is not done
	LosesAnswer  StoreFaultKind = "lost answer"  // it is done, and fails
	StoreHangs   StoreFaultKind = "hang"         // it is not done, and has no answer before its context ends
	StoreSilent  StoreFaultKind = "silence"      // it is done, and has no answer before its context ends
	AnswersLate  StoreFaultKind = "late answer"  // it is done, and answered later
	ArrivesLate  StoreFaultKind = "late arrival" // it is done later, also when its caller waits no longer
	DiesFirst    StoreFaultKind = "dies before"  // the process dies instead of it
	DiesThen     StoreFaultKind = "dies after"   // the process dies when it is done
)

var (
	storeFaultKinds = []StoreFaultKind{StoreRefuses, LosesAnswer, StoreHangs, StoreSilent, AnswersLate, ArrivesLate, DiesFirst, DiesThen}
	storeOperations = []string{"Claim", "Renew", "Complete", "Release"}
)

func (g generator) storeFault() StoreFault {
	f := StoreFault{Kind: random.Pick(g, storeFaultKinds...), Operation: random.Pick(g, append(storeOperations, "Renew", "Renew", "Renew")...), Skip: random.Sometimes(g, 2, 1, 2, 5), Times: random.Pick(g, 0, 1, 1, 3)}
	switch f.Kind {
	case AnswersLate, ArrivesLate:
		f.Takes = random.Pick(g, 300*time.Millisecond, 2*time.Second, 7*time.Second, 40*time.Second)
	case DiesFirst, DiesThen:
		f.Times = random.Pick(g, 1, 1, 2)
	case StoreRefuses, LosesAnswer:
		if f.Operation == "Claim" && f.Times == 0 {
			f.Times = 10 // a record that comes back at once would go round and round in no time
		}
	}
	return f
}

// StoreCall is one call to the idempotency store.
type StoreCall struct {
	Operation  string
	Key, Owner string
	Receipt    string // of the record that it is about
	Lease      time.Duration
	Began      Moment
	Done       Moment // when it took effect, or found that it has none
	Ended      Moment // when it was answered
	State      idempotency.State
	Refusal    error // the store's own answer, ErrNotOwner
	Err        error // what the caller was answered
	Struck     StoreFaultKind
}

var errStore = errors.New("the store is down")

// wayToStore is an environment's way to the store: calls may break on it, and the environment may die in them.
func (w *world) wayToStore(env *environment) idempotency.Store {
	return &random.Around{Store: w.store, Call: func(ctx context.Context, c random.StoreCall, do func(context.Context) (idempotency.Found, error)) (none idempotency.Found, err error) {
		r, _ := batch.RecordFrom(ctx)
		who := env.turn(c.Operation + c.Key + " " + r.ReceiptHandle)
		w.turns.wait(who)
		if err := ctx.Err(); err != nil {
			return none, err
		}
		if env.isDead() {
			return none, errDead
		}
		call := &StoreCall{Operation: c.Operation, Key: c.Key, Owner: c.Owner, Lease: c.Lease, Receipt: r.ReceiptHandle}
		fault := strike(w, w.plan.StoreFaults, w.storeFaults, func(f StoreFault) (skip, times int, may bool) {
			return f.Skip, f.Times, f.Operation == call.Operation
		})
		call.Struck = fault.Kind
		w.rec.locked(func() {
			call.Began = w.rec.moment()
			if !w.rec.closed {
				w.rec.h.StoreCalls = append(w.rec.h.StoreCalls, call)
			}
		})
		if fault.Kind != "" {
			w.rec.struck(string(fault.Kind) + " of " + call.Operation)
		}
		var found idempotency.Found // if err is nil: a call that arrives late is not awaited
		err = env.broken(ctx, call, fault, w.plan.StoreTakes, func() error {
			var err error
			w.rec.locked(func() {
				found, err = do(context.WithoutCancel(ctx))
				call.State, call.Done, call.Refusal = found.State, w.rec.moment(), err
			})
			return err
		})
		w.turns.wait(who + " is answered")
		if env.isDead() {
			return none, errDead
		}
		w.rec.locked(func() { call.Ended, call.Err = w.rec.moment(), err })
		if err != nil {
			return none, err
		}
		return found, nil
	}}
}

// broken has a call go its way as a fault has it.
func (e *environment) broken(ctx context.Context, call *StoreCall, fault StoreFault, takes time.Duration, do func() error) error {
	if takes > 0 {
		sleep.For(ctx, takes)
		e.turns.wait(e.turn(call.Operation + call.Key + call.Receipt + "arrives"))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	switch fault.Kind {
	case StoreRefuses:
		return errStore
	case StoreHangs:
		sleep.For(ctx, untilHeal)
		return ctx.Err()
	case ArrivesLate:
		done := make(chan error, 1)
		time.AfterFunc(fault.Takes, func() {
			e.turns.wait(e.turn(call.Operation + call.Key + call.Receipt + "arrives late"))
			done <- do()
		})
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	case DiesFirst:
		e.killAt(BeforeCall, call.Operation)
		return errDead
	}
	err := do()
	switch fault.Kind {
	case LosesAnswer:
		return errStore
	case StoreSilent:
		sleep.For(ctx, untilHeal)
		return ctx.Err()
	case AnswersLate:
		if !sleep.For(ctx, fault.Takes) {
			return ctx.Err()
		}
	case DiesThen:
		e.killAt(AfterCall, call.Operation)
		return errDead
	}
	return err
}
