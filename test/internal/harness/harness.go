// Package harness is what the checks share that run programs as processes: it builds them, finds
// ports, waits, starts servers of SQS and DynamoDB, and makes queues and looks into them.
package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
)

// Until calls check again and again until it returns nil. It returns check's last error if
// that takes longer than limit.
func Until(ctx context.Context, limit time.Duration, check func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %v", limit))
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if !sleep.For(ctx, 20*time.Millisecond) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// Ready waits, for at most a minute, until check returns nil: a process is ready. It fails when
// the process ends before.
func Ready(ctx context.Context, p *subprocess.Process, check func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.Ended():
			cancel(fmt.Errorf("the process ended: %w", p.Err()))
		case <-ctx.Done():
		}
	}()
	if err := Until(ctx, time.Minute, check); err != nil {
		return fmt.Errorf("%w; it printed at last: %q", err, p.LastLines())
	}
	return nil
}

// Listens fails as long as nothing listens on the address.
func Listens(address string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	return c.Close()
}

// Systems give outgoing connections ports from 32768 up (Linux) or from 49152 up. A port
// below these is still free when the server comes to listen on it.
const firstPort, lastPort = 20000, 32767

var returned sync.Map

// FreeAddress returns an address of the loopback interface on which nothing listens. It returns
// none twice.
func FreeAddress() (string, error) {
	var err error
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort+1))
		if _, again := returned.LoadOrStore(address, true); again {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("find a free port from %d to %d: %w", firstPort, lastPort, err)
}

// CacheRoot is the folder of the user's cache that has what the checks install, and their logs.
func CacheRoot() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir() // no home: a build container, say
	}
	return filepath.Join(cache, "sqsbatch")
}

// Cached returns the folder of that name in CacheRoot, which fill makes the first time.
func Cached(name string, fill func(dir string) error) (string, error) {
	dir := filepath.Join(CacheRoot(), name)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintf(os.Stderr, "installing %s\n", dir)
	if err := os.MkdirAll(CacheRoot(), 0o755); err != nil {
		return "", err
	}
	// A folder of its own, renamed when it is complete: an installation that
	// was interrupted is done again, and two at a time do not meet.
	part, err := os.MkdirTemp(CacheRoot(), "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(part)
	if err := fill(part); err != nil {
		return "", fmt.Errorf("install %s: %w", name, err)
	}
	if err := os.Rename(part, dir); err != nil {
		if _, late := os.Stat(dir); late != nil {
			return "", err
		}
		// Another process was faster.
	}
	return dir, nil
}
