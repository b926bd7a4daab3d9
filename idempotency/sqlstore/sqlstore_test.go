package sqlstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

// The tests with databases are in idempotency/internal/servers, because of their drivers.

// noDatabase fails the test that connects.
type noDatabase struct{ t *testing.T }

func (n noDatabase) Connect(context.Context) (driver.Conn, error) {
	n.t.Error("the store calls the database")
	return nil, errors.New("no database")
}

func (n noDatabase) Driver() driver.Driver { return nil }

// unused is a store that must not call its database.
func unused(t *testing.T) *sqlstore.Store {
	db := sql.OpenDB(noDatabase{t})
	t.Cleanup(func() { _ = db.Close() })
	return sqlstore.New(db, sqlstore.PostgreSQL, "idempotency")
}

func TestNew_WrongParameters(t *testing.T) {
	db := sql.OpenDB(noDatabase{t})
	defer db.Close()
	for name, test := range map[string]struct {
		db      *sql.DB
		dialect sqlstore.Dialect
		table   string
		want    []string
	}{
		"right":               {db, sqlstore.PostgreSQL, "app.idempotency_2", nil},
		"everything":          {nil, 0, "", []string{"the database is nil", "the dialect is Dialect(0)", `the table is ""`}},
		"unknown dialect":     {db, 9, "a", []string{"the dialect is Dialect(9), must be PostgreSQL or SQLite"}},
		"an injection":        {db, sqlstore.SQLite, `a"; DROP TABLE b; --`, []string{"must be a name"}},
		"a schema in SQLite":  {db, sqlstore.SQLite, "main.a", []string{"must be a name"}},
		"two dots":            {db, sqlstore.PostgreSQL, "a.b.c", []string{"must be a name"}},
		"longer than indexes": {db, sqlstore.PostgreSQL, strings.Repeat("x", 52), []string{"must be a name"}},
	} {
		t.Run(name, func(t *testing.T) {
			store := sqlstore.New(test.db, test.dialect, test.table)
			err := store.Validate()
			if (err == nil) != (test.want == nil) {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q in it", err, want)
				}
			}
			if err != nil {
				wantSame(t, store, err)
			}
		})
	}
}

// wantSame wants every call to return an error of the configuration.
func wantSame(t *testing.T, store *sqlstore.Store, want error) {
	t.Helper()
	ctx := t.Context()
	_, claiming := store.Claim(ctx, idempotency.Claim{Key: "a", Owner: "A"})
	_, deleting := store.DeleteExpired(ctx, 1)
	for call, err := range map[string]error{
		"Claim": claiming, "Renew": store.Renew(ctx, "a", "A", 1), "Complete": store.Complete(ctx, "a", "A", idempotency.Completion{}), "Release": store.Release(ctx, "a", "A"),
		"Migrate": store.Migrate(ctx), "DeleteExpired": deleting, "InTx": store.InTx(ctx, nil),
	} {
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", call, err, want)
		}
	}
}

func TestStore_RefusesKeys(t *testing.T) {
	store := unused(t)
	for _, key := range []string{"", strings.Repeat("x", 1025), "\xff"} {
		if _, err := store.Claim(t.Context(), idempotency.Claim{Key: key, Owner: "A"}); err == nil {
			t.Errorf("%q is claimed", key)
		}
		if err := store.Release(t.Context(), key, "A"); err == nil {
			t.Errorf("%q is released", key)
		}
	}
}

// A transaction without a claim would not be protected, so there is none.
func TestInTx_WithoutAClaim(t *testing.T) {
	store := unused(t)
	work := func(*sql.Tx) error {
		t.Error("the work is done")
		return nil
	}
	if err := store.InTx(t.Context(), work); !errors.Is(err, sqlstore.ErrNoClaim) {
		t.Errorf("outside of a handler: %v, want ErrNoClaim", err)
	}
	h := batch.Chain(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error { return store.InTx(ctx, work) }),
		idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.MessageID}))
	if err := h.Handle(t.Context(), batch.Record{MessageID: "a"}); !errors.Is(err, sqlstore.ErrNoClaim) {
		t.Errorf("with a claim in another store: %v, want ErrNoClaim", err)
	}
}

func TestSchema(t *testing.T) {
	for dialect, want := range map[sqlstore.Dialect]string{sqlstore.PostgreSQL: "key     bytea PRIMARY KEY", sqlstore.SQLite: "key     BLOB PRIMARY KEY", 0: ""} {
		if got := sqlstore.Schema(dialect, "work"); (got == "") != (want == "") || !strings.Contains(got, want) || got != "" && !strings.Contains(got, `CREATE INDEX IF NOT EXISTS "work_expires" ON "work" (expires);`) {
			t.Errorf("%v: %s", dialect, got)
		}
	}
	if got := sqlstore.Schema(sqlstore.PostgreSQL, "app.work"); !strings.Contains(got, `"work_expires" ON "app"."work"`) {
		t.Error(got)
	}
}
