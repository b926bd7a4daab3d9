package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
)

// world is a database and a queue, in virtual time.
type world struct {
	*testing.T
	server *sqs.Server
	file   string
	db     *sql.DB // of the test, which is not killed
}

func inWorld(t *testing.T, script func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, server: sqs.New(sqs.Config{}), file: filepath.Join(t.TempDir(), "orders.db")}
		defer w.server.Close()
		_, err := w.server.Client().CreateQueue(t.Context(), &awssqs.CreateQueueInput{
			QueueName: aws.String("orders.fifo"), Attributes: map[string]string{"FifoQueue": "true"},
		})
		if err == nil {
			w.db, err = open(t.Context(), w.file)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer w.db.Close()
		script(w)
	})
}

// messages returns those of the queue.
func (w *world) messages() []sqs.MessageSnapshot { return w.server.Snapshot()[0].Messages }

// require compares the numbers of messages in the queue and of rows in the outbox.
func (w *world) require(sent, left int) {
	w.Helper()
	if n := len(w.messages()); n != sent || w.left() != left {
		w.Errorf("%d messages in the queue, %d in the outbox, want %d and %d", n, w.left(), sent, left)
	}
}

func (w *world) place(customer string, total int) {
	w.Helper()
	if err := placeOrder(w.Context(), w.db, order{Customer: customer, Total: total}); err != nil {
		w.Fatal(err)
	}
}

// left is the number of rows in the outbox.
func (w *world) left() (n int) {
	w.Helper()
	if err := w.db.QueryRow(`SELECT count(*) FROM outbox`).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

// process is a relay as a process has it. Once it is killed, nothing that it does has an
// effect: neither on the database nor on the queue.
type process struct {
	relay  *relay
	life   *life
	cancel context.CancelFunc
	ended  chan struct{}
}

// start begins a relay that is killed before or after its n-th step, a statement or a call;
// 0 for never.
func (w *world) start(name string, n int) *process {
	w.Helper()
	p := &process{life: &life{dead: make(chan struct{})}, ended: make(chan struct{})}
	p.life.left.Store(int64(n))
	db := sql.OpenDB(connector{w.db.Driver(), "file:" + w.file + "?_txlock=immediate&_pragma=busy_timeout(5000)", p.life})
	client := w.server.Client(func(o *awssqs.Options) { o.HTTPClient = mortalClient{o.HTTPClient, p.life} })
	s, err := sender.New(client, sender.Config{Queue: w.server.QueueURL("orders.fifo")})
	if err != nil {
		w.Fatal(err)
	}
	p.relay = &relay{db: db, sender: s, owner: name}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	go func() {
		defer close(p.ended)
		p.relay.run(ctx)
		s.Close(ctx)
		_ = db.Close()
	}()
	go func() { // the rest of a process that was killed must end as well
		select {
		case <-p.life.dead:
			cancel()
			s.Close(ctx)
		case <-p.ended:
		}
	}()
	return p
}

func (p *process) stop() {
	p.cancel()
	<-p.ended
}

// life counts the steps until a process is killed.
type life struct {
	left atomic.Int64
	dead chan struct{}
}

var errKilled = errors.New("the process was killed")

// step is called before and after each step.
func (l *life) step() error {
	if l.left.Add(-1) == 0 {
		close(l.dead)
	}
	return l.check()
}

func (l *life) check() error {
	select {
	case <-l.dead:
		return errKilled
	default:
		return nil
	}
}

// mortalClient is the way to SQS.
type mortalClient struct {
	to   awssqs.HTTPClient
	life *life
}

func (c mortalClient) Do(r *http.Request) (*http.Response, error) {
	if err := c.life.step(); err != nil {
		return nil, err
	}
	answer, err := c.to.Do(r)
	if killed := c.life.step(); killed != nil && err == nil {
		_ = answer.Body.Close()
		return nil, killed // SQS has the messages, and the relay does not know
	}
	return answer, err
}

// connector is the way to the database.
type connector struct {
	to   driver.Driver
	name string
	life *life
}

func (c connector) Driver() driver.Driver { return c.to }

func (c connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.to.Open(c.name)
	if err != nil {
		return nil, err
	}
	return mortalConn{conn, c.life}, nil
}

type mortalConn struct {
	driver.Conn
	life *life
}

func (c mortalConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.life.step(); err != nil {
		return nil, err
	}
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	return result, errors.Join(err, c.life.step())
}

func (c mortalConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.life.step(); err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}
