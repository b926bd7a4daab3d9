package histories

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// Faults makes faults between workers and a store, or between a store and its server.
type Faults struct {
	recorder   *recorder
	lag, lease time.Duration
	late       sync.WaitGroup // calls that are still on their way

	mu     sync.Mutex
	random random.Rand
}

var errBroken = errors.New("histories: the connection broke")

func (f *Faults) draw(n int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.Int64N(n)
}

func (f *Faults) slow() { time.Sleep(time.Duration(f.draw(int64(f.lag)))) }

// call makes a call, loses it, delays it, or loses its answer.
func (f *Faults) call(do func() error) error {
	f.slow()
	switch n := f.draw(100); {
	case n < 4: // the call is lost
		return errBroken
	case n < 10: // the answer is lost
		_ = do()
		f.slow()
		return errBroken
	case n < 14: // the call is made after its caller stopped waiting
		wait := f.lag + time.Duration(f.draw(int64(2*f.lease)))
		f.late.Go(func() {
			time.Sleep(wait)
			_ = do()
		})
		return errBroken
	}
	err := do()
	f.slow()
	return err
}

// Around returns a store with faults between the workers and store.
func (f *Faults) Around(store idempotency.Store) idempotency.Store {
	return &random.Around{Store: store, Call: func(ctx context.Context, _ random.StoreCall, do func(context.Context) (idempotency.Found, error)) (idempotency.Found, error) {
		answers := make(chan idempotency.Found, 1)
		err := f.call(func() error {
			found, err := do(ctx)
			answers <- found
			return err
		})
		if err != nil {
			return idempotency.Found{}, err
		}
		return <-answers, nil
	}}
}

// Transport returns a transport with faults between a client that retries and its server. Each
// try without an answer is recorded as a call of its own.
func (f *Faults) Transport(server http.RoundTripper) http.RoundTripper { return lossy{f, server} }

type lossy struct {
	*Faults
	server http.RoundTripper
}

func (f lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	answers := make(chan *http.Response, 1)
	err = f.call(func() error {
		again := r.Clone(context.WithoutCancel(r.Context()))
		again.Body = io.NopCloser(bytes.NewReader(body))
		res, err := f.server.RoundTrip(again)
		if err != nil {
			return err
		}
		// Read to its end, so that the connection can be used again if the answer is lost.
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(text))
		answers <- res
		return err
	})
	if err != nil {
		f.recorder.hidden(r.Context())
		return nil, err
	}
	return <-answers, nil
}

// Conn returns a connection with faults between a client that does not retry and its server:
// lost requests, late requests and lost answers. Each fault breaks the connection.
func (f *Faults) Conn(server net.Conn) net.Conn { return &lossyConn{Conn: server, faults: f} }

type lossyConn struct {
	net.Conn
	faults *Faults
	broken atomic.Bool // answers are lost
	late   atomic.Bool // a goroutine sends the request later, and closes the connection
}

// breakOff loses all further answers of the server.
func (c *lossyConn) breakOff() {
	c.broken.Store(true)
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
}

func (c *lossyConn) Write(request []byte) (int, error) {
	if c.broken.Load() {
		return 0, errBroken
	}
	c.faults.slow()
	switch n := c.faults.draw(100); {
	case n < 2: // the request is lost
		c.breakOff()
		return 0, errBroken
	case n < 5: // the answer is lost
		n, err := c.Conn.Write(request)
		c.breakOff()
		return n, err
	case n < 7: // the request arrives after its caller stopped waiting
		c.late.Store(true)
		c.breakOff()
		request = bytes.Clone(request)
		wait := c.faults.lag + time.Duration(c.faults.draw(int64(2*c.faults.lease)))
		c.faults.late.Go(func() {
			time.Sleep(wait)
			_, _ = c.Conn.Write(request)
			time.Sleep(10 * c.faults.lag) // for the server to handle the request
			_ = c.Conn.Close()
		})
		return len(request), nil
	}
	return c.Conn.Write(request)
}

func (c *lossyConn) Read(answer []byte) (int, error) {
	n, err := c.Conn.Read(answer)
	if c.broken.Load() {
		return 0, errBroken
	}
	return n, err
}

func (c *lossyConn) SetReadDeadline(t time.Time) error {
	if c.broken.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *lossyConn) SetDeadline(t time.Time) error {
	if c.broken.Load() {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

func (c *lossyConn) Close() error {
	c.broken.Store(true)
	if c.late.Load() {
		return nil
	}
	return c.Conn.Close()
}
