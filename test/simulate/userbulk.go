package simulate

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
)

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
		u.acted(items[i].Record)
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

// peeked reports whether a call was only a bulk handler's look at what is behind a
// record of a FIFO group.
func peeked(err error) bool {
	return fmt.Sprint(err) == "bulk: the record is only decoded, since its turn has not come" // an error's own method may panic
}

// forget takes a call back that was none.
func (u *user) forget(h *Handling) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.h.Handlings = slices.DeleteFunc(u.h.Handlings, func(other *Handling) bool { return other == h })
}

// acted notes that a record was written together with others.
func (u *user) acted(r batch.Record) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.acts == nil {
		u.acts = map[string]int{}
	}
	u.acts[r.MessageID]++
}

// actsOf is how often a message was written since its last handling.
func (u *user) actsOf(id string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.acts[id]
}

// told notes whether a call had nothing to do that had not been done before it.
func (u *user) told(h *Handling, before int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h.Told = before > 0 && u.acts[h.MessageID] == before
	delete(u.acts, h.MessageID)
}
