package servers_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// taskVariable is the environment variable that makes this program a worker process, with its task.
const taskVariable = "STORES_TASK"

// task is one record for a worker process. The process stops itself (SIGSTOP) at one moment of the record.
type task struct {
	Server  string // SQLite, PostgreSQL, go-redis or valkey-go
	Address string
	ID      string
	// At is a moment, or with InTx the number of a statement.
	At   int
	InTx bool
}

// Moments of a record without InTx.
const (
	beforeClaim      = iota + 1
	afterClaim       // the store has answered
	inHandler        // the work is done
	beforeCompletion // in the store's method
	afterCompletion  // the store has answered
)

// stopMyself stops the process, and returns when it goes on. Until all of it has stopped, the caller waits as well.
func stopMyself() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	<-goesOn
	hasStopped.Store(true)
}

var hasStopped atomic.Bool

func (k task) connector() database {
	if k.Server == "SQLite" {
		return database{dialect: sqlstore.SQLite, connector: sqliteConnector(k.Address)}
	}
	return database{dialect: sqlstore.PostgreSQL, connector: stdlib.GetConnector(*parsePostgres(k.Address))}
}

// handler returns the handler of a process. kept is called with the result of a duplicate.
func (k task) handler(store idempotency.Store, work func(ctx context.Context) error, kept func(string)) batch.Handler {
	return batch.Chain(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx) // it follows its context
		}
		return work(ctx)
	}), idempotency.New(store, idempotency.Config{Key: idempotency.MessageID, Prefix: "k", Lease: lease, OnDuplicate: idempotency.Kept(func(_ context.Context, by string) error {
		kept(by)
		return nil
	})}))
}

// store returns the store and the work of a process. at is called at each moment, did when the work is done.
func (k task) store(tb testing.TB, name string, f fate, at func(moment int), did func()) (idempotency.Store, func(ctx context.Context) error) {
	var store idempotency.Store
	work := func(ctx context.Context) error {
		did()
		at(inHandler)
		return idempotency.Keep(ctx, name)
	}
	switch k.Server {
	case "go-redis", "valkey-go":
		dial := func() (net.Conn, error) { return net.Dial("unix", k.Address) }
		if store = goRedis(tb, dial); k.Server == "valkey-go" {
			store = valkeyGo(tb, dial)
		}
	default:
		d := k.connector()
		p, db := newProcess(d.connector)
		p.draw(f)
		tb.Cleanup(func() { _ = db.Close() })
		s := sqlstore.New(db, d.dialect, table)
		store = s
		if k.InTx {
			return s, func(ctx context.Context) error {
				did()
				return s.InTx(ctx, func(tx *sql.Tx) error { return errors.Join(idempotency.Keep(ctx, name), ship(ctx, tx, k.ID)) })
			}
		}
	}
	return &random.Around{Store: store, Call: func(ctx context.Context, c random.StoreCall, do func(context.Context) (idempotency.Found, error)) (idempotency.Found, error) {
		moment := map[string]int{"Claim": beforeClaim, "Complete": beforeCompletion}[c.Operation]
		if moment > 0 {
			at(moment)
		}
		found, err := do(ctx)
		if moment > 0 && err == nil {
			at(moment + 1)
		}
		return found, err
	}}, work
}

// workAndStop is the worker process. It prints what it does.
func workAndStop(text string) {
	var k task
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		panic(err)
	}
	f, left := fate{}, k.At
	if k.InTx {
		f, left = fate{stopped, k.At}, 0
	}
	for !hasStopped.Load() { // a claim on a slow machine may fail
		store, work := k.store(&cleaner{}, "stopped", f, func(moment int) {
			if moment == left {
				left = 0
				stopMyself()
			}
		}, func() { fmt.Println("works") })
		h := k.handler(store, work, func(by string) { fmt.Println("kept by", by) })
		if err := h.Handle(context.Background(), batch.Record{MessageID: k.ID}); hasStopped.Load() {
			fmt.Println("ended:", describe(err))
		}
	}
}

func describe(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, batch.ErrDuplicate):
		return "duplicate"
	case errors.Is(err, idempotency.ErrTakenOver):
		return "taken over"
	}
	return "failed: " + err.Error()
}

// cleaner is a testing.TB for a process that has no test.
type cleaner struct{ testing.TB }

func (*cleaner) Cleanup(func()) {}
func (*cleaner) Helper()        {}
func (*cleaner) Fatal(args ...any) {
	fmt.Println(args...)
	os.Exit(1)
}

// stoppedWorker is a worker process that has stopped itself.
type stoppedWorker struct {
	cmd    *exec.Cmd
	output io.Reader
}

func startStopped(t *testing.T, k task) *stoppedWorker {
	t.Helper()
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	w := &stoppedWorker{cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), taskVariable+"="+string(text))
	if w.output, err = w.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(w.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		out, _ := io.ReadAll(w.output)
		t.Fatalf("the worker did not stop: %v, %v, %s", status, err, out)
	}
	return w
}

// wake lets the worker go on to its end, and returns the lines that it printed.
func (w *stoppedWorker) wake(t *testing.T) (lines []string) {
	t.Helper()
	_ = w.cmd.Process.Signal(syscall.SIGCONT)
	for s := bufio.NewScanner(w.output); s.Scan(); {
		lines = append(lines, s.Text())
	}
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("the worker: %v", err)
	}
	return lines
}

// finish handles the record until it is done, or for at most that time, and returns the last outcome.
func finish(h batch.Handler, k task, most time.Duration) (outcome string) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		outcome = describe(h.Handle(ctx, batch.Record{MessageID: k.ID}))
		cancel()
		if outcome == "done" || outcome == "duplicate" || time.Since(began) > most {
			return outcome
		}
	}
}

// tasks are for each server.
func tasks(t *testing.T) (all []task) {
	d := sqlite(t)
	newWorld(t, d, true)
	all = append(all, task{Server: d.name, Address: string(d.connector.(sqliteConnector))})
	if *postgresFolder != "" {
		folder, err := postgres()
		if err != nil {
			t.Fatal(err)
		}
		d := newPostgres(t, folder, "")
		var schema string
		if err := newWorld(t, d, true).db.QueryRow("SELECT current_schema()").Scan(&schema); err != nil {
			t.Fatal(err)
		}
		all = append(all, task{Server: d.name, Address: fmt.Sprintf("host=%s user=test dbname=postgres search_path=%s", folder, schema)})
	}
	for _, c := range servedBy(t) {
		all = append(all, task{Server: c.name, Address: c.socket})
	}
	return all
}

// A worker that stops for longer than its lease (a paused container, a stalled machine) completes nothing over the one
// that took over, whose result stays. Its own work was done, or is not begun.
func TestStopped(t *testing.T) {
	for _, k := range tasks(t) {
		name := k.Server
		if i := strings.LastIndex(name, " "); i >= 0 {
			k.Server = name[i+1:]
		}
		for at, want := range map[int][]string{
			beforeClaim:      {"kept by other", "ended: duplicate"},
			afterClaim:       {"kept by other", "ended: duplicate"},
			inHandler:        {"works", "ended: taken over"},
			beforeCompletion: {"works", "ended: taken over"},
			afterCompletion:  {"works", "ended: done"},
		} {
			k := k
			k.At, k.ID = at, fmt.Sprint(name, at)
			t.Run(fmt.Sprint(name, " at ", at), func(t *testing.T) {
				t.Parallel()
				w, works := startStopped(t, k), 0
				var by string
				store, work := k.store(t, "other", fate{}, func(int) {}, func() { works++ })
				h := k.handler(store, work, func(name string) { by = name })
				outcome, owner := "done", "other"
				if at == afterCompletion {
					outcome, owner = "duplicate", "stopped"
				}
				if got := finish(h, k, 30*time.Second); got != outcome {
					t.Errorf("the other worker: %s, want %s", got, outcome)
				}
				if got := w.wake(t); strings.Join(got, "; ") != strings.Join(want, "; ") {
					t.Errorf("the stopped worker printed %q, want %q", got, want)
				}
				if got := finish(h, k, 30*time.Second); got != "duplicate" || by != owner || works > 1 {
					t.Errorf("then: %s, kept by %q, the other worked %d times", got, by, works)
				}
			})
		}
	}
}

// The same with InTx, at each of its statements: the work is done once. In PostgreSQL the stopped worker keeps the row of
// its key from the completion on: the server ends its session after 5 s. In SQLite it keeps all others from the database,
// from its first change on, until it goes on.
func TestStopped_InTx(t *testing.T) {
	for _, k := range tasks(t) {
		if strings.Contains(k.Server, " ") {
			continue // Redis
		}
		for at := 1; at <= statementsOfARecord; at++ {
			k := k
			k.At, k.InTx, k.ID = at, true, fmt.Sprint("tx", at)
			t.Run(fmt.Sprint(k.Server, " at ", at), func(t *testing.T) {
				w := startStopped(t, k)
				store, work := k.store(t, "other", fate{}, func(int) {}, func() {})
				h := k.handler(store, work, func(string) {})
				want, most := "done", 30*time.Second
				if at >= 3 && k.Server == "SQLite" {
					want, most = "failed", lease
				}
				if at == 3 && k.Server == "SQLite" {
					want = "" // on a slow machine a renewal is the second statement
				}
				if outcome := finish(h, k, most); !strings.HasPrefix(outcome, want) {
					t.Errorf("the other worker, while the first one is stopped: %s, want %s", outcome, want)
				}
				printed := w.wake(t)
				if outcome := finish(h, k, 30*time.Second); outcome != "done" && outcome != "duplicate" {
					t.Errorf("then: %s", outcome)
				}
				db := sql.OpenDB(k.connector().connector)
				defer db.Close()
				var shipped int
				if err := db.QueryRow("SELECT count(*) FROM shipments WHERE id = '" + k.ID + "'").Scan(&shipped); err != nil || shipped != 1 {
					t.Errorf("the work was done %d times, %v; the stopped worker printed %q", shipped, err, printed)
				}
			})
		}
	}
}
