package servers_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

var killedRecords = flag.Int("records", 400, "how many records the processes that are killed handle, with each database")

// statementsOfARecord are: claim, begin, two of the work, complete, commit.
const statementsOfARecord = 6

// world is records whose handlers are killed.
type world struct {
	database
	t  *testing.T
	db *sql.DB // of the test, which is never killed
	// transaction is whether the work and the completion are in one.
	transaction bool
}

func newWorld(t *testing.T, d database, transaction bool) *world {
	t.Helper()
	w := &world{d, t, d.open(t), transaction}
	migrated(t, w.db, d)
	for _, statement := range []string{"CREATE TABLE shipments (id text NOT NULL)", "CREATE TABLE stock (id text NOT NULL, change integer NOT NULL)"} {
		if _, err := w.db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func ship(ctx context.Context, db queryer, id string) error {
	if _, err := db.ExecContext(ctx, "INSERT INTO shipments (id) VALUES ('"+id+"')"); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "INSERT INTO stock (id, change) VALUES ('"+id+"', -1)")
	return err
}

// program is one process of a worker: it is killed at times, and started again.
type program struct {
	*process
	db      *sql.DB
	handler batch.Handler
}

func (w *world) start() *program {
	p, db := newProcess(w.connector)
	store := sqlstore.New(db, w.dialect, table)
	work := func(ctx context.Context, r batch.Record) error {
		if !w.transaction {
			return ship(ctx, db, r.MessageID)
		}
		inTx := func() error {
			return store.InTx(ctx, func(tx *sql.Tx) error { return ship(ctx, tx, r.MessageID) })
		}
		if inTx() == nil {
			return nil
		}
		return inTx() // as a handler does that retries
	}
	return &program{p, db, batch.Chain(batch.HandlerFunc(work), idempotency.New(store, idempotency.Config{Key: idempotency.MessageID, Prefix: "k"}))}
}

// deliver has a program handle a record, and returns its error.
func (p *program) deliver(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return p.handler.Handle(ctx, batch.Record{MessageID: id, QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders"})
}

// leaseEnds has the time of a claim be over. The server may have to start first.
func (w *world) leaseEnds(id string) {
	if err := eventually(func() error {
		_, err := w.db.Exec("UPDATE " + table + " SET ends = 0 WHERE NOT done AND " + w.keyIs(id))
		return err
	}); err != nil {
		w.t.Error(err)
	}
}

func (w *world) keyIs(id string) string {
	if w.dialect == sqlstore.SQLite {
		return fmt.Sprintf("key = CAST('%s' AS BLOB)", "k#"+idempotency.SHA256(id))
	}
	return fmt.Sprintf("key = convert_to('%s', 'UTF8')", "k#"+idempotency.SHA256(id))
}

// worker handles records until each is done, in programs that have the fates that it draws.
type worker struct {
	*world
	program *program
	fate    func() fate
	kills   int
}

func (w *worker) finish(ctx context.Context, id string) {
	var last error
	for delivery := 1; ; delivery++ {
		if delivery > 50 {
			w.t.Errorf("record %s was delivered 50 times, at last: %v", id, last)
			return
		}
		if w.program == nil {
			w.program = w.start()
		}
		f := w.fate()
		w.program.draw(f)
		var err error
		if f.how == freezes {
			err = w.freeze(ctx, id)
		} else {
			err = w.program.deliver(ctx, id)
		}
		last = err
		switch {
		case w.program.isDead():
			w.kills++
			_ = w.program.db.Close()
			w.program = nil
			w.leaseEnds(id)
		case err == nil, errors.Is(err, batch.ErrDuplicate):
			return
		default:
			w.leaseEnds(id)
		}
	}
}

// freeze has a program sleep past its lease in the middle of a record, while another one
// gets the record. It returns the error of the one that slept.
func (w *worker) freeze(ctx context.Context, id string) (err error) {
	slow, other := w.program, w.start()
	defer func() { _ = other.db.Close() }()
	other.draw(fate{})
	var both sync.WaitGroup
	returned, taken := make(chan struct{}), make(chan struct{})
	both.Go(func() {
		err = slow.deliver(ctx, id)
		close(returned)
	})
	select {
	case <-slow.frozen:
	case <-returned: // it had fewer statements
		both.Wait()
		return err
	}
	both.Go(func() {
		defer close(taken)
		w.leaseEnds(id)
		_ = other.deliver(ctx, id)
	})
	select {
	case <-taken:
	case <-time.After(5 * time.Millisecond): // it waits for a lock that the slow one has
	}
	close(slow.woken)
	both.Wait()
	return err
}

// judge counts the records that were done never, in part, or more than once.
func (w *world) judge(records int) (wrong int) {
	w.t.Helper()
	for _, effects := range []string{"shipments", "stock"} {
		var once, others int
		query := "SELECT coalesce(sum(CASE WHEN n = 1 THEN 1 ELSE 0 END), 0), coalesce(sum(CASE WHEN n = 1 THEN 0 ELSE 1 END), 0) FROM (SELECT id, count(*) AS n FROM " + effects + " GROUP BY id) AS counted"
		if err := w.db.QueryRow(query).Scan(&once, &others); err != nil {
			w.t.Fatal(err)
		}
		wrong += records - once
		if once+others != records {
			w.t.Logf("%s: %d records were never done", effects, records-once-others)
		}
	}
	return wrong
}

// Every record is killed before and after each of its statements, once or twice, is frozen
// there, and loses its answer there.
func TestInTx_KilledAtEveryStatement(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		w := newWorld(t, d, true)
		n := 0
		for _, first := range fates() {
			for _, second := range append(fates(), fate{}) {
				left := []fate{first, second}
				one := &worker{world: w, fate: func() (f fate) {
					if len(left) > 0 {
						f, left = left[0], left[1:]
					}
					return f
				}}
				one.finish(t.Context(), fmt.Sprint(n))
				if one.program != nil {
					_ = one.program.db.Close()
				}
				n++
			}
		}
		if wrong := w.judge(n); wrong != 0 {
			t.Errorf("%d of %d records were not done exactly once", wrong, n)
		}
	})
}

func fates() (all []fate) {
	for at := 1; at <= statementsOfARecord; at++ {
		for _, how := range []how{killedBefore, killedAfter, freezes, losesAnswer} {
			all = append(all, fate{how, at})
		}
	}
	return all
}

func anyFate(r *rand.Rand) fate {
	switch n := r.IntN(100); {
	case n < 50:
		return fate{}
	case n < 98:
		return fate{[]how{killedBefore, killedAfter, losesAnswer}[r.IntN(3)], 1 + r.IntN(statementsOfARecord)}
	default:
		return fate{freezes, 1 + r.IntN(statementsOfARecord)}
	}
}

// handle handles records in several workers at a time, with fates that draw gives them. It
// calls before for each record.
func (w *world) handle(records, workers int, draw func(*rand.Rand) fate, before func(id int)) (kills int) {
	var all, mu = sync.WaitGroup{}, sync.Mutex{}
	ids := make(chan int)
	for i := range workers {
		r := rand.New(rand.NewPCG(1, uint64(i)))
		one := &worker{world: w, fate: func() fate { return draw(r) }}
		all.Go(func() {
			for id := range ids {
				one.finish(w.t.Context(), fmt.Sprint(id))
			}
			if one.program != nil {
				_ = one.program.db.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			kills += one.kills
		})
	}
	for id := range records {
		before(id)
		ids <- id
	}
	close(ids)
	all.Wait()
	return kills
}

func TestInTx_Killed(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		w := newWorld(t, d, true)
		began := time.Now()
		kills := w.handle(*killedRecords, 8, anyFate, func(int) {})
		wrong := w.judge(*killedRecords)
		t.Logf("%d records, %d kills, %d not done exactly once, %v", *killedRecords, kills, wrong, time.Since(began).Round(time.Second))
		if wrong != 0 || kills < *killedRecords/4 {
			t.Errorf("%d records were not done exactly once, with %d kills", wrong, kills)
		}
	})
}

// A process of the server is killed while it serves workers: PostgreSQL ends all connections,
// starts anew, and recovers what was committed.
func TestInTx_ServerKilled(t *testing.T) {
	for _, d := range databases(t) {
		if d.dialect != sqlstore.PostgreSQL {
			continue // SQLite has no server
		}
		t.Run(d.name, func(t *testing.T) {
			w, kills := newWorld(t, d, true), 0
			records := min(*killedRecords, 1000) // each kill takes half a second
			w.handle(records, 8, func(*rand.Rand) fate { return fate{} }, func(id int) {
				if id%50 == 25 && w.killServer() {
					kills++
				}
			})
			wrong := w.judge(records)
			t.Logf("%d records, the server killed %d times, %d not done exactly once", records, kills, wrong)
			if wrong != 0 || kills < records/100 {
				t.Errorf("%d records were not done exactly once, with %d kills", wrong, kills)
			}
		})
	}
}

// The server is killed and starts again, or a replica takes its place while records are handled: each record is done
// exactly once. A replica that did not get all loses the work with the completion, and SQS has deleted the message.
func TestInTx_Outage(t *testing.T) {
	if *postgresFolder == "" {
		t.Skip("PostgreSQL is not named")
	}
	for _, test := range []struct {
		name string
		setup
		synchronous bool
	}{
		{"PostgreSQL killed", setup{restart: true}, false},
		{"PostgreSQL failed over", setup{loses: true}, false},
		{"PostgreSQL failed over, synchronous", setup{}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, d := newPostgresCluster(t, test.synchronous)
			w := newWorld(t, d, true)
			if !test.restart {
				if err := c.protect(); err != nil {
					t.Fatal(err)
				}
			}
			records := min(*killedRecords, 1000)
			failed := make(chan error, 1)
			w.handle(records, 8, func(*rand.Rand) fate { return fate{} }, func(id int) {
				time.Sleep(2 * time.Millisecond) // records are handled until the end of the outage
				if id == records/4 {
					go func() {
						_, err := test.fail(c)
						failed <- err
					}()
				}
			})
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			wrong := w.judge(records)
			t.Logf("%d records, %d not done exactly once", records, wrong)
			if test.loses != (wrong > 0) {
				t.Errorf("%d records were not done exactly once", wrong)
			}
		})
	}
}

// killServer kills the process of the server that serves one of the workers, if it is up and
// there is one.
func (w *world) killServer() bool {
	var pid int
	err := w.db.QueryRow("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1").Scan(&pid)
	return err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil
}

// The test finds work that is done again when its completion is not in its transaction.
func TestInTx_KilledWithoutIt(t *testing.T) {
	eachDatabase(t, func(t *testing.T, d database) {
		w := newWorld(t, d, false)
		w.handle(100, 4, anyFate, func(int) {})
		if wrong := w.judge(100); wrong == 0 {
			t.Error("every record was done exactly once, although the work was not in the transaction")
		}
	})
}
