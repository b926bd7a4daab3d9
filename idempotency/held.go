package idempotency

import (
	"context"
	"errors"
)

// Held is the claim under which a handler works. It is for a [Store] whose database also has
// the handler's work: the store can then commit the work and the completion in one
// transaction. Package sqlstore does.
type Held struct{ work *work }

// HeldFrom returns the claim in store under which the handler that has ctx works. It reports
// false if ctx is not a handler's, or if the handler's claim is in another store.
func HeldFrom(ctx context.Context, store Store) (Held, bool) {
	w, ok := ctx.Value(workKey{}).(*work)
	if !ok || !w.in(store) {
		return Held{}, false
	}
	return Held{w}, true
}

// Commit calls commit, which must do what [Store.Complete] does, and nothing if the claim is
// not owner's any more or was completed, also by owner: an earlier commit whose answer was lost
// must not be made again. When commit returns nil, the key is completed: what the handler
// returns later changes only what becomes of this delivery. When commit returns
// [ErrNotOwner], the error of Commit has the record come back later, as [batch.ErrInProgress]
// does. No renewal judges the claim while commit runs. After a commit that returned nil, Commit
// returns an error without calling commit: a process that is killed between two commits would
// never make the second.
func (h Held) Commit(ctx context.Context, commit func(key, owner string, c Completion) error) error {
	w := h.work
	if w.commit.Load() == committed {
		return errCommittedBefore
	}
	w.commit.Store(committing)
	err := commit(w.claim.Key, w.claim.Owner, w.completion())
	if err == nil {
		w.commit.Store(committed)
		return nil
	}
	w.commit.Store(notCommitted)
	if errors.Is(err, ErrNotOwner) {
		return w.takenOver(ctx)
	}
	return err
}

var errCommittedBefore = errors.New("idempotency: the work of this record was committed before: commit all of it together")

// How far a handler's own commit is.
const (
	notCommitted uint32 = iota
	committing
	committed
)
