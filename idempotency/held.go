package idempotency

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
)

// Held is the claim of a handler's record, or the claims of several items of a chunk
// (bulk.Context). It is for a [Store] in the same database as the handler's work, which can
// commit the work and the completions in one transaction, as package sqlstore does.
type Held struct{ claims []held }

// held is the claim of one record.
type held struct {
	*work
	ctx    context.Context // of the handler
	failed func() error    // returns the item's error so far
	item   bool            // of a chunk
}

// HeldFrom returns the claims in store of the handler with ctx. It reports false if ctx is not
// from a handler with a claim, or if a claim is in another store. In a chunk of package bulk,
// ctx must be from bulk.Context, and all its items must have a claim.
func HeldFrom(ctx context.Context, store Store) (Held, bool) {
	claims := claimsOf(ctx)
	for _, c := range claims {
		if c.work == nil || !c.in(store) {
			return Held{}, false
		}
	}
	return Held{claims}, true
}

// claimsOf returns the claim of the handler with ctx, or the claims of the items of a chunk
// with ctx. The work of an item without a claim is nil.
func claimsOf(ctx context.Context) (claims []held) {
	if w, own := ctx.Value(ctxkey.Claim{}).(*work); own { // nearer than items
		return []held{{w, ctx, func() error { return nil }, false}}
	}
	items, chunk := ctx.Value(ctxkey.Items{}).([]ctxkey.Item)
	if !chunk {
		return []held{{}}
	}
	for _, i := range items {
		w, _ := i.Context.Value(ctxkey.Claim{}).(*work)
		if w == nil || !slices.ContainsFunc(claims, func(c held) bool { return c.work == w }) {
			claims = append(claims, held{w, i.Context, i.Err, true})
		}
	}
	return claims
}

// Commit calls complete for each claim, in the order of their keys, and then commit. It
// leaves out items of a chunk that have failed (bulk.Item.Fail). complete must do the work of
// [Store.Complete] in the transaction that commit commits. It must return [ErrNotOwner] if the
// claim has another owner or was completed, even by owner: an earlier commit whose answer
// was lost must not be repeated.
//
// If all calls return nil, the keys are completed: a later error of the handler changes only
// the outcome of this delivery. Otherwise no key is completed, and Commit returns the error.
// After ErrNotOwner, the error of Commit delays a single record, as [batch.ErrInProgress] does;
// several records are retried with backoff. Renewals do not give up the claims while Commit
// runs.
//
// After a successful Commit, another Commit returns an error without a call: a process that is
// killed between two commits would never make the second. In a chunk, which bulk may split and
// write again, that error makes an item that was committed before a duplicate.
func (h Held) Commit(complete func(key, owner string, c Completion) error, commit func() error) error {
	var claims []held
	for _, c := range h.claims {
		switch {
		case c.failed() != nil:
			continue
		case c.commit.Load() == committed && c.item:
			return errCommittedInChunk
		case c.commit.Load() == committed:
			return errCommittedBefore
		}
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b held) int { return strings.Compare(a.claim.Key, b.claim.Key) }) // so that two chunks never wait for each other
	end := func(state uint32) {
		for _, c := range claims {
			c.commit.Store(state)
		}
	}
	end(committing)
	for _, c := range claims {
		err := complete(c.claim.Key, c.claim.Owner, c.completion())
		if err == nil {
			continue
		}
		end(notCommitted)
		if !errors.Is(err, ErrNotOwner) {
			return err
		}
		lost := c.takenOver(c.ctx, noCommitNow)
		if len(claims) > 1 {
			return errOtherTakenOver
		}
		return lost
	}
	if err := commit(); err != nil {
		end(notCommitted)
		return err
	}
	end(committed)
	return nil
}

var (
	errCommittedBefore = errors.New("idempotency: the work of this record was committed before: commit all of it together")
	// errCommittedInChunk is for items: bulk called the function again for a half of the chunk.
	errCommittedInChunk = errors.New("idempotency: the work of an item was committed before, by another call for its chunk")
	errOtherTakenOver   = errors.New("idempotency: nothing was committed, because the claim of one of the records was lost")
)

// States of a handler's own commit.
const (
	notCommitted uint32 = iota
	committing
	committed
)
