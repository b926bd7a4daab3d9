package servers_test

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/internal/histories"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
	"github.com/sqsbatch/sqsbatch/idempotency/storetest"
)

const table = "idempotency"

func migrated(t testing.TB, db *sql.DB, d database) *sqlstore.Store {
	t.Helper()
	store := sqlstore.New(db, d.dialect, table)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

func TestSQL_Store(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		store := migrated(t, d.open(t), d)
		storetest.Run(t, func(*testing.T) idempotency.Store { return store })
	})
}

// drawn are histories of a server, whose clock is real. storetest finds each part of the
// statements' and scripts' conditions that is missing, and the mutants of package histories show
// that it finds mistakes.
func drawn() histories.Config {
	return histories.Config{
		Few: 40, Many: 400, AtOnce: 20, Lease: 300 * time.Millisecond, Lag: 10 * time.Millisecond, Slack: 2 * time.Millisecond,
	}
}

func TestSQL_Histories(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		store := migrated(t, d.open(t), d)
		drawn := drawn()
		drawn.Store = func(f *histories.Faults) idempotency.Store { return f.Around(store) }
		histories.Check(t, drawn)
	})
}

func TestSQL_MigrateAtOnceAndAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		var wg sync.WaitGroup
		for range 10 {
			db := d.open(t)
			wg.Go(func() {
				for range 2 {
					if err := sqlstore.New(db, d.dialect, table).Migrate(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})
}

// Schema is what Migrate creates.
func TestSQL_Schema(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		db := d.open(t)
		if _, err := db.Exec(sqlstore.Schema(d.dialect, table)); err != nil {
			t.Fatal(err)
		}
		store := migrated(t, db, d) // changes nothing
		if found, err := store.Claim(t.Context(), idempotency.Claim{Key: "a", Owner: "A", Lease: time.Minute}); err != nil || found.State != idempotency.Claimed {
			t.Error(found, err)
		}
	})
}

func TestSQL_OtherNames(t *testing.T) {
	for _, d := range databases(t) {
		for _, name := range []string{"order", "Orders_2", strings.Repeat("x", 51)} {
			t.Run(d.name+" "+name, func(t *testing.T) {
				store := sqlstore.New(d.open(t), d.dialect, name)
				if err := store.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := store.Claim(t.Context(), idempotency.Claim{Key: "a", Owner: "A", Lease: time.Minute}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestSQL_DeleteExpired(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		ctx, db := t.Context(), d.open(t)
		store := migrated(t, db, d)
		for i := range 30 {
			c := idempotency.Claim{Key: fmt.Sprint(i), Owner: "A", Lease: time.Minute, Remember: time.Hour}
			if i < 25 {
				c.Lease, c.Remember = 0, time.Duration(i)*time.Millisecond
			}
			if _, err := store.Claim(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(30 * time.Millisecond) // of the database's time
		var steps []int64
		for {
			deleted, err := store.DeleteExpired(ctx, 10)
			if err != nil {
				t.Fatal(err)
			}
			if steps = append(steps, deleted); deleted < 10 {
				break
			}
		}
		var left int
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&left); err != nil || left != 5 || fmt.Sprint(steps) != "[10 10 5]" {
			t.Errorf("steps %v, %d rows are left, %v; want [10 10 5] and the 5 that did not expire", steps, left, err)
		}
	})
}

// Several programs delete at a time, while rows are claimed again.
func TestSQL_DeleteExpiredAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		ctx := t.Context()
		store := migrated(t, d.open(t), d)
		const keys = 200
		claim := func(i int, c idempotency.Claim) {
			c.Key, c.Owner = fmt.Sprint(i), "A"
			if _, err := store.Claim(ctx, c); err != nil {
				t.Error(err)
			}
		}
		for i := range keys {
			claim(i, idempotency.Claim{})
		}
		time.Sleep(5 * time.Millisecond) // of the database's time
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for deleted := int64(7); deleted == 7; {
					var err error
					if deleted, err = store.DeleteExpired(ctx, 7); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Go(func() {
			for i := 0; i < keys; i += 5 {
				claim(i, idempotency.Claim{Lease: time.Minute})
			}
		})
		wg.Wait()
		for i := 0; i < keys; i += 5 {
			if found, err := store.Claim(ctx, idempotency.Claim{Key: fmt.Sprint(i), Owner: "B"}); err != nil || found.State != idempotency.InProgress {
				t.Errorf("claim %d: %v, %v: it was deleted", i, found, err)
			}
		}
	})
}

// An error names the operation and the table, and no key.
func TestSQL_Errors(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		store := sqlstore.New(d.open(t), d.dialect, "missing")
		_, err := store.Claim(t.Context(), idempotency.Claim{Key: "secret", Owner: "A"})
		if err == nil || !strings.Contains(err.Error(), `claim in table "missing"`) || strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
	})
}
