package servers_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// statementsOfAChunk are: three claims, begin, two of the work of each, three completions, commit.
const statementsOfAChunk = 14

// deliverChunk has a new process with a fate handle records in one chunk and one transaction.
// The record "fails" fails at its first attempt. It returns the records that come back.
func (w *world) deliverChunk(f fate, attempt int, ids []string) (back []string) {
	w.t.Helper()
	p, db := newProcess(w.connector)
	defer db.Close()
	db.SetMaxOpenConns(1) // a process is killed while one statement runs
	p.draw(f)
	store := sqlstore.New(db, w.dialect, table)
	insert := func(ctx context.Context, items []bulk.Item[string]) error {
		return store.InTx(bulk.Context(ctx, items...), func(tx *sql.Tx) error {
			for i := range items {
				if items[i].Record.Attempt == 1 && items[i].Value[:5] == "fails" {
					items[i].Fail(errors.New("not yet"))
				} else if err := ship(ctx, tx, items[i].Value); err != nil {
					return err
				}
			}
			return nil
		})
	}
	id := func(_ context.Context, r batch.Record) (string, error) { return r.MessageID, nil }
	h := batch.Chain(bulk.New(id, insert, bulk.Config{}), idempotency.New(store, idempotency.Config{Key: idempotency.MessageID, Prefix: "k"}))
	e := runner.New(h, runner.Config{}, &hooks.Set{})
	var records []batch.Record
	for _, id := range ids {
		records = append(records, batch.Record{MessageID: id, Attempt: attempt, QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders"})
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for _, r := range e.Run(ctx, records, runner.Options{Times: e.Times(ctx)}) {
		if p.isDead() || r.Outcome != batch.Succeeded && r.Outcome != batch.Duplicate {
			back = append(back, r.Record.MessageID)
		}
	}
	return back
}

// A process that handles three records in one transaction is killed before and after each of its
// statements, or loses its answer there: each record is done exactly once.
func TestInTx_ChunkKilledAtEveryStatement(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		w := newWorld(t, d, true)
		records := 0
		for at := 1; at <= statementsOfAChunk; at++ {
			for _, how := range []how{killedBefore, killedAfter, losesAnswer} {
				f, left := fate{how, at}, []string{}
				for _, name := range []string{"one", "fails", "two"} {
					left = append(left, name+string(rune('a'+at))+string(rune('a'+how)))
				}
				records += len(left)
				for attempt := 1; len(left) > 0; attempt++ {
					if attempt > 10 {
						t.Fatalf("%v comes back after ten attempts", left)
					}
					left = w.deliverChunk(f, attempt, left)
					f = fate{}
					for _, id := range left {
						w.leaseEnds(id)
					}
				}
			}
		}
		if wrong := w.judge(records); wrong != 0 {
			t.Errorf("%d of %d records were not done exactly once", wrong, records)
		}
	})
}
