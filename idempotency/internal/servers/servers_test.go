package servers_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/sqsbatch/sqsbatch/idempotency/sqlstore"
	"go.uber.org/goleak"
	sqlitedriver "modernc.org/sqlite"
)

// SQLite is always tested. The others are if their programs are named:
//
//	go test ./... -args -postgres /usr/lib/postgresql/15/bin -redis redis-server,valkey-server
var (
	postgresFolder = flag.String("postgres", "", "the folder of PostgreSQL's programs, to run the tests with it, too")
	redisServers   = flag.String("redis", "", "redis-server, valkey-server or both with a comma, to run the tests with them, too")
)

func TestMain(m *testing.M) {
	if task := os.Getenv(taskVariable); task != "" {
		workAndStop(task)
		return
	}
	flag.Parse()
	code := m.Run()
	for _, stop := range stops {
		stop()
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

var stops []func() // servers, when all tests are over

// node is a server in a process and a folder of its own, which a test may kill.
type node struct {
	folder string
	port   string   // of Redis, for a replica
	args   []string // the command
	user   *syscall.SysProcAttr
	cmd    *exec.Cmd     // nil if it does not run
	ended  chan struct{} // closed when it has ended
}

// newNode makes the folder. PostgreSQL's belongs to the user postgres if the test is root, whom
// PostgreSQL refuses.
func newNode(forPostgres bool) (*node, error) {
	folder, err := os.MkdirTemp("", "stores")
	if err != nil {
		return nil, err
	}
	n := &node{folder: folder}
	if !forPostgres || os.Geteuid() != 0 {
		return n, nil
	}
	postgres, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, errUID := strconv.Atoi(postgres.Uid)
	gid, errGID := strconv.Atoi(postgres.Gid)
	if err := errors.Join(errUID, errGID); err != nil {
		return nil, err
	}
	n.user = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return n, os.Chown(folder, uid, gid)
}

func (n *node) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.SysProcAttr = n.folder, n.user
	return cmd
}

// run runs a program to its end.
func (n *node) run(args ...string) error {
	if out, err := n.command(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], err, out)
	}
	return nil
}

// start starts the server, and returns when ready returns nil. It starts it again if it ends
// before: after a SIGKILL, PostgreSQL's other processes live on for a moment.
func (n *node) start(ready func() error) error {
	return eventually(func() error {
		select {
		case <-n.ended:
			n.cmd = nil
		default:
		}
		if n.cmd == nil {
			log, err := os.OpenFile(filepath.Join(n.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			defer log.Close()
			cmd := n.command(n.args...)
			cmd.Stdout, cmd.Stderr = log, log
			if err := cmd.Start(); err != nil {
				return err
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait()
			}()
			n.cmd, n.ended = cmd, ended
		}
		return ready()
	})
}

// stop ends the server by a signal.
func (n *node) stop(s syscall.Signal) {
	if n.cmd != nil {
		_ = n.cmd.Process.Signal(s)
		<-n.ended
		n.cmd = nil
	}
}

func (n *node) remove() {
	n.stop(syscall.SIGINT)
	_ = os.RemoveAll(n.folder)
}

// newPostgresNode is a node without data.
func newPostgresNode() (*node, error) {
	n, err := newNode(true)
	if err == nil {
		n.args = []string{filepath.Join(*postgresFolder, "postgres"), "-D", n.data(), "-k", n.folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=300"}
	}
	return n, err
}

func (n *node) data() string { return filepath.Join(n.folder, "data") }

// initialize makes an empty database and starts the server.
func (n *node) initialize() error {
	if err := n.run(filepath.Join(*postgresFolder, "initdb"), "-D", n.data(), "-U", "test", "-A", "trust", "-N", "-E", "UTF8"); err != nil {
		return err
	}
	db := openPostgres(postgresConfig(n.folder))
	defer db.Close()
	return n.start(db.Ping)
}

// postgres is a server, started once. Its socket is in the folder.
var postgres = sync.OnceValues(func() (folder string, err error) {
	n, err := newPostgresNode()
	if err != nil {
		return "", err
	}
	stops = append(stops, n.remove)
	return n.folder, n.initialize()
})

// eventually waits for a server to answer.
func eventually(ready func() error) (err error) {
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		if err = ready(); err == nil {
			return nil
		}
	}
	return err
}

func postgresConfig(folder string) *pgx.ConnConfig {
	return parsePostgres("host=" + folder + " user=test dbname=postgres")
}

func parsePostgres(text string) *pgx.ConnConfig {
	c, err := pgx.ParseConfig(text)
	if err != nil {
		panic(err)
	}
	return c
}

func openPostgres(c *pgx.ConnConfig) *sql.DB { return stdlib.OpenDB(*c) }

// database is where tables are.
type database struct {
	name    string
	dialect sqlstore.Dialect
	// open opens it once more, as another process does.
	open func(t testing.TB) *sql.DB
	// connector is for connections that a test opens and closes by itself.
	connector driver.Connector
}

// databases are new and empty ones: SQLite, and PostgreSQL if it is named.
func databases(t testing.TB) []database {
	t.Helper()
	list := []database{sqlite(t)}
	if *postgresFolder != "" {
		folder, err := postgres()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, newPostgres(t, folder, ""))
	}
	return list
}

// eachDatabase runs a test with each of databases.
func eachDatabase(t *testing.T, test func(t *testing.T, d database)) {
	for _, d := range databases(t) {
		t.Run(d.name, func(t *testing.T) { test(t, d) })
	}
}

func sqlite(t testing.TB) database {
	file := filepath.Join(t.TempDir(), "test.db")
	c := sqliteConnector("file:" + file + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_txlock=immediate")
	return database{"SQLite", sqlstore.SQLite, func(t testing.TB) *sql.DB {
		db := sql.OpenDB(c)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}, c}
}

// sqliteConnector is the name of a database.
type sqliteConnector string

func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	return c.Driver().Open(string(c))
}

func (c sqliteConnector) Driver() driver.Driver { return &sqlitedriver.Driver{} }

// newPostgres is a schema of its own in the server, with a default isolation if one is named.
func newPostgres(t testing.TB, folder, isolation string) database {
	t.Helper()
	schema := "test_" + strings.ToLower(strconv.FormatInt(time.Now().UnixNano(), 36))
	db := openPostgres(postgresConfig(folder))
	defer db.Close()
	if err := eventually(func() error { // a test before may have killed the server
		_, err := db.Exec("CREATE SCHEMA " + schema)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	config := postgresConfig(folder)
	config.RuntimeParams["search_path"] = schema
	if isolation != "" {
		config.RuntimeParams["default_transaction_isolation"] = isolation
	}
	return database{"PostgreSQL", sqlstore.PostgreSQL, func(t testing.TB) *sql.DB {
		db := openPostgres(config)
		db.SetMaxIdleConns(20)
		db.SetConnMaxIdleTime(2 * time.Second)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}, stdlib.GetConnector(*config)}
}
