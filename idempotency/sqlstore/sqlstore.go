// Package sqlstore is an [idempotency.Store] in a table of PostgreSQL or SQLite. It uses
// database/sql only: the program chooses the driver.
//
//	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL")) // github.com/jackc/pgx/v5/stdlib
//	if err != nil { … }
//	store := sqlstore.New(db, sqlstore.PostgreSQL, "idempotency")
//	if err := store.Migrate(ctx); err != nil { … }
//
// # Work in the same database
//
// When a handler's work is in the same database, [Store.InTx] commits the work and the
// completion in one transaction. The work is then done exactly once, even if the process is
// killed at any point. This is the reason to choose this store. For other work its guarantee is
// the same as that of other stores: if a process is killed between the work and the completion,
// the work is done again.
//
// # Table
//
// One table serves any number of functions: the prefix of a key keeps them apart, see
// [idempotency.Config.Prefix]. [Store.Migrate] creates it, and [Schema] is the text for
// migrations of your own. The role of the program needs SELECT, INSERT, UPDATE and DELETE;
// Migrate needs CREATE, too, even if the table is there.
//
//	key      the key, as bytes, since text in PostgreSQL cannot contain NUL
//	owner    the claim's owner
//	done     whether the claim was completed
//	ends     end of the claim or of the completion, in milliseconds since 1970
//	expires  when the row may be deleted, in milliseconds since 1970
//	content  the digest of the content, if there is one
//	result   the result, if there is one
//
// Databases delete no rows by themselves. Call [Store.DeleteExpired] regularly. A row that has
// expired counts as deleted, so a late call costs only space.
//
// # Cost
//
// Each call is one statement that finds its row by the primary key. A new record costs two: an
// insert and an update, or an insert and a delete after a failure. A duplicate costs one, which
// writes its row again unchanged: the row is locked and judged in the same statement. With
// InTx the completion is one more statement of the handler's transaction, and nothing else.
//
// # Time
//
// Ends of claims are written and compared by the clock of PostgreSQL's server, so the clocks of
// workers may differ by any amount. SQLite uses the machine's clock.
//
// # Settings
//
// PostgreSQL: the transactions of InTx are READ COMMITTED, whatever the default of the
// database is. With a stricter isolation they could not commit after a renewal of the claim,
// which changes the row that they complete. Lock the rows on which your work depends (SELECT
// … FOR UPDATE). If the default is stricter, other statements of the store may fail to
// serialize, and the record is retried.
//
// Commits must reach the disk, and a replica that may take over (synchronous_standby_names).
// With synchronous_commit=off a crash of the server, and without a synchronous replica a
// failover, may lose the last commits. Duplicates then do the work again. Work of InTx is lost
// with its completion, although SQS has deleted the message.
//
// The completion of InTx sets idle_in_transaction_session_timeout to 5 s for the rest of its
// transaction. A worker that is frozen, or whose machine is lost, before the commit therefore
// keeps the row of its key for 5 s at most. To limit the locks of the work as well, set it for
// the role.
//
// SQLite: give the connections a busy timeout, or a claim fails while another connection
// writes, and begin transactions with IMMEDIATE. With modernc.org/sqlite:
//
//	file:work.db?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate
//
// Each transaction of InTx uses a connection of the pool, and renewals of claims need another.
// So the pool (MaxOpenConns) needs at least one connection more than the number of records, or
// of chunks with package bulk, that are handled at a time. InTx warns if the pool is smaller,
// but not in a chunk.
//
// Calls end with their context. Errors name the operation and the table, never a key or a result.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// Store is an [idempotency.Store] in a table. Make one with [New].
type Store struct {
	db         *sql.DB
	dialect    Dialect
	table      string
	statements statements
	err        error // of the configuration

	warnedOfPool atomic.Bool
}

var _ idempotency.Store = (*Store)(nil)

// New returns a store in a table of a database. It makes no call. The program that runs the
// handler reports invalid parameters when it starts; every call returns the same error.
func New(db *sql.DB, d Dialect, table string) *Store {
	s := &Store{db: db, dialect: d, table: table, err: validate(d, table)}
	if db == nil {
		s.err = errors.Join(errors.New("sqlstore: the database is nil"), s.err)
	}
	if s.err == nil {
		s.statements = statementsOf(d, table)
	}
	return s
}

// Validate returns an error that names every invalid parameter. The program that runs the
// handler calls it at the start.
func (s *Store) Validate() error { return s.err }

// Claim implements [idempotency.Store] with one INSERT, which becomes an UPDATE when the key
// has a row.
func (s *Store) Claim(ctx context.Context, c idempotency.Claim) (idempotency.Found, error) {
	if err := s.check(c.Key); err != nil {
		return idempotency.Found{}, err
	}
	var (
		owner     string
		done      bool
		left      int64
		content   sql.NullString
		hasResult bool
		result    []byte
	)
	err := s.db.QueryRowContext(ctx, s.statements.claim, []byte(c.Key), c.Owner, milliseconds(c.Lease), milliseconds(c.Remember), text(c.Content)).
		Scan(&owner, &done, &left, &content, &hasResult, &result)
	switch {
	case err != nil:
		return idempotency.Found{}, s.wrap("claim", err)
	case done:
		if hasResult && result == nil {
			result = []byte{}
		}
		return idempotency.Found{State: idempotency.Completed, Result: result, Content: content.String}, nil
	case owner != c.Owner:
		return idempotency.Found{State: idempotency.InProgress, Left: time.Duration(max(0, left)) * time.Millisecond, Content: content.String}, nil
	}
	return idempotency.Found{State: idempotency.Claimed}, nil
}

// Renew implements [idempotency.Store] with one UPDATE.
func (s *Store) Renew(ctx context.Context, key, owner string, lease time.Duration) error {
	return s.own(ctx, s.db, "renew", s.statements.renew, key, owner, milliseconds(lease))
}

// Complete implements [idempotency.Store] with one UPDATE.
func (s *Store) Complete(ctx context.Context, key, owner string, c idempotency.Completion) error {
	return s.complete(ctx, s.db, s.statements.complete, key, owner, c)
}

func (s *Store) complete(ctx context.Context, db execer, statement, key, owner string, c idempotency.Completion) error {
	var result any // a nil slice is not NULL in every driver
	if c.Result != nil {
		result = c.Result
	}
	return s.own(ctx, db, "complete", statement, key, owner, milliseconds(c.Remember), text(c.Content), result)
}

// Release implements [idempotency.Store] with one DELETE.
func (s *Store) Release(ctx context.Context, key, owner string) error {
	return s.own(ctx, s.db, "release", s.statements.release, key, owner)
}

// InTx calls work with a transaction, and commits the changes of work together with the
// completion of the record's claim, or neither. ctx is the handler's:
//
//	func shipOrder(ctx context.Context, o Order) error {
//		return store.InTx(ctx, func(tx *sql.Tx) error {
//			_, err := tx.ExecContext(ctx, "INSERT INTO shipments (order_id) VALUES ($1)", o.ID)
//			return err
//		})
//	}
//
// When work returns an error or panics, or ctx ends, the transaction is rolled back. The same
// happens when another worker has taken over the claim: the record is delivered again later,
// and is a duplicate if the other worker completed it. Return the error of InTx from the
// handler.
//
// Call InTx once for a record. It may be called again after an error: if the answer to a commit
// was lost, the second call rolls back, and the next delivery of the record is a duplicate.
// work must not commit or roll back. [idempotency.Keep] must be called before work returns.
//
// Effects outside of the transaction are not protected: make them after InTx if they may be
// lost, and before InTx if they may be repeated.
//
// In a chunk of package bulk, ctx must be from bulk.Context. InTx then completes the claims of
// all items that have not failed when work returns, so work must fail an item (bulk.Item.Fail)
// whose work is not in the transaction. Each item costs one more statement. If the claim of one
// item was lost, everything is rolled back, and the chunk is retried.
//
// The handler must be wrapped by [idempotency.New] with this store. Without a claim InTx returns
// [ErrNoClaim] and does nothing. Records that [idempotency.Config] handles without a key or
// without the store have no claim.
func (s *Store) InTx(ctx context.Context, work func(tx *sql.Tx) error) error {
	if s.err != nil {
		return s.err
	}
	held, ok := idempotency.HeldFrom(ctx, s)
	if !ok {
		return ErrNoClaim
	}
	s.checkPool(ctx)
	tx, err := s.db.BeginTx(ctx, s.dialect.txOptions())
	if err != nil {
		return s.wrap("begin a transaction", err)
	}
	defer func() { _ = tx.Rollback() }() // no-op after a commit
	if err := work(tx); err != nil {
		return err
	}
	return held.Commit(func(key, owner string, c idempotency.Completion) error {
		return s.complete(ctx, tx, s.statements.completeFirst, key, owner, c)
	}, func() error { return s.wrap("commit", tx.Commit()) })
}

// checkPool warns once if all handlers together can use up the pool: then no claim is renewed
// until a handler is done.
func (s *Store) checkPool(ctx context.Context) {
	view, ok := runner.From(ctx)
	if !ok {
		return
	}
	size, handlers := s.db.Stats().MaxOpenConnections, view.Config().Concurrency
	if size > 0 && size <= handlers && !s.warnedOfPool.Swap(true) {
		runner.Warn(ctx, batch.Warning{Message: fmt.Sprintf("the database pool of sqlstore has %d connections, and %d records are handled at a time, each with a transaction: "+
			"claims cannot be renewed while all connections are used. Set MaxOpenConns to %d at least, or handle fewer records at a time", size, handlers, handlers+1)})
	}
}

// ErrNoClaim is returned by [Store.InTx] when ctx has no claim in this store.
var ErrNoClaim = errors.New("sqlstore: the context is not from a handler with a claim in this store: wrap the handler with idempotency.New and this store; in a chunk of package bulk, use bulk.Context")

// DeleteExpired deletes at most limit expired rows, the oldest first, and returns their number.
// Several programs may call it at a time. A small limit, such as 1,000, keeps the transaction
// short: call it again while it returns limit.
func (s *Store) DeleteExpired(ctx context.Context, limit int) (int64, error) {
	if s.err != nil {
		return 0, s.err
	}
	deleted, err := affected(s.db.ExecContext(ctx, s.statements.deleteExpired, limit))
	return deleted, s.wrap("delete expired rows", err)
}

// Migrate creates the table and its index unless they exist. Several programs may call it at a
// time.
func (s *Store) Migrate(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.wrap("migrate", err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range append(s.dialect.lock(), schema(s.dialect, s.table)...) {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return s.wrap("migrate", err)
		}
	}
	return s.wrap("migrate", tx.Commit())
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// own executes a statement that changes the row of a key if owner has the claim.
func (s *Store) own(ctx context.Context, db execer, operation, statement, key, owner string, args ...any) error {
	if err := s.check(key); err != nil {
		return err
	}
	changed, err := affected(db.ExecContext(ctx, statement, append([]any{[]byte(key), owner}, args...)...))
	switch {
	case err != nil:
		return s.wrap(operation, err)
	case changed == 0:
		return idempotency.ErrNotOwner
	}
	return nil
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// maxKey is the largest length of a key, in bytes. An index of PostgreSQL allows 2,704.
const maxKey = 1024

// check returns an error for an invalid configuration or key.
func (s *Store) check(key string) error {
	switch {
	case s.err != nil:
		return s.err
	case key == "" || len(key) > maxKey:
		return fmt.Errorf("sqlstore: the key has %d bytes, must have 1 to %d", len(key), maxKey)
	case !utf8.ValidString(key):
		return errors.New("sqlstore: the key is not valid UTF-8")
	}
	return nil
}

// wrap adds the operation and the table to err. It returns nil for nil.
func (s *Store) wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlstore: %s in table %q: %w", operation, s.table, err)
}

// milliseconds returns d rounded up, so that no claim ends too early.
func milliseconds(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }

func text(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }
