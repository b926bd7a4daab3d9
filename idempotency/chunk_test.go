package idempotency_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

// ledger is a database with the work of orders and the completions of their keys. inTx
// commits both or neither, as sqlstore does.
type ledger struct {
	idempotency.Store

	mu   sync.Mutex
	rows []string
}

var errNoClaim = errors.New("there is no claim")

func (l *ledger) inTx(ctx context.Context, work func(insert func(id string)) error) error {
	held, ok := idempotency.HeldFrom(ctx, l)
	if !ok {
		return errNoClaim
	}
	var rows []string
	if err := work(func(id string) { rows = append(rows, id) }); err != nil {
		return err
	}
	type end struct {
		key, owner string
		c          idempotency.Completion
	}
	var ends []end
	return held.Commit(func(key, owner string, c idempotency.Completion) error {
		ends = append(ends, end{key, owner, c})
		return l.Renew(ctx, key, owner, 0) // as a lock of the row does, it fails if the claim is lost
	}, func() error {
		for _, e := range ends {
			if err := l.Complete(ctx, e.key, e.owner, e.c); err != nil {
				return err
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rows = append(l.rows, rows...)
		return nil
	})
}

func (l *ledger) wantRows(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := slices.Sorted(slices.Values(l.rows)); !slices.Equal(got, want) {
		t.Errorf("the rows are %q, want %q", got, want)
	}
}

// inChunks runs script with a queue whose orders are shipped in chunks, each order behind a
// claim of its own, on Lambda and in a container.
func inChunks(t *testing.T, ship func(t *testing.T, ctx context.Context, l *ledger, items []bulk.Item[placed]) error, script func(t *testing.T, q *sqstest.Queue, l *ledger)) {
	t.Helper()
	for name, container := range map[string]bool{"Lambda": false, "container": true} {
		t.Run(name, func(t *testing.T) {
			l := &ledger{Store: idempotency.NewMemory()}
			h := batch.Chain(bulk.JSON(func(ctx context.Context, items []bulk.Item[placed]) error {
				return ship(t, ctx, l, items)
			}, bulk.Config{Linger: time.Second}), idempotency.New(l, idempotency.Config{Key: idempotency.KeyOf(byID)}))
			sqstest.RunWith(t, h, sqstest.Config{Container: container, Handler: handler.Config{}}, func(t *testing.T, q *sqstest.Queue) { script(t, q, l) })
		})
	}
}

// A chunk once worked under the claim of its first record, which was completed for all, also
// if that record then failed: it came back, counted as a duplicate and was lost.
func TestChunk_HasNoRecordsClaim(t *testing.T) {
	done := make(chan string, 100)
	inChunks(t, func(t *testing.T, ctx context.Context, l *ledger, items []bulk.Item[placed]) error {
		sqlite := sqlstore.New(new(sql.DB), sqlstore.SQLite, "idempotency")
		if err := sqlite.InTx(ctx, nil); !errors.Is(err, sqlstore.ErrNoClaim) {
			t.Errorf("InTx: %v", err)
		}
		if err := l.inTx(ctx, nil); !errors.Is(err, errNoClaim) {
			t.Errorf("a transaction with the chunk's context: %v", err)
		}
		if err := idempotency.Keep(ctx, "kept"); err == nil {
			t.Error("Keep with the chunk's context has no error")
		}
		if err := idempotency.Keep(bulk.Context(ctx, items...), "kept"); len(items) > 1 && err == nil {
			t.Error("Keep for several items has no error")
		}
		for i := range items {
			if items[i].Value.ID == "1" && items[i].Record.Attempt == 1 {
				items[i].Fail(errWork)
				continue
			}
			done <- items[i].Value.ID
		}
		return nil
	}, func(t *testing.T, q *sqstest.Queue, _ *ledger) {
		q.Send(order("1"), order("2"), order("3"))
		q.UntilIdle()
		q.Want("retry, succeeded", "succeeded", "succeeded")
	})
	if close(done); len(done) != 6 {
		t.Errorf("%d orders were done, want 3 in each mode", len(done))
	}
}

// One transaction has the work of all items that did not fail, and their completions.
func TestChunk_CommitsWhatDidNotFail(t *testing.T) {
	inChunks(t, func(t *testing.T, ctx context.Context, l *ledger, items []bulk.Item[placed]) error {
		return l.inTx(bulk.Context(ctx, items...), func(insert func(id string)) error {
			slices.Reverse(items) // its order is the function's
			for i := range items {
				if items[i].Value.ID == "bad" && items[i].Record.Attempt < 3 {
					items[i].Fail(errWork)
					continue
				}
				insert(items[i].Value.ID)
			}
			return nil
		})
	}, func(t *testing.T, q *sqstest.Queue, l *ledger) {
		q.Send(order("1"), order("bad"), order("2"))
		q.UntilIdle()
		q.Send(order("1"), order("2"), order("bad"), order("3"))
		q.UntilIdle()
		q.Want("succeeded", "retry, retry, succeeded", "succeeded", "duplicate", "duplicate", "duplicate", "succeeded")
		l.wantRows(t, "1", "2", "3", "bad")
	})
}

// If one claim of a chunk was lost, nothing is committed, and all records are done later.
func TestChunk_OneClaimIsLost_NothingIsCommitted(t *testing.T) {
	inChunks(t, func(t *testing.T, ctx context.Context, l *ledger, items []bulk.Item[placed]) error {
		return l.inTx(bulk.Context(ctx, items...), func(insert func(id string)) error {
			for i := range items {
				if insert(items[i].Value.ID); items[i].Value.ID == "2" && items[i].Record.Attempt == 1 {
					held, _ := idempotency.HeldFrom(bulk.Context(ctx, items[i]), l)
					_ = held.Commit(func(key, owner string, _ idempotency.Completion) error { return l.Release(ctx, key, owner) }, func() error { return errWork })
				}
			}
			return nil
		})
	}, func(t *testing.T, q *sqstest.Queue, l *ledger) {
		q.Send(order("1"), order("2"), order("3"))
		q.UntilIdle()
		q.Want("retry, succeeded", "retry, succeeded", "retry, succeeded")
		l.wantRows(t, "1", "2", "3")
		q.Send(order("1"), order("2"), order("3"))
		q.UntilIdle()
		l.wantRows(t, "1", "2", "3")
	})
}

// A panic has bulk write the chunk again in halves, after some items were committed: these are
// done, and cost no further delivery.
func TestChunk_IsSplitAfterACommit_CommittedItemsAreDone(t *testing.T) {
	inChunks(t, func(t *testing.T, ctx context.Context, l *ledger, items []bulk.Item[placed]) error {
		for i := range items {
			if items[i].Value.ID == "bad" && items[i].Record.Attempt == 1 {
				panic("bad")
			}
			if err := l.inTx(bulk.Context(ctx, items[i]), func(insert func(id string)) error { insert(items[i].Value.ID); return nil }); err != nil {
				items[i].Fail(err)
			}
		}
		return nil
	}, func(t *testing.T, q *sqstest.Queue, l *ledger) {
		q.Send(order("1"), order("2"), order("bad"), order("3"))
		q.UntilIdle()
		for i, m := range q.Messages() {
			if got := m.String(); i == 2 && got != "retry, succeeded" || i != 2 && got != "succeeded" && got != "duplicate" {
				t.Errorf("message %d: %s", i, got)
			}
		}
		l.wantRows(t, "1", "2", "3", "bad")
	})
}

// A handler with a claim of its own, which the function calls for an item, works under that.
func TestChunk_AHandlerInsideHasItsOwnClaim(t *testing.T) {
	inside := &ledger{Store: idempotency.NewMemory()}
	inner := batch.Chain(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		return inside.inTx(ctx, func(insert func(id string)) error { insert(r.MessageID); return nil })
	}), idempotency.New(inside, idempotency.Config{Key: idempotency.MessageID, Prefix: "inside"}))
	for _, same := range []bool{false, true} {
		inChunks(t, func(t *testing.T, ctx context.Context, l *ledger, items []bulk.Item[placed]) error {
			if same {
				inside.Store = l.Store
			}
			for i := range items {
				if err := inner.Handle(bulk.Context(ctx, items[i]), items[i].Record); err != nil && !errors.Is(err, batch.ErrDuplicate) {
					t.Errorf("the handler inside: %v", err)
				}
				if items[i].Record.Attempt == 1 {
					items[i].Fail(errWork) // a later step
				}
			}
			return nil
		}, func(t *testing.T, q *sqstest.Queue, _ *ledger) {
			q.Send(order("1"), order("2"))
			q.UntilIdle()
			q.Want("retry, succeeded", "retry, succeeded")
		})
	}
}

// A transaction for no items is only a transaction, and an item that is named twice has one claim.
func TestChunk_NoItemsAndTheSameTwice(t *testing.T) {
	inChunks(t, func(t *testing.T, ctx context.Context, l *ledger, items []bulk.Item[placed]) error {
		if err := l.inTx(bulk.Context[placed](ctx), func(func(id string)) error { return nil }); err != nil {
			t.Errorf("no items: %v", err)
		}
		return l.inTx(bulk.Context(ctx, append(items, items...)...), func(insert func(id string)) error {
			for i := range items {
				insert(items[i].Value.ID)
			}
			return nil
		})
	}, func(t *testing.T, q *sqstest.Queue, l *ledger) {
		q.Send(order("1"), order("2"))
		q.UntilIdle()
		q.Want("succeeded", "succeeded")
		l.wantRows(t, "1", "2")
	})
}
