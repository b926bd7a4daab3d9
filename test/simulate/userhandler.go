package simulate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// user is the function of a user: it does what the plan says.
type user struct {
	*recorder
	w    *world
	env  *environment
	acts map[string]int // of functions of many: how often each message was written since its last handling; guarded by the recorder's lock
}

// handler returns what is given to the toolkit.
func (u *user) handler(f Function) batch.Handler {
	switch {
	case f.Guard.On && f.Bulk > 0:
		return batch.Chain(u.inBulk(f, nil), u.watch, u.guard(f), u.worked)
	case f.Guard.On:
		return batch.Chain(u.single(f), u.watch, u.guard(f), u.worked)
	case f.Bulk > 0:
		return u.inBulk(f, u.watch)
	}
	return batch.Chain(u.single(f), u.watch)
}

// single is the function of a user who handles one record at a time.
func (u *user) single(f Function) batch.Handler {
	var h batch.Handler = batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		return u.do(ctx, u.numbers[r.Body], r.Attempt)
	})
	if f.JSON {
		h = batch.JSON(func(ctx context.Context, order struct{ N int }) error {
			r, ok := batch.RecordFrom(ctx)
			if !ok {
				return errors.New("the context has no record")
			}
			return u.do(ctx, order.N, r.Attempt)
		})
	}
	return h
}

// watch is middleware that notes each call.
func (u *user) watch(next batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		if _, own := runner.From(ctx); !own {
			return u.watchBehind(ctx, r, next)
		}
		u.w.turns.wait(u.env.turn(r.ReceiptHandle + "starts"))
		h := u.start(ctx, r)
		if h == nil {
			return errDead
		}
		if h.Process != nil {
			defer context.AfterFunc(ctx, func() {
				u.w.turns.wait(u.env.turn(r.ReceiptHandle + "cancel"))
				u.env.alive(func() {
					if !h.Ended.Came() {
						h.Canceled = u.moment()
					}
				})
			})()
		}
		before := 0
		u.locked(func() { before = u.acts[r.MessageID] })
		err := handle(context.WithValue(ctx, handlingKey{}, h), r, next, func(end End, err error) {
			u.w.turns.wait(u.env.turn(h.Receipt + "returns"))
			u.locked(func() { delete(u.running, h.Receipt) })
			u.env.alive(func() { h.Ended, h.End, h.Err = u.moment(), end, err })
		})
		u.locked(func() {
			h.Told = before > 0 && u.acts[r.MessageID] == before
			delete(u.acts, r.MessageID)
		})
		return err
	})
}

// watchBehind is watch for a record that a bulk handler begins before its turn: its outcome is there
// as soon as its turn comes.
func (u *user) watchBehind(ctx context.Context, r batch.Record, next batch.Handler) error {
	err := next.Handle(ctx, r)
	written := false
	if u.locked(func() { written = u.acts[r.MessageID] > 0 }); !written || fmt.Sprint(err) == "bulk: the record was only decoded, since its turn did not come" { // an error's own method may panic
		return err
	}
	u.w.turns.wait(u.env.turn(r.ReceiptHandle + "starts behind"))
	h := u.start(ctx, r)
	if h == nil {
		return errDead
	}
	end := endOf(err)
	u.locked(func() {
		delete(u.running, h.Receipt)
		h.Ended, h.End, h.Err = u.moment(), end, err
		h.Allowed, h.Behind = h.Ended.At, true
		h.Told = u.acts[r.MessageID] > 0
		delete(u.acts, r.MessageID)
	})
	return err
}

// handle calls a handler, and tells how it ends, also if it does not return.
func handle(ctx context.Context, r batch.Record, h batch.Handler, ended func(End, error)) (err error) {
	end := Exited
	defer func() {
		v := recover()
		if v != nil {
			end = Panicked
		}
		ended(end, err)
		if v != nil {
			panic(v)
		}
	}()
	err = h.Handle(ctx, r)
	end = endOf(err)
	return err
}

func (u *user) start(ctx context.Context, r batch.Record) *Handling {
	u.mu.Lock()
	defer u.mu.Unlock()
	number, known := u.numbers[r.Body]
	if !known {
		number = -1
	}
	i, p := u.byID[requestID(ctx)], u.env.process
	if i == nil && p == nil || u.env.isDead() {
		return nil
	}
	h := &Handling{
		Invocation: i, Process: p, Number: number, MessageID: r.MessageID, Receipt: r.ReceiptHandle,
		Group: r.GroupID, Attempt: r.Attempt, Started: u.moment(),
	}
	h.Allowed, _ = ctx.Deadline()
	u.h.Handlings = append(u.h.Handlings, h)
	u.running[r.ReceiptHandle] = true
	return h
}

func endOf(err error) End {
	if err == nil {
		return Succeeded
	}
	switch v := batch.VerdictOf(err); {
	case v.Permanent:
		return ForGood
	case v.Outcome == batch.Expired:
		return Ended
	case v.Outcome == batch.Duplicate:
		return Repeated
	case v.Outcome == batch.InProgress:
		return Waited
	}
	return Failed
}

// do performs the message's act for an attempt.
func (u *user) do(ctx context.Context, number, attempt int) error {
	acts := u.w.plan.message(number).Acts
	if attempt < 1 || attempt > len(acts) || u.w.healed.Load() {
		return nil
	}
	a := acts[attempt-1]
	if a.Takes > 0 {
		timer := time.NewTimer(a.Takes)
		defer timer.Stop()
		var done <-chan struct{}
		if a.Heeds {
			done = ctx.Done()
		}
		select {
		case <-timer.C:
		case <-u.env.ctx.Done():
		case <-done:
		}
		u.w.turns.wait(u.env.turn(fmt.Sprint(number, "acts")))
		switch {
		case u.env.isDead():
			return errDead
		case a.Heeds && ctx.Err() != nil && a.Verb == Late:
			return nil
		case a.Heeds && ctx.Err() != nil:
			return fmt.Errorf("gave up: %w", ctx.Err())
		}
	}
	return a.end()
}

// nilError is an error whose methods panic when it is nil.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

var errHandler = errors.New("the handler failed")

// end returns as the verb says, or does not return.
func (a Act) end() error {
	switch a.Verb {
	case OK, Late:
		return nil
	case Permanent:
		return fmt.Errorf("wrapped: %w", batch.Permanent(errHandler))
	case RetryAfter:
		return fmt.Errorf("wrapped: %w", batch.RetryAfter(a.RetryAfter, errHandler))
	case Abort:
		return fmt.Errorf("wrapped: %w", batch.Abort(a.RetryAfter, errHandler))
	case AbortAfter:
		return errors.Join(batch.RetryAfter(2*a.RetryAfter+time.Second, nil), batch.Abort(a.RetryAfter, errHandler))
	case PermanentAfter:
		return errors.Join(batch.RetryAfter(a.RetryAfter, nil), batch.Permanent(nil))
	case Panic:
		panic("the handler panicked")
	case PanicError:
		var none *Act
		_ = none.Verb // a runtime error
	case NilError:
		var none *nilError
		return none
	case Goexit:
		runtime.Goexit()
	case Expired:
		return fmt.Errorf("%w: 3 s late", batch.ErrExpired)
	}
	return errHandler
}

// message returns the message of a number. Shrunk plans have gaps.
func (p *Plan) message(number int) Message {
	for _, m := range p.Messages {
		if m.Number == number {
			return m
		}
	}
	return Message{Number: number}
}

// inBulk is the function of a user who writes many records at once: each item does
// what the plan says, side by side.
// unwrap is middleware inside of it; nil if there is none.
func (u *user) inBulk(f Function, unwrap func(batch.Handler) batch.Handler) batch.Handler {
	cfg := bulk.Config{MaxItems: f.Bulk, Parallel: bulkConcurrency / f.Bulk, Unwrap: unwrap}
	if f.JSON {
		return bulk.JSON(func(ctx context.Context, items []bulk.Item[struct{ N int }]) error {
			return doAll(u, items, func(i int) error { return u.do(ctx, items[i].Value.N, items[i].Record.Attempt) })
		}, cfg)
	}
	return bulk.New(func(_ context.Context, r batch.Record) (int, error) { return u.numbers[r.Body], nil },
		func(ctx context.Context, items []bulk.Item[int]) error {
			return doAll(u, items, func(i int) error { return u.do(ctx, items[i].Value, items[i].Record.Attempt) })
		}, cfg)
}

// bulkConcurrency is what a bulk handler asks for: the default of every other.
const bulkConcurrency = 10

// doAll fails the items whose act does not return nil.
func doAll[T any](u *user, items []bulk.Item[T], do func(i int) error) error {
	var all sync.WaitGroup
	for i := range items {
		u.locked(func() { u.acts[items[i].Record.MessageID]++ })
		all.Go(func() {
			err := error(batch.ErrGoexit)
			defer func() {
				if v := recover(); v != nil {
					err = &batch.PanicError{Value: v}
				}
				if err != nil {
					items[i].Fail(err)
				}
			}()
			err = do(i)
		})
	}
	all.Wait()
	return nil
}
