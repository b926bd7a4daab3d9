package track_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A bench is a tracker under test and what it told.
type bench struct {
	*track.Tracker
	t    *testing.T
	stop func()

	mu    sync.Mutex
	told  []track.Event
	given map[string]lambda.Invocation // by request id
}

// inBubble runs f with a running tracker in virtual time.
func inBubble(t *testing.T, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t}
		b.Tracker = track.New(track.Options{Sources: []string{"orders"}, Emit: b.emit})
		b.run(t, f)
	})
}

func (b *bench) run(t *testing.T, f func(b *bench)) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); b.Run(ctx) }()
	b.stop = func() { cancel(); <-ended }
	defer b.stop()
	f(b)
}

func (b *bench) emit(e track.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, e)
}

// take returns the events so far, all input handled, and forgets them.
func (b *bench) take() []track.Event {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.told
	b.told = nil
	return told
}

// body is that of the message with the given id.
func body(id string) string { return `{"id":"` + id + `"}` }

func (b *bench) event(kind sqs.Kind, id string, attempt int, visibility time.Duration) {
	b.Queue(sqs.Event{Time: time.Now(), Kind: kind, Queue: "orders", MessageID: id, Body: body(id), ReceiveCount: attempt, Visibility: visibility, DeadLetterQueue: "dead"})
}

// invoke sends (at attempt 1) and receives messages, and begins an invocation.
func (b *bench) invoke(request string, attempt int, ids ...string) {
	i := lambda.Invocation{RequestID: request, ColdStart: attempt == 1}
	for _, id := range ids {
		if attempt == 1 {
			b.event(sqs.Sent, id, 0, 0)
		}
		b.event(sqs.Received, id, attempt, time.Minute)
		i.Records = append(i.Records, lambda.Record{MessageID: id, Body: body(id), Attempt: attempt})
	}
	if b.given == nil {
		b.given = map[string]lambda.Invocation{}
	}
	b.given[request] = i
	b.Started(i)
}

// ends ends an invocation of which some messages stay in the queue.
func (b *bench) ends(request string, left ...string) { b.fails(request, nil, "", left...) }

// fails ends an invocation with an error, or with why all its records failed.
func (b *bench) fails(request string, err *lambda.FunctionError, allFailed string, left ...string) {
	e := lambda.Ended{Invocation: b.given[request], AllFailed: allFailed, Result: lambda.Result{Error: err, Duration: time.Second}}
	for _, r := range e.Records {
		e.Verdicts = append(e.Verdicts, lambda.Verdict{Deleted: !slices.Contains(left, r.MessageID)})
	}
	b.Ended(e)
}

func (b *bench) logs(request, format string, args ...any) {
	b.Line(lambda.Line{RequestID: request, Stream: "stderr", Text: fmt.Sprintf(format, args...)})
}

func (b *bench) record(request, id, rest string) {
	b.logs(request, `{"level":"INFO","message":"record","logger":"sqsbatch","requestId":%q,"messageId":%q,"attempt":1,"durationMs":12.5,"allowedMs":2700,%s}`, request, id, rest)
}

func (b *bench) batch(request string) {
	b.logs(request, `{"msg":"batch","logger":"sqsbatch","requestId":%q,"records":2}`, request)
}

// finals lists "id outcome" of the final records so far, all input handled.
func (b *bench) finals() []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, e := range b.told {
		if r, ok := e.(track.Record); ok && r.Final {
			out = append(out, r.MessageID+" "+r.Outcome)
		}
	}
	return out
}

func (b *bench) last() track.Record {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.told) - 1; i >= 0; i-- {
		if r, ok := b.told[i].(track.Record); ok {
			return r
		}
	}
	b.t.Fatal("no record")
	return track.Record{}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}
