package servers_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

// process is the connections of a process that can be killed at a statement. Like those of
// a real one its connections are closed then, and it does nothing any more.
type process struct {
	open driver.Connector

	mu    sync.Mutex
	fate  fate
	steps int // statements since it has its fate
	dead  bool
	conns map[*conn]bool
	// woken is closed to have a frozen process go on. frozen is closed when it is frozen.
	woken, frozen chan struct{}
}

// fate is what happens to a process at its statement number at, from 1 on.
type fate struct {
	how how
	at  int
}

type how uint8

const (
	lives        how = iota
	killedBefore     // before the statement is sent
	killedAfter      // after it was done, and before its answer
	freezes          // before it is sent, until others have gone on
	stopped          // before it is sent: the real process is sent SIGSTOP
	losesAnswer      // its connection breaks after the statement was done, and the process goes on
)

var errKilled = errors.New("the process was killed")

func newProcess(open driver.Connector) (*process, *sql.DB) {
	p := &process{open: open, conns: map[*conn]bool{}}
	return p, sql.OpenDB(p)
}

// draw gives a process its fate.
func (p *process) draw(f fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fate, p.steps, p.woken, p.frozen = f, 0, make(chan struct{}), make(chan struct{})
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// step does a statement, unless the process is or gets killed.
func (c *conn) step(statement func() error) error { return c.stepOf(statement, func() {}) }

// stepOf is step for a statement whose answer is lost by discard.
func (c *conn) stepOf(statement func() error, discard func()) error {
	p := c.process
	p.mu.Lock()
	p.steps++
	now := p.steps == p.fate.at
	dead, how, woken, frozen := p.dead, p.fate.how, p.woken, p.frozen
	p.mu.Unlock()
	switch {
	case dead, c.broken:
		return errKilled
	case now && how == losesAnswer:
		_ = statement()
		discard()
		c.broken = true
		_ = c.Conn.Close()
		return errKilled
	case now && how == killedBefore:
		p.kill()
		return errKilled
	case now && how == killedAfter:
		_ = statement()
		discard()
		p.kill()
		return errKilled
	case now && how == stopped:
		stopMyself()
	case now && how == freezes:
		close(frozen)
		<-woken
	}
	return statement()
}

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for c := range p.conns {
		if !c.broken {
			_ = c.Conn.Close()
		}
	}
}

// Connect implements driver.Connector.
func (p *process) Connect(ctx context.Context) (driver.Conn, error) {
	if p.isDead() {
		return nil, errKilled
	}
	raw, err := p.open.Connect(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &conn{Conn: raw, process: p}
	p.conns[c] = true
	return c, nil
}

// Driver implements driver.Connector.
func (p *process) Driver() driver.Driver { return p.open.Driver() }

type conn struct {
	driver.Conn
	process *process
	broken  bool
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool { return !c.broken }

func (c *conn) Close() error {
	c.process.mu.Lock()
	defer c.process.mu.Unlock()
	delete(c.process.conns, c)
	if c.process.dead || c.broken {
		return nil // it is closed
	}
	return c.Conn.Close()
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.step(func() error {
		result, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return result, err
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.stepOf(func() error {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	}, func() {
		if rows != nil {
			_ = rows.Close() // else SQLite keeps the connection open
		}
	})
	return rows, err
}

func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	var raw driver.Tx
	err := c.step(func() (err error) {
		raw, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
		return err
	})
	return tx{raw, c}, err
}

type tx struct {
	driver.Tx
	conn *conn
}

func (t tx) Commit() error { return t.conn.step(t.Tx.Commit) }

func (t tx) Rollback() error {
	if t.conn.process.isDead() || t.conn.broken {
		return errKilled
	}
	return t.Tx.Rollback()
}
