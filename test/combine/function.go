package combine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/sender"
)

// handler is the function of a user, with the plan's parts around it.
func (e *env) handler() batch.Handler {
	h := e.around(e.w.plan.Parts, func() batch.Handler { return batch.JSON(e.single) })
	if len(e.w.plan.Parts) > 0 && e.w.plan.Parts[0] == "bulk" {
		return h // it takes a FIFO group into one chunk only if the toolkit calls it directly
	}
	return batch.Chain(h, e.watch)
}

// watch notes which records are done for the toolkit.
func (e *env) watch(next batch.Handler) batch.Handler {
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		err := next.Handle(ctx, r)
		if err == nil || batch.VerdictOf(err).Outcome.OK() {
			e.note(Entry{Kind: Finished, Message: e.w.number(r.MessageID)})
		}
		return err
	})
}

// answer is the function for package reply. Its answer is the number of the message that was handled.
func (e *env) answer(ctx context.Context, b Body) (int, error) { return b.N, e.single(ctx, b) }

// single is the function of one record.
func (e *env) single(ctx context.Context, b Body) error {
	r, ok := batch.RecordFrom(ctx)
	if !ok || !hasBody(r, b) {
		e.note(Entry{Kind: Foreign, Message: b.N})
	}
	if !e.w.plan.Tx {
		return e.do(ctx, b, r.Attempt, 0, e.sendWithRecord(ctx))
	}
	return e.store.inTx(ctx, func(add func(Body)) error {
		sends := e.mails.Begin(ctx) // all messages have to be confirmed before the commit
		defer sends.Withdraw()
		send := sends.Enqueue
		if e.w.mutant.Unconfirmed {
			send = e.sendWithRecord(ctx)
		}
		err := e.do(ctx, b, r.Attempt, 0, send)
		if err == nil {
			err = sends.Wait()
		}
		if err == nil && e.w.plan.has("reply") && !e.w.mutant.Unkept {
			err = idempotency.Keep(ctx, b.N) // reply keeps the answer when the function has returned: after the commit
		}
		if err == nil {
			add(b)
		}
		return err
	})
}

// hasBody reports whether a record has the body that was decoded from it.
func hasBody(r batch.Record, b Body) bool {
	var same bool
	_ = batch.JSON(func(_ context.Context, other Body) error {
		same = other == b
		return nil
	})(context.Background(), r)
	return same
}

func (e *env) sendWithRecord(ctx context.Context) func(sender.Message) error {
	return func(m sender.Message) error { return e.mails.SendWithRecord(ctx, m) }
}

// chunk is the function of many records.
func (e *env) chunk(ctx context.Context, items []bulk.Item[Body]) error {
	if chunk := e.w.mutant.Chunk; chunk != nil {
		ctx = chunk(e, ctx, items)
	}
	if _, is := batch.RecordFrom(ctx); is {
		e.note(Entry{Kind: Foreign, Message: items[0].Value.N})
	}
	write := func(add func(Body)) error { return e.write(ctx, items, add) }
	if !e.w.plan.Tx {
		return write(func(Body) {})
	}
	// The context of the chunk has no claim. If it has one, the function takes it for its own.
	err := e.store.inTx(ctx, write)
	if errors.Is(err, errNoClaim) {
		claimed := items
		if n := e.w.mutant.Claims; n > 0 {
			claimed = items[:n]
		}
		err = e.store.inTx(bulk.Context(ctx, claimed...), write)
	}
	return err
}

// write does the work of a chunk, and adds each item that is done.
func (e *env) write(ctx context.Context, items []bulk.Item[Body], add func(Body)) error {
	call := e.w.nextCall()
	for i := range items {
		if err := ctx.Err(); err != nil {
			return err // others may do the work of the rest
		}
		b, r, from := items[i].Value, items[i].Record, i
		if e.w.mutant.Item != nil {
			from = e.w.mutant.Item(i, len(items))
		}
		// SendWithRecord has no record here. If it has one, the function takes it for its own.
		own := ctx
		if from >= 0 {
			own = bulk.Context(ctx, items[from])
		}
		sends := e.mails.Begin(own)
		err := e.do(own, b, r.Attempt, call, func(m sender.Message) error {
			err := e.mails.SendWithRecord(ctx, m)
			if errors.Is(err, sender.ErrNoRecord) {
				err = sends.Enqueue(m)
			}
			return err
		})
		if err == nil {
			err = sends.Wait()
		}
		sends.Withdraw()
		switch {
		case err == nil:
			add(b)
		case b.N%2 == 0:
			return err // of all that are left: a permanent one splits the chunk until only this item has it
		default:
			items[i].Fail(err)
		}
	}
	return nil
}

// duplicate notes what was kept for a duplicate; nothing is kept of a failure.
func (e *env) duplicate(_ context.Context, r batch.Record, kept []byte) error {
	if key, err := strconv.Atoi(string(kept)); kept != nil {
		e.note(Entry{Kind: Repeated, Message: e.w.number(r.MessageID), Index: key})
		return err
	}
	return nil
}

// do does the work of a record, as the plan says. ctx is that of the record, or for it. call is that of a function of many records.
func (e *env) do(ctx context.Context, b Body, attempt, call int, send func(sender.Message) error) (err error) {
	if !e.note(Entry{Kind: Called, Message: b.N, Call: call}) {
		return errDead
	}
	end := Panic
	defer func() {
		e.note(Entry{Kind: Ended, Message: b.N, Call: call, End: end, InTime: ctx.Err() == nil})
	}()
	m := e.w.plan.Messages[b.N]
	for i := range sends {
		if !e.w.plan.has("sender") {
			break
		}
		mail := sender.Message{Body: fmt.Sprintf("%d/%d", m.Key, i)}
		if e.w.plan.FIFO {
			mail.Group = m.Group
		}
		if err := send(mail); err != nil {
			end = Fail
			return err
		}
	}
	act := Act{End: OK}
	if attempt <= len(m.Acts) && !e.w.healed.Load() {
		act = m.Acts[attempt-1]
	}
	if err = e.act(ctx, act); err == nil && e.w.plan.has("idempotency") && !e.w.plan.has("reply") {
		err = idempotency.Keep(ctx, m.Key)
	}
	if end = act.End; err != nil && end == OK {
		end = Fail // it was interrupted
	}
	return err
}

func (e *env) act(ctx context.Context, a Act) error {
	timer := time.NewTimer(a.Takes)
	defer timer.Stop()
	done := ctx.Done()
	if !a.Heeds {
		done = nil
	}
	select {
	case <-timer.C:
	case <-done:
		return ctx.Err()
	case <-e.ctx.Done():
		return errDead
	}
	switch a.End {
	case Fail:
		return errors.New("failed")
	case Permanent:
		return batch.Permanent(errors.New("failed for good"))
	case Classified:
		return errClassified
	case Abort:
		return batch.Abort(3*time.Second, errors.New("a dependency is down"))
	case Panic:
		panic("the function panicked")
	}
	return nil
}

// key is the key of a record in the store.
func (e *env) key(stored string) int {
	n, _ := strconv.Atoi(stored[len(e.w.source)+len("#k"):])
	return n
}
