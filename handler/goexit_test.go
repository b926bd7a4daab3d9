package handler_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// Hooks that end their goroutine, as testing.T.FailNow does.
var exits = map[string]batch.Hooks{
	"BatchSettled":   {BatchSettled: func(context.Context, batch.BatchInfo, []batch.Result) { runtime.Goexit() }},
	"RecordFinished": {RecordFinished: func(context.Context, batch.Result) { runtime.Goexit() }},
	"Warned":         {Warned: func(context.Context, batch.Warning) { runtime.Goexit() }},
	"Called":         {Called: func(context.Context, batch.Call) { runtime.Goexit() }},
	"Polling":        {Polling: func(context.Context, string, func() batch.Status) { runtime.Goexit() }},
	"Flush":          {Flush: func(context.Context) { runtime.Goexit() }},
	"BatchContext": {BatchContext: func(ctx context.Context, _ batch.BatchInfo, _ []batch.Record) context.Context {
		runtime.Goexit()
		return ctx
	}},
	"RecordContext": {RecordContext: func(ctx context.Context, _ *batch.Record) context.Context { runtime.Goexit(); return ctx }},
}

// settledBy counts outcomes, as the hook after one that ends its goroutine.
type settledBy struct {
	mu       sync.Mutex
	outcomes map[batch.Outcome]int
}

func (s *settledBy) BatchSettled(_ context.Context, _ batch.BatchInfo, results []batch.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range results {
		s.outcomes[r.Outcome]++
	}
}

func (s *settledBy) total() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.outcomes {
		n += k
	}
	return n
}

// A hook that ends its goroutine leaves no record without an outcome, and keeps no other hook
// from being called.
func TestHookCallsGoexit_HarmsNoRecord(t *testing.T) {
	for name, hook := range exits {
		failing := batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			if r.Body == "bad" {
				return batch.RetryAfter(time.Hour, errors.New("bad"))
			}
			return nil
		})
		t.Run(name+"/Lambda", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := testqueue.New(t, testqueue.Standard)
				q.Send("good", "bad")
				seen := &settledBy{outcomes: map[batch.Outcome]int{}}
				h := newHandler(t, failing, handler.Config{SQS: q.Client, Hooks: batch.JoinHooks(hook, testhooks.Of(seen)), Logger: slog.New(slog.DiscardHandler)})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				answer := make(chan string, 1)
				go func() {
					defer close(answer) // also if a hook ended this goroutine
					text, err := h.Invoke(ctx, testqueue.Event(q.Receive(2)))
					if err != nil {
						t.Error(err)
					}
					answer <- string(text)
				}()
				if text := <-answer; strings.Count(text, "itemIdentifier") < 1 {
					t.Errorf("the response is %q, want at least the record that failed", text)
				}
				time.Sleep(time.Minute)
				if n := seen.total(); n != 2 {
					t.Errorf("%d records have an outcome, want 2: %v", n, seen.outcomes)
				}
			})
		})
		t.Run(name+"/container", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := testqueue.New(t, testqueue.Standard)
				q.Send("good", "bad")
				seen := &settledBy{outcomes: map[batch.Outcome]int{}}
				p, err := handler.NewPoller(failing, handler.Config{Poll: handler.PollConfig{Queues: []string{q.URL}}, SQS: q.Client, Hooks: batch.JoinHooks(hook, testhooks.Of(seen)), Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- p.Run(context.Background()) }()
				time.Sleep(5 * time.Second)
				if err := p.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				if n := seen.total(); n < 2 {
					t.Errorf("%d records have an outcome, want 2: %v", n, seen.outcomes)
				}
			})
		})
	}
}
