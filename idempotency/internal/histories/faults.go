package histories

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
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
