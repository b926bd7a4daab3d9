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
//	go test ./... -args -postgres /usr/lib/postgresql/15/bin -redis /usr/bin/redis-server
var (
	postgresFolder = flag.String("postgres", "", "the folder of PostgreSQL's programs, to run the tests with it, too")
	redisServer    = flag.String("redis", "", "redis-server or valkey-server, to run the tests with it, too")
)

func TestMain(m *testing.M) {
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

// start starts a server, in a folder of its own, as a user that is not root.
func start(command func(folder string) (*exec.Cmd, error)) (folder string, err error) {
	folder, err = os.MkdirTemp("", "stores")
	if err != nil {
		return "", err
	}
	stops = append(stops, func() { _ = os.RemoveAll(folder) })
	if err := unprivileged(folder, nil); err != nil {
		return "", err
	}
	cmd, err := command(folder)
	if err != nil {
		return "", err
	}
	if err := unprivileged(folder, cmd); err != nil {
		return "", err
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return "", err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return "", err
	}
	stops = append(stops[:len(stops)-1], func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		_ = log.Close()
		_ = os.RemoveAll(folder)
	})
	return folder, nil
}

// unprivileged has a command run as postgres, and gives it its folder, if the test is root:
// PostgreSQL refuses root.
func unprivileged(folder string, cmd *exec.Cmd) error {
	if os.Geteuid() != 0 || *postgresFolder == "" {
		return nil
	}
	postgres, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, errUID := strconv.Atoi(postgres.Uid)
	gid, errGID := strconv.Atoi(postgres.Gid)
	if err := errors.Join(errUID, errGID); err != nil {
		return err
	}
	if cmd != nil {
		cmd.Dir = folder
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	return os.Chown(folder, uid, gid)
}

// postgres is a server, started once. Its socket is in the folder.
var postgres = sync.OnceValues(func() (folder string, err error) {
	folder, err = start(func(folder string) (*exec.Cmd, error) {
		data := filepath.Join(folder, "data")
		initialize := exec.Command(filepath.Join(*postgresFolder, "initdb"), "-D", data, "-U", "test", "-A", "trust", "-N", "-E", "UTF8")
		if err := unprivileged(folder, initialize); err != nil {
			return nil, err
		}
		if out, err := initialize.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("initdb: %w: %s", err, out)
		}
		return exec.Command(filepath.Join(*postgresFolder, "postgres"), "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=300"), nil
	})
	if err != nil {
		return "", err
	}
	db := openPostgres(postgresConfig(folder))
	defer db.Close()
	return folder, eventually(func() error { return db.Ping() })
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
	c, err := pgx.ParseConfig("host=" + folder + " user=test dbname=postgres")
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
