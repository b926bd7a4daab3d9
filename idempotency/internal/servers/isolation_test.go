package servers_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// A claim is renewed while the transaction is open, which changes the row that the transaction
// completes. In a database whose default isolation is strict this once failed at every attempt.
func TestInTx_LongerThanARenewal(t *testing.T) {
	all := databases(t)
	if *postgresFolder != "" {
		folder, err := postgres()
		if err != nil {
			t.Fatal(err)
		}
		for _, isolation := range []string{"repeatable read", "serializable"} {
			d := newPostgres(t, folder, isolation)
			d.name += " " + isolation
			all = append(all, d)
		}
	}
	for _, d := range all {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, d, true)
			store := sqlstore.New(w.db, d.dialect, table)
			h := batch.Chain(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
				return store.InTx(ctx, func(tx *sql.Tx) error {
					err := ship(ctx, tx, r.MessageID)
					if d.dialect == sqlstore.PostgreSQL { // in SQLite no renewal can be written now
						time.Sleep(700 * time.Millisecond) // two renewals
					}
					return err
				})
			}), idempotency.New(store, idempotency.Config{Key: idempotency.MessageID, Prefix: "k", Lease: time.Second}))
			if err := h.Handle(t.Context(), batch.Record{MessageID: "1"}); err != nil {
				t.Error(err)
			}
			if wrong := w.judge(1); wrong != 0 {
				t.Error("the work was not done once")
			}
		})
	}
}

// warned are the warnings of a runner.
type warned struct{ texts []string }

func (w *warned) Warned(_ context.Context, warning batch.Warning) {
	w.texts = append(w.texts, warning.Message)
}

func TestInTx_WarnsOfASmallPool(t *testing.T) {
	for connections, want := range map[int]bool{0: false, 1: true, 3: true, 4: false} {
		d := sqlite(t)
		db := d.open(t)
		store := migrated(t, db, d)
		db.SetMaxOpenConns(connections)
		h := batch.Chain(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error {
			return store.InTx(ctx, func(*sql.Tx) error { return nil })
		}), idempotency.New(store, idempotency.Config{Key: idempotency.MessageID, Prefix: "k"}))
		hook := &warned{}
		e := runner.New(h, runner.Config{Concurrency: 3}, hooks.New(testhooks.Of(hook)))
		results := e.Run(t.Context(), []batch.Record{{MessageID: "1"}, {MessageID: "2"}}, runner.Options{Times: e.Times(t.Context())})
		if got := len(hook.texts) == 1 && strings.Contains(hook.texts[0], "Set MaxOpenConns to 4 at least"); got != want || len(hook.texts) > 1 || results[0].Outcome != batch.Succeeded {
			t.Errorf("%d connections: warnings %q, %v", connections, hook.texts, results[0].Err)
		}
	}
}
