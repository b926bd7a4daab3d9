package simulate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// breakMutants break what holds when calls break or are refused as a whole, in both modes.
var breakMutants = []mutantCase{
	{"gives up where SQS refuses a call as a whole", Divided, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		list, _ := body(r)["Entries"].([]any)
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusBadRequest && len(list) > 1 {
			response.Body = io.NopCloser(bytes.NewReader([]byte(`{"__type":"com.amazonaws.sqs#AccessDenied"}`)))
		}
		return response, err
	})},
	{"takes a connection that ends for a success", VisibilitySet, wire(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		again := with(r, body(r))
		response, err := next.RoundTrip(r)
		if errors.Is(err, syscall.ECONNRESET) && isCall(r, "ChangeMessageVisibilityBatch") {
			return confirmed(again), nil
		}
		return response, err
	})},
}

// wideMutants break what holds on Lambda while hooks block or many invocations overlap.
var wideMutants = []mutantCase{
	{"waits for hooks that block", Punctual, invoking(func(ctx context.Context, payload []byte, next Invoke, way http.RoundTripper) ([]byte, error) {
		defer way.(*connection).env.awaitHooks()
		return next(ctx, payload)
	})},
	{"mixes up the answers of many invocations", Once, Mutant{Invoke: func(next Invoke, _ http.RoundTripper) Invoke {
		var under atomic.Int64
		return func(ctx context.Context, payload []byte) ([]byte, error) {
			many := under.Add(1) > 32
			defer under.Add(-1)
			response, err := next(ctx, payload)
			if many && err == nil {
				response = []byte(`{"batchItemFailures":[]}`)
			}
			return response, err
		}
	}}},
}

// pollHookMutants break what holds in a container while hooks block.
var pollHookMutants = []mutantCase{
	{"extends nothing while a hook blocks", Hidden, whileBlocked(extends)},
	{"deletes nothing while a hook blocks", Final, whileBlocked(func(r *http.Request) bool { return isCall(r, "DeleteMessageBatch") })},
	{"waits for hooks that block", Swift, pollers(func(p *poller) {
		p.run = func(ctx context.Context) error {
			defer p.env.awaitHooks()
			return p.Poller.Run(ctx)
		}
	})},
}

// whileBlocked answers some calls by itself while a hook blocks.
func whileBlocked(which func(*http.Request) bool) Mutant {
	return Mutant{Transport: func(next http.RoundTripper) http.RoundTripper {
		env := next.(*connection).env
		return confirm(func(r *http.Request) bool { return env.blocked.Load() > 0 && which(r) }).Transport(next)
	}}
}

// awaitHooks waits until no hook blocks, for longer than anyone may.
func (e *environment) awaitHooks() {
	for range 200 {
		if e.blocked.Load() > 0 {
			time.Sleep(time.Second)
		}
	}
}
