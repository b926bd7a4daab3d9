package servers_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/redisstore"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
)

// cluster is a primary that can be killed and started again, or replaced by a replica.
type cluster struct {
	product
	store func(t testing.TB) idempotency.Store // of a new client, which finds the primary

	mu      sync.Mutex
	primary *node
	spare   *node // the replica, or the primary of before
}

// product is how PostgreSQL, or Redis and Valkey, do it.
type product interface {
	// up starts a node that has its data.
	up(n *node) error
	// follow makes a node an empty replica and returns when it has all that the primary has.
	follow(replica, primary *node) error
	// arrived returns when the replica has all that the primary had answered before.
	arrived(replica, primary *node) error
	// cut ends the replication.
	cut(replica *node) error
	promote(replica *node) error
}

// now returns the primary.
func (c *cluster) now() *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

// protect starts the replica.
func (c *cluster) protect() error { return c.follow(c.spare, c.primary) }

// restart kills the primary and starts it again.
func (c *cluster) restart() (o outage, err error) {
	c.primary.stop(syscall.SIGKILL)
	o.killed = time.Now()
	err = c.up(c.primary)
	o.back = time.Now()
	return o, err
}

// failOver cuts the replication, kills the primary after a while, and promotes the replica. The old primary is the next
// replica.
func (c *cluster) failOver(while func()) (o outage, err error) {
	replica, primary := c.spare, c.primary
	o.from = time.Now()
	if err := errors.Join(c.arrived(replica, primary), c.cut(replica)); err != nil {
		return o, err
	}
	while()
	primary.stop(syscall.SIGKILL)
	o.killed = time.Now()
	if err := c.promote(replica); err != nil {
		return o, err
	}
	c.mu.Lock()
	c.primary, c.spare = replica, primary
	c.mu.Unlock()
	o.back = time.Now()
	return o, c.protect()
}

// outage is a time without a primary.
type outage struct {
	// from is the moment from which on answered writes may be lost. It is zero for a restart.
	from         time.Time
	killed, back time.Time
}

// postgresPair is PostgreSQL with streaming replication.
type postgresPair struct {
	// synchronous commits wait for the replica, while there is one.
	synchronous bool
}

func newPostgresCluster(t testing.TB, synchronous bool, settings ...string) (*cluster, database) {
	t.Helper()
	if *postgresFolder == "" {
		t.Skip("PostgreSQL is not named")
	}
	var nodes [2]*node
	for i := range nodes {
		n, err := newPostgresNode()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.remove)
		for _, s := range settings {
			n.args = append(n.args, "-c", s)
		}
		nodes[i] = n
	}
	if err := nodes[0].initialize(); err != nil {
		t.Fatal(err)
	}
	// As users do: each new connection finds the primary.
	config := postgresConfig(nodes[0].folder + "," + nodes[1].folder + " target_session_attrs=read-write")
	d := database{"PostgreSQL", sqlstore.PostgreSQL, func(t testing.TB) *sql.DB {
		db := openPostgres(config)
		db.SetMaxIdleConns(20)
		db.SetConnMaxIdleTime(2 * time.Second)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}, stdlib.GetConnector(*config)}
	store := func(t testing.TB) idempotency.Store { return sqlstore.New(d.open(t), d.dialect, table) }
	migrated(t, d.open(t), d)
	return &cluster{product: &postgresPair{synchronous}, store: store, primary: nodes[0], spare: nodes[1]}, d
}

// ask runs statements in a node, and returns the answer of the last one.
func ask(n *node, statements ...string) (answer string, err error) {
	db := openPostgres(postgresConfig(n.folder))
	defer db.Close()
	for _, s := range statements[:len(statements)-1] {
		if _, err := db.Exec(s); err != nil {
			return "", fmt.Errorf("%s: %w", s, err)
		}
	}
	err = db.QueryRow(statements[len(statements)-1]).Scan(&answer)
	return answer, err
}

// until waits until a query is true.
func until(n *node, query string) error {
	return eventually(func() error {
		if answer, err := ask(n, query); err != nil || answer != "true" {
			return errors.Join(err, fmt.Errorf("%s: %s", query, answer))
		}
		return nil
	})
}

func (p *postgresPair) up(n *node) error {
	return n.start(func() error {
		_, err := ask(n, "SELECT 'up'")
		return err
	})
}

func (p *postgresPair) follow(replica, primary *node) error {
	replica.stop(syscall.SIGKILL)
	if err := os.RemoveAll(replica.data()); err != nil {
		return err
	}
	if err := replica.run(filepath.Join(*postgresFolder, "pg_basebackup"), "-h", primary.folder, "-U", "test", "-D", replica.data(), "-R", "-X", "stream", "-c", "fast"); err != nil {
		return err
	}
	if err := errors.Join(p.up(replica), until(primary, "SELECT (count(*) = 1)::text FROM pg_stat_replication WHERE state = 'streaming'")); err != nil || !p.synchronous {
		return err
	}
	if _, err := ask(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()::text"); err != nil {
		return err
	}
	return until(primary, "SELECT (count(*) = 1)::text FROM pg_stat_replication WHERE sync_state = 'sync'")
}

func (p *postgresPair) arrived(replica, primary *node) error {
	at, err := ask(primary, "SELECT pg_current_wal_flush_lsn()::text")
	if err != nil {
		return err
	}
	return until(replica, "SELECT (pg_last_wal_receive_lsn() >= '"+at+"')::text")
}

func (p *postgresPair) cut(replica *node) error {
	if _, err := ask(replica, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()::text"); err != nil {
		return err
	}
	return until(replica, "SELECT (count(*) = 0)::text FROM pg_stat_wal_receiver")
}

func (p *postgresPair) promote(replica *node) error {
	_, err := ask(replica, "SELECT pg_promote()::text")
	return err
}

// redisPair is Redis or Valkey with a replica.
type redisPair struct{}

// newRedisCluster makes one. With wait, each call waits for the replica (WAIT), while there is one.
func newRedisCluster(t testing.TB, program string, wait bool, settings ...string) *cluster {
	t.Helper()
	c := &cluster{product: redisPair{}}
	for i := range 2 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		n, err := newRedisNode(program, append([]string{"--bind", "127.0.0.1", "--port", port, "--repl-diskless-sync-delay", "0"}, settings...)...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.remove)
		if n.port = port; i == 0 {
			c.primary = n
		} else {
			c.spare = n
		}
	}
	if err := c.primary.startRedis(); err != nil {
		t.Fatal(err)
	}
	dial := func() (net.Conn, error) { return net.Dial("unix", redisSocket(c.now())) }
	c.store = func(t testing.TB) idempotency.Store {
		if wait {
			return goRedisWait(t, dial)
		}
		return goRedis(t, dial)
	}
	return c
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// goRedisWait fails a call that no replica has after half a second.
func goRedisWait(t testing.TB, dial func() (net.Conn, error)) *redisstore.Store {
	c := goRedisClient(t, dial)
	return redisstore.New(func(ctx context.Context, script string, keys, args []string) (any, error) {
		p := c.Pipeline() // WAIT counts the writes of its connection
		answer := p.Eval(ctx, script, keys, args)
		replicas := p.Do(ctx, "WAIT", 1, 500)
		if _, err := p.Exec(ctx); err != nil {
			return nil, err
		}
		if n, err := replicas.Int(); err != nil || n == 0 {
			return nil, errors.Join(errors.New("no replica has the write"), err)
		}
		return answer.Result()
	})
}

func (redisPair) up(n *node) error { return n.startRedis() }

// replicate sends REPLICAOF, whose arguments are NO ONE for a primary.
func replicate(n *node, host, port string) error {
	c := n.redis()
	defer c.Close()
	return c.Do(context.Background(), "REPLICAOF", host, port).Err()
}

func (redisPair) follow(replica, primary *node) error {
	replica.stop(syscall.SIGKILL)
	if err := os.RemoveAll(filepath.Join(replica.folder, "appendonlydir")); err != nil {
		return err
	}
	if err := errors.Join(replica.startRedis(), replicate(replica, "127.0.0.1", primary.port)); err != nil {
		return err
	}
	return redisPair{}.arrived(replica, primary)
}

func (redisPair) arrived(_, primary *node) error {
	return eventually(func() error {
		c := primary.redis().Conn()
		defer c.Close()
		if err := c.Set(context.Background(), "arrived", 1, 0).Err(); err != nil {
			return err
		}
		if n, err := c.Do(context.Background(), "WAIT", 1, 1000).Int(); err != nil || n != 1 {
			return fmt.Errorf("%d replicas, %w", n, err)
		}
		return nil
	})
}

// cut has the replica look for another primary, which is not there: it keeps its data.
func (redisPair) cut(replica *node) error { return replicate(replica, "127.0.0.1", "1") }

func (redisPair) promote(replica *node) error { return replicate(replica, "NO", "ONE") }
