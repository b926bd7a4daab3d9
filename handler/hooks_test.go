package handler_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// Hooks that block. finishedPanics makes a warning while records are handled, settledPanics and
// flushPanics make one after.
var (
	settledBlocks  = batch.Hooks{BatchSettled: func(context.Context, batch.BatchInfo, []batch.Result) { time.Sleep(time.Hour) }}
	warnedBlocks   = batch.Hooks{Warned: func(context.Context, batch.Warning) { time.Sleep(time.Hour) }}
	flushBlocks    = batch.Hooks{Flush: func(context.Context) { time.Sleep(time.Hour) }}
	calledBlocks   = batch.Hooks{Called: func(context.Context, batch.Call) { time.Sleep(time.Hour) }}
	finishedPanics = batch.Hooks{RecordFinished: func(context.Context, batch.Result) { panic("oops") }}
	settledPanics  = batch.Hooks{BatchSettled: func(context.Context, batch.BatchInfo, []batch.Result) { panic("oops") }}
	flushPanics    = batch.Hooks{Flush: func(context.Context) { panic("oops") }}
	calledPanics   = batch.Hooks{Called: func(context.Context, batch.Call) { panic("oops") }}
)

// What blocks is not waited for beyond the deadline: the response comes, with
// what failed in it, and the log says why it took so long.
func TestHooksThatBlockCostNoResponse(t *testing.T) {
	for _, c := range []struct {
		name  string
		hooks []batch.Hooks
		body  string
		times time.Duration // of the function
		after time.Duration // the response comes then, at the latest
		warns string
	}{
		{name: "none", body: "fail", times: time.Minute},
		{name: "BatchSettled", hooks: []batch.Hooks{settledBlocks}, body: "fail", times: time.Minute, after: 30 * time.Second, warns: "a BatchSettled, Called or Warned hook still runs 30s after"},
		{name: "BatchSettled, at the end", hooks: []batch.Hooks{settledBlocks}, body: "hang", times: time.Second, after: 990 * time.Millisecond, warns: "a BatchSettled, Called or Warned hook still runs"},
		{name: "Warned, of a record's hook", hooks: []batch.Hooks{warnedBlocks, finishedPanics}, body: "fail", times: time.Minute, after: 59900 * time.Millisecond, warns: "a RecordFinished hook still runs"},
		{name: "Warned, of settling", hooks: []batch.Hooks{warnedBlocks}, body: "never", times: time.Minute, after: 31 * time.Second, warns: "a BatchSettled, Called or Warned hook still runs 30s after"},
		{name: "Warned, of settling, at the end", hooks: []batch.Hooks{warnedBlocks, settledPanics}, body: "hang", times: time.Second, after: 990 * time.Millisecond, warns: "a BatchSettled, Called or Warned hook still runs"},
		{name: "Warned, of no time", hooks: []batch.Hooks{warnedBlocks}, body: "fail", times: 40 * time.Millisecond, after: 39 * time.Millisecond, warns: "a BatchSettled, Called or Warned hook still runs"},
		{name: "Warned, of a flush", hooks: []batch.Hooks{warnedBlocks, flushPanics}, body: "fail", times: time.Minute, after: 33 * time.Second, warns: "the hook Flush panicked"},
		{name: "BatchSettled and Flush", hooks: []batch.Hooks{settledBlocks, flushBlocks}, body: "fail", times: time.Second, after: 990 * time.Millisecond, warns: "a Flush hook took too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(24 * time.Hour)  // for what was given up
				t.Setenv("AWS_SAM_LOCAL", "true") // calls are not what this is about; a dry run warns
				var book logbook
				h := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Hooks: batch.JoinHooks(c.hooks...), Logger: book.logger()})
				ctx, cancel := context.WithTimeout(t.Context(), c.times)
				defer cancel()
				began := time.Now()
				response, err := h.Invoke(ctx, payload(ordersARN, c.body))
				took := time.Since(began)
				if err != nil || !strings.Contains(string(response), `"m-0"`) {
					t.Errorf("response %s, %v: want m-0 in it", response, err)
				}
				if took > c.after {
					t.Errorf("the response came after %v, want %v at most", took, c.after)
				}
				var messages []string
				for _, line := range book.lines(t, "") {
					messages = append(messages, line["msg"].(string))
				}
				if says := slices.ContainsFunc(messages, func(m string) bool { return strings.Contains(m, c.warns) }); !says {
					t.Errorf("took %v, logged %q: want %q", took, messages, c.warns)
				}
			})
		})
	}
}

// hanging is a log that is not read.
type hanging struct{ slog.Handler }

func (h hanging) Enabled(context.Context, slog.Level) bool { return true }
func (h hanging) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h hanging) Handle(context.Context, slog.Record) error {
	time.Sleep(time.Hour)
	return nil
}

func TestALogThatBlocksCostsNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(24 * time.Hour) // for what was given up
		t.Setenv("AWS_SAM_LOCAL", "true")
		h := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Hooks: batch.JoinHooks(finishedPanics, settledPanics, flushPanics), Logger: slog.New(hanging{slog.DiscardHandler})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		response, err := h.Invoke(ctx, payload(ordersARN, "fail"))
		if took := time.Since(began); err != nil || !strings.Contains(string(response), `"m-0"`) || took > 59900*time.Millisecond {
			t.Errorf("response %s, %v after %v", response, err, took)
		}
	})
}

func TestACalledHookThatBlocksCostsNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(24 * time.Hour) // for what was given up
		q := testqueue.New(t, testqueue.Standard)
		q.Send("fail")
		var book logbook
		h := newHandler(t, batch.HandlerFunc(byBody), handler.Config{SQS: q.Client, Hooks: calledBlocks, Logger: book.logger()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		response, err := h.Invoke(ctx, testqueue.Event(q.Receive(1)))
		if took := time.Since(began); err != nil || !strings.Contains(string(response), "itemIdentifier") || took > 30*time.Second {
			t.Errorf("response %s, %v after %v", response, err, took)
		}
		if log := book.String(); !strings.Contains(log, "a BatchSettled, Called or Warned hook still runs 30s after") {
			t.Errorf("logged %s", log)
		}
	})
}

// keeper is a hook that keeps something back until it is flushed.
type keeper struct {
	takes time.Duration
	mu    sync.Mutex
	told  []string
	left  []time.Duration // that a flush had
}

func (k *keeper) note(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, what)
}

func (k *keeper) BatchSettled(context.Context, batch.BatchInfo, []batch.Result) { k.note("settled") }

func (k *keeper) Flush(ctx context.Context) {
	k.note("flush")
	by, _ := ctx.Deadline()
	k.mu.Lock()
	k.left = append(k.left, time.Until(by))
	k.mu.Unlock()
	time.Sleep(k.takes)
}

func TestHooksAreFlushedAtTheEndOfEachInvocation(t *testing.T) {
	for _, c := range []struct {
		name                   string
		timeout, takes, within time.Duration
	}{
		{name: "with time left", timeout: time.Minute},
		{name: "without a deadline"},
		{name: "a hook that blocks", timeout: time.Minute, takes: time.Hour, within: 2 * time.Second},
		{name: "a hook that blocks at the end", timeout: time.Second, takes: time.Hour, within: 975 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(3 * time.Hour) // for what was given up
				k := &keeper{takes: c.takes}
				h := newHandler(t, batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }), handler.Config{Hooks: testhooks.Of(k), Logger: slog.New(slog.DiscardHandler)})
				ctx := t.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				payload, err := events.FS.ReadFile("one.json")
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				for range 2 {
					if _, err := h.Invoke(ctx, payload); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(began); took > c.within {
						t.Errorf("the response came after %v, want %v", took, c.within)
					}
					if c.takes > 0 {
						break
					}
				}
				k.mu.Lock()
				defer k.mu.Unlock()
				if want := []string{"settled", "flush", "settled", "flush"}; c.takes == 0 && !slices.Equal(k.told, want) {
					t.Errorf("told %q, want %q", k.told, want)
				}
			})
		})
	}
}

// At a stop the hooks are flushed once, after all else, within what the stop may take.
func TestHooksAreFlushedAtTheEndOfPoll(t *testing.T) {
	for _, c := range []struct {
		name         string
		handles      time.Duration
		takes        time.Duration
		least, limit time.Duration
	}{
		{name: "idle", least: 5 * time.Second, limit: 250 * time.Millisecond},
		{name: "a hook that blocks", takes: time.Hour, least: 5 * time.Second, limit: 5250 * time.Millisecond},
		{name: "a stop that takes long", handles: time.Hour, takes: time.Hour, least: 3 * time.Second, limit: 29*time.Second + 100*time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(3 * time.Hour) // for what was given up
				q := testqueue.New(t, testqueue.Standard)
				k := &keeper{takes: c.takes}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					ended <- handler.Poll(ctx, batch.HandlerFunc(func(context.Context, batch.Record) error {
						time.Sleep(c.handles)
						return nil
					}), handler.Config{SQS: q.Client, Hooks: testhooks.Of(k), Logger: slog.New(slog.DiscardHandler), Poll: handler.PollConfig{Queues: []string{q.URL}}})
				}()
				q.Send("a")
				time.Sleep(10 * time.Second)
				began := time.Now()
				stop()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > c.limit {
					t.Errorf("the stop took %v, want at most %v", took, c.limit)
				}
				k.mu.Lock()
				defer k.mu.Unlock()
				if n := len(k.left); n != 1 || k.told[len(k.told)-1] != "flush" || k.left[0] < c.least {
					t.Errorf("told %q, with %v left", k.told, k.left)
				}
			})
		})
	}
}

// listener is a hook for calls that takes its time.
type listener struct{ keeper }

func (l *listener) Called(_ context.Context, c batch.Call) {
	time.Sleep(100 * time.Millisecond)
	l.note(c.Operation)
}

// Hooks are notified of an invocation's calls before its end, and that is in what
// is flushed then.
func TestCallsAreToldBeforeTheEndOfTheInvocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		q.Send("a")
		l := &listener{}
		h := newHandler(t, batch.HandlerFunc(func(context.Context, batch.Record) error { return errors.New("no") }),
			handler.Config{SQS: q.Client, Hooks: testhooks.Of(l), Logger: slog.New(slog.DiscardHandler)})
		r := q.Receive(1)[0]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := h.HandleEvent(ctx, lambdaevents.SQSEvent{Records: []lambdaevents.SQSMessage{{
			MessageId: r.MessageID, ReceiptHandle: r.ReceiptHandle, Body: r.Body, EventSourceARN: q.ARN, EventSource: "aws:sqs"}}}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(l.told[:min(2, len(l.told))]) // each call is reported when it has done its work
		if want := []string{"ChangeMessageVisibilityBatch", "GetQueueAttributes", "settled", "flush"}; !slices.Equal(l.told, want) {
			t.Errorf("told %q, want %q", l.told, want)
		}
	})
}
