package handler_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

type settledBlocks struct{}

func (settledBlocks) BatchSettled(context.Context, batch.BatchInfo, []batch.Result) {
	time.Sleep(time.Hour)
}

type warnedBlocks struct{}

func (warnedBlocks) Warned(context.Context, batch.Warning) { time.Sleep(time.Hour) }

// finishedPanics makes a warning while records are handled, settledPanics one after.
type finishedPanics struct{}

func (finishedPanics) RecordFinished(context.Context, batch.Result) { panic("oops") }

type settledPanics struct{}

func (settledPanics) BatchSettled(context.Context, batch.BatchInfo, []batch.Result) { panic("oops") }

type flushPanics struct{}

func (flushPanics) Flush(context.Context) { panic("oops") }

type flushBlocks struct{}

func (flushBlocks) Flush(context.Context) { time.Sleep(time.Hour) }

// What blocks is not waited for beyond the deadline: the response comes, with
// what failed in it, and the log says why it took so long.
func TestHooksThatBlockCostNoResponse(t *testing.T) {
	for _, c := range []struct {
		name  string
		hooks []any
		body  string
		times time.Duration // of the function
		after time.Duration // the response comes then, at the latest
		warns string
	}{
		{name: "none", body: "fail", times: time.Minute},
		{name: "BatchSettled", hooks: []any{settledBlocks{}}, body: "fail", times: time.Minute, after: 30 * time.Second, warns: "a BatchSettled, Called or Warned hook still runs 30s after"},
		{name: "BatchSettled, at the end", hooks: []any{settledBlocks{}}, body: "hang", times: time.Second, after: 990 * time.Millisecond, warns: "a BatchSettled, Called or Warned hook still runs"},
		{name: "Warned, of a record's hook", hooks: []any{warnedBlocks{}, finishedPanics{}}, body: "fail", times: time.Minute, after: 59900 * time.Millisecond, warns: "a RecordFinished hook still runs"},
		{name: "Warned, of settling", hooks: []any{warnedBlocks{}}, body: "never", times: time.Minute, after: 31 * time.Second, warns: "a BatchSettled, Called or Warned hook still runs 30s after"},
		{name: "Warned, of settling, at the end", hooks: []any{warnedBlocks{}, settledPanics{}}, body: "hang", times: time.Second, after: 990 * time.Millisecond, warns: "a BatchSettled, Called or Warned hook still runs"},
		{name: "Warned, of no time", hooks: []any{warnedBlocks{}}, body: "fail", times: 40 * time.Millisecond, after: 39 * time.Millisecond, warns: "a BatchSettled, Called or Warned hook still runs"},
		{name: "Warned, of a flush", hooks: []any{warnedBlocks{}, flushPanics{}}, body: "fail", times: time.Minute, after: 33 * time.Second, warns: "the hook Flush panicked"},
		{name: "BatchSettled and Flush", hooks: []any{settledBlocks{}, flushBlocks{}}, body: "fail", times: time.Second, after: 990 * time.Millisecond, warns: "a Flush hook took too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				defer time.Sleep(24 * time.Hour)  // for what was given up
				t.Setenv("AWS_SAM_LOCAL", "true") // calls are not what this is about; a dry run warns
				var book logbook
				h := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Hooks: testhooks.Of(c.hooks...), Logger: book.logger()})
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
		h := newHandler(t, batch.HandlerFunc(byBody), handler.Config{Hooks: testhooks.Of(finishedPanics{}, settledPanics{}, flushPanics{}), Logger: slog.New(hanging{slog.DiscardHandler})})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		response, err := h.Invoke(ctx, payload(ordersARN, "fail"))
		if took := time.Since(began); err != nil || !strings.Contains(string(response), `"m-0"`) || took > 59900*time.Millisecond {
			t.Errorf("response %s, %v after %v", response, err, took)
		}
	})
}

type calledBlocks struct{}

func (calledBlocks) Called(context.Context, batch.Call) { time.Sleep(time.Hour) }

func TestACalledHookThatBlocksCostsNoResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer time.Sleep(24 * time.Hour) // for what was given up
		q := testqueue.New(t, testqueue.Standard)
		q.Send("fail")
		var book logbook
		h := newHandler(t, batch.HandlerFunc(byBody), handler.Config{SQS: q.Client, Hooks: testhooks.Of(calledBlocks{}), Logger: book.logger()})
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
