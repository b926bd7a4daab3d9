package track_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRecordsFromTheToolkitsLines(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a", "b", "c")
		b.record("r1", "b", `"outcome":"dead-letter","reason":"unknown sku","deadLetterQueue":"http://h/0/dead"`)
		b.record("r1", "a", `"outcome":"succeeded"`)
		if got := b.last(); got.MessageID != "a" || got.Final || got.Duration != 12500*time.Microsecond || got.Allowed != 2700*time.Millisecond {
			t.Errorf("live: %+v", got)
		}
		want(t, "finals before the end", b.finals(), []string(nil))
		b.event(sqs.Visibility, "c", 1, 4*time.Second)
		b.record("r1", "c", `"outcome":"retry","reason":"down","visibleInMs":4000`)
		b.batch("r1")
		b.ends("r1", "c")
		b.event(sqs.Deleted, "a", 1, 0)
		b.event(sqs.Deleted, "b", 1, 0)
		want(t, "finals", b.finals(), []string{"a succeeded", "b dead-letter", "c retry"})
		p := b.Progress()
		want(t, "progress", p, track.Progress{
			Sent: 3, Succeeded: 1, DeadLettered: 1, Waiting: 1, Retried: 1, Invocations: 1,
			Next: body("c"), NextIn: 4 * time.Second,
		})
		want(t, "dead", b.Dead(), []track.Dead{{MessageID: "b", Body: body("b"), Reason: "unknown sku", Attempt: 1}})
		if r := b.last(); !r.Repeats || r.VisibleIn != 4*time.Second || r.Body != body("c") {
			t.Errorf("final: %+v", r)
		}
		told := b.take()
		e, ok := told[len(told)-1].(track.Ended)
		if !ok || e.Deleted != 2 || e.Back != 1 || e.Records != 3 {
			t.Errorf("end: %+v", told[len(told)-1])
		}
	})
}

// The record of a panic has its line in the function, not in the runtime.
func TestPanic_HasItsPlace(t *testing.T) {
	const start = "goroutine 7 [running]:\nruntime/debug.Stack()\n\t/go/src/runtime/debug/stack.go:26 +0x5e\nsqsbatch/internal/runner.(*Engine).call.func1()\n\t/s/verdict.go:65 +0x4f\n"
	const thrown = "panic({0x1, 0x2})\n\t/go/src/runtime/panic.go:783 +0x132\n"
	const place = "main.ship(...)\n\t/src/orders/ship.go:31 +0x25\nmain.main.func1()\n\t/src/orders/main.go:5 +0x1\n"
	for stack, want := range map[string]string{
		start + thrown + place: "orders/ship.go:31",
		start + thrown + "runtime.mapassign()\n\t/go/src/runtime/map.go:1 +0x3\n" + place: "orders/ship.go:31",
		start + place:         "", // not a panic
		start + thrown:        "",
		thrown + "main.ship(": "", // cut
		"":                    "",
	} {
		inBubble(t, func(b *bench) {
			b.invoke("r1", 1, "a")
			b.record("r1", "a", `"outcome":"retry","reason":"handler panicked: oops","stack":`+strconv.Quote(stack))
			if got := b.last().PanickedAt; got != want {
				t.Errorf("%q: %q, want %q", stack, got, want)
			}
		})
	}
}

// A failure at maxReceiveCount is the last attempt, live and at the end.
func TestLastAttempt_IsThatOfMaxReceiveCount(t *testing.T) {
	runIn(t, track.Options{Sources: []string{"orders"}, MaxReceiveCounts: map[string]int{"orders": 2}}, func(b *bench) {
		for attempt := 1; attempt <= 2; attempt++ {
			request := fmt.Sprintf("r%d", attempt)
			b.invoke(request, attempt, "a", "b")
			b.logs(request, `{"message":"record","logger":"sqsbatch","requestId":%q,"messageId":"a","attempt":%d,"outcome":"retry","reason":"down","visibleInMs":4000}`, request, attempt)
			if r := b.last(); r.Final || r.LastAttempt != (attempt == 2) {
				t.Errorf("live: %+v", r)
			}
			b.batch(request)
			b.ends(request, "a")
			time.Sleep(time.Second)
			for _, e := range b.take() {
				r, ok := e.(track.Record)
				if ok && r.Final && r.LastAttempt != (attempt == 2 && r.MessageID == "a") {
					t.Errorf("attempt %d: %+v", attempt, r)
				}
			}
		}
	})
}

// A line after the answer counts, and the wait for it is limited.
func TestLateLines(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a", "b")
		b.ends("r1")
		b.event(sqs.Deleted, "a", 1, 0)
		b.event(sqs.Deleted, "b", 1, 0)
		time.Sleep(100 * time.Millisecond)
		b.record("r1", "a", `"outcome":"dead-letter","reason":"x"`)
		want(t, "before the grace is over", b.finals(), []string(nil))
		time.Sleep(201 * time.Millisecond)
		want(t, "after it", b.finals(), []string{"a dead-letter", "b succeeded"})
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Succeeded: 1, DeadLettered: 1, Invocations: 1})
	})
}

// Without the toolkit, the mapping's verdicts and the queue's visibility give the outcomes.
// Only the first invocation waits for lines.
func TestForeignFunction(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a", "b")
		b.logs("r1", "hello")
		b.ends("r1", "b")
		b.event(sqs.Deleted, "a", 1, 0)
		time.Sleep(time.Second)
		want(t, "finals", b.finals(), []string{"a succeeded", "b retry"})
		if r := b.last(); r.Reason != "the function named it in batchItemFailures" || r.Duration >= 0 ||
			r.VisibleIn != time.Minute-300*time.Millisecond {
			t.Errorf("%+v", r)
		}
		b.invoke("r2", 2, "b")
		b.fails("r2", &lambda.FunctionError{Type: "Sandbox.Timedout", Message: "Task timed out after 3.00 seconds"}, "", "b")
		want(t, "finals", b.finals(), []string{"a succeeded", "b retry", "b retry"})
		if r := b.last(); r.Reason != "Sandbox.Timedout: Task timed out after 3.00 seconds" || r.Attempt != 2 {
			t.Errorf("%+v", r)
		}
		want(t, "retried", b.Progress().Retried, 2)
	})
}

// A success that was logged comes back when the batch counts as failed.
func TestWholeBatchFails(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a")
		b.record("r1", "a", `"outcome":"succeeded"`)
		b.fails("r1", nil, "invalid JSON", "a")
		time.Sleep(time.Second)
		want(t, "finals", b.finals(), []string{"a retry"})
		if r := b.last(); r.Repeats || !strings.Contains(r.Reason, "done (succeeded)") || !strings.Contains(r.Reason, "invalid JSON") {
			t.Errorf("%+v", r)
		}
	})
}

// Lambda deletes a failed record when the event does not report failures.
func TestLost(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a")
		b.record("r1", "a", `"outcome":"retry","reason":"down","visibleInMs":1000`)
		b.batch("r1")
		b.ends("r1")
		b.event(sqs.Deleted, "a", 1, 0)
		want(t, "finals", b.finals(), []string{"a lost"})
		want(t, "progress", b.Progress(), track.Progress{Sent: 1, Lost: 1, Invocations: 1})
	})
}

// SQSBATCH_DELETE_SUCCEEDED: the function deletes the succeeded records, and fails the
// invocation.
func TestDeletedByTheFunction(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a", "b")
		b.record("r1", "a", `"outcome":"succeeded"`)
		b.record("r1", "b", `"outcome":"retry","reason":"down","visibleInMs":1000`)
		b.event(sqs.Deleted, "a", 1, 0)
		b.batch("r1")
		b.fails("r1", &lambda.FunctionError{Type: "errorString", Message: "1 of 2 failed"}, "", "a", "b")
		want(t, "finals", b.finals(), []string{"a succeeded", "b retry"})
	})
}

func TestRedriven(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a")
		b.record("r1", "a", `"outcome":"retry","reason":"down","visibleInMs":1000`)
		b.batch("r1")
		b.ends("r1", "a")
		b.AllSent()
		time.Sleep(time.Second)
		select {
		case <-b.Done():
			t.Error("done while a message waits")
		default:
		}
		b.event(sqs.Redriven, "a", 1, 0)
		<-b.Done()
		want(t, "finals", b.finals(), []string{"a retry", "a dead-letter"})
		if r := b.last(); r.DeadLetterQueue != "dead" || r.Reason != "down (received once, as often as maxReceiveCount allows)" {
			t.Errorf("%+v", r)
		}
		want(t, "progress", b.Progress(), track.Progress{Sent: 1, DeadLettered: 1, Retried: 1, Invocations: 1})
	})
}

// A record that SQS dead-letters before its invocation is over is not lost.
func TestRedrivenAtOnce(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a")
		b.record("r1", "a", `"outcome":"retry","reason":"down","visibleInMs":0`)
		b.event(sqs.Redriven, "a", 1, 0)
		b.batch("r1")
		b.ends("r1", "a")
		want(t, "finals", b.finals(), []string{"a dead-letter", "a retry"})
		want(t, "progress", b.Progress(), track.Progress{Sent: 1, DeadLettered: 1, Retried: 1, Invocations: 1})
	})
}

func TestOthersAtTheQueue(t *testing.T) {
	inBubble(t, func(b *bench) {
		for _, id := range []string{"a", "b", "c", "d"} {
			b.event(sqs.Sent, id, 0, 0)
		}
		b.Queue(sqs.Event{Kind: sqs.Sent, Queue: "another", MessageID: "x"})
		b.event(sqs.Received, "a", 1, time.Minute)
		synctest.Wait()
		want(t, "received elsewhere", b.Progress(), track.Progress{Sent: 4, InFlight: 1, Waiting: 3})
		b.event(sqs.Deleted, "a", 1, 0)
		b.event(sqs.Expired, "b", 0, 0)
		b.event(sqs.Purged, "", 0, 0)
		b.AllSent()
		<-b.Done()
		want(t, "progress", b.Progress(), track.Progress{Sent: 4, Removed: 4})
	})
}

// TestStreams: warnings, info lines and the function's lines are distinguished.
func TestStreams(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a")
		b.take()
		b.logs("r1", `{"level":"WARN","msg":"grant sqs:ChangeMessageVisibility","logger":"sqsbatch","reason":"denied"}`)
		b.logs("r1", `{"level":"WARN","msg":"near the end","logger":"sqsbatch","messageId":"a"}`)
		b.logs("r1", `{"level":"INFO","msg":"5 attempts","logger":"sqsbatch"}`)
		b.logs("r1", `{"level":"INFO","msg":"record","logger":"other","about":"sqsbatch"}`)
		b.logs("", "sqsbatch says")
		want(t, "events", b.take(), []track.Event{
			track.Warning{Text: "grant sqs:ChangeMessageVisibility: denied"},
			track.Warning{Text: "near the end", MessageID: "a", Body: body("a")},
			track.Log{Invocation: 1, Stream: "stderr", Text: "5 attempts"},
			track.Log{Invocation: 1, Stream: "stderr", Text: `{"level":"INFO","msg":"record","logger":"other","about":"sqsbatch"}`},
			track.Log{Stream: "stderr", Text: "sqsbatch says"},
		})
	})
}

// TestStopFinishes: invocations that ended before the stop are final without a grace.
func TestStopFinishes(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a")
		b.ends("r1")
		b.stop()
		want(t, "finals", b.finals(), []string{"a succeeded"})
	})
}

// A record's age is its age at the outcome.
func TestAge(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.event(sqs.Sent, "a", 0, 0)
		time.Sleep(5 * time.Second)
		b.invoke("r1", 2, "a", "unknown")
		b.record("r1", "a", `"outcome":"succeeded"`)
		if got := b.last().Age; got != 5*time.Second {
			t.Errorf("an age of %v, want 5 s", got)
		}
		time.Sleep(time.Second)
		b.ends("r1")
		time.Sleep(time.Second)
		ages := map[string]time.Duration{}
		for _, r := range b.records() {
			if r.Final {
				ages[r.MessageID] = r.Age
			}
		}
		want(t, "ages", ages, map[string]time.Duration{"a": 5 * time.Second, "unknown": -1})
	})
}

// A bench has a tracker and its events.
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
	runIn(t, track.Options{Sources: []string{"orders"}}, f)
}

func runIn(t *testing.T, o track.Options, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, given: map[string]lambda.Invocation{}}
		o.Emit = b.emit
		b.Tracker = track.New(o)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); b.Run(ctx) }()
		b.stop = func() { cancel(); <-ended }
		defer b.stop()
		f(b)
	})
}

func (b *bench) emit(e track.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.told = append(b.told, e)
}

// take returns and removes the events so far, after all input was handled.
func (b *bench) take() []track.Event {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.told
	b.told = nil
	return told
}

// body returns the body of the message with an id.
func body(id string) string { return `{"id":"` + id + `"}` }

func (b *bench) event(kind sqs.Kind, id string, attempt int, visibility time.Duration) {
	b.Queue(sqs.Event{Time: time.Now(), Kind: kind, Queue: "orders", MessageID: id, Body: body(id), ReceiveCount: attempt, Visibility: visibility, DeadLetterQueue: "dead"})
}

// invoke sends messages (at attempt 1), receives them, and starts an invocation.
func (b *bench) invoke(request string, attempt int, ids ...string) {
	i := lambda.Invocation{RequestID: request, ColdStart: attempt == 1}
	for _, id := range ids {
		if attempt == 1 {
			b.event(sqs.Sent, id, 0, 0)
		}
		b.event(sqs.Received, id, attempt, time.Minute)
		i.Records = append(i.Records, lambda.Record{MessageID: id, Body: body(id), Attempt: attempt})
	}
	b.given[request] = i
	b.Started(i)
}

// ends ends an invocation, after which some messages stay in the queue.
func (b *bench) ends(request string, left ...string) { b.fails(request, nil, "", left...) }

// fails ends an invocation with an error, or with the reason for which all records failed.
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

// records returns the records so far, after all input was handled.
func (b *bench) records() (list []track.Record) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.told {
		if r, ok := e.(track.Record); ok {
			list = append(list, r)
		}
	}
	return list
}

// finals returns "id outcome" of the final records.
func (b *bench) finals() (list []string) {
	for _, r := range b.records() {
		if r.Final {
			list = append(list, r.MessageID+" "+r.Outcome)
		}
	}
	return list
}

func (b *bench) last() track.Record {
	b.t.Helper()
	records := b.records()
	if len(records) == 0 {
		b.t.Fatal("no record")
	}
	return records[len(records)-1]
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// TestFiltered: a message that the event source mapping deleted because of filters counts
// neither as succeeded nor as removed.
func TestFiltered(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.event(sqs.Sent, "a", 0, 0)
		b.event(sqs.Sent, "b", 0, 0)
		b.AllSent()
		for _, id := range []string{"a", "b"} {
			b.event(sqs.Received, id, 1, time.Minute)
			b.event(sqs.Deleted, id, 1, 0)
		}
		synctest.Wait() // the mapping's event comes after the queue's
		b.Filtered(lambda.Filtered{
			Records:  []lambda.Record{{MessageID: "a", Body: body("a"), Attempt: 1}, {MessageID: "unknown"}, {MessageID: "b"}},
			Verdicts: []lambda.Verdict{{Deleted: true}, {Deleted: true}, {Err: errors.New("no answer")}},
		})
		<-b.Done()
		want(t, "finals", b.finals(), []string{"a filtered"})
		if r := b.last(); !r.Done() || r.Invocation != 0 || r.Attempt != 1 || r.Body != body("a") || r.Reason == "" {
			t.Errorf("%+v", r)
		}
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Filtered: 1, Removed: 1})
	})
}

// moved returns the event of a move task that moves a message to another queue.
func moved(id, body, from, to, newID string) sqs.Event {
	return sqs.Event{Time: time.Now(), Kind: sqs.Moved, Queue: from, MessageID: id, Body: body, MovedTo: to, NewMessageID: newID}
}

// A dead letter that comes back, with another id, counts as the same message, whether SQS
// or the function dead-lettered it.
func TestMovedBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.invoke("r1", 1, "a", "b")
		b.record("r1", "a", `"outcome":"dead-letter","reason":"unknown sku","deadLetterQueue":"http://h/0/dead"`)
		b.record("r1", "b", `"outcome":"retry","reason":"down","visibleInMs":1000`)
		b.batch("r1")
		b.ends("r1", "b")
		b.event(sqs.Deleted, "a", 1, 0)
		synctest.Wait()
		b.event(sqs.Redriven, "b", 1, 0)
		b.take()
		want(t, "dead-lettered", b.Progress().DeadLettered, 2)
		b.Queue(moved("a-copy", body("a"), "dead", "orders", "a2"))
		b.Queue(moved("b", body("b"), "dead", "orders", "b2"))
		b.Queue(moved("x", body("x"), "dead", "elsewhere", "x2"))
		want(t, "events", b.take(), []track.Event{
			moved("a-copy", body("a"), "dead", "orders", "a2"),
			moved("b", body("b"), "dead", "orders", "b2"),
		})
		want(t, "moved", b.Progress(), track.Progress{Sent: 2, Waiting: 2, Retried: 1, Invocations: 1})
		want(t, "dead", len(b.Dead()), 0)
		b.invoke("r2", 2, "a2", "b2")
		b.ends("r2")
		b.event(sqs.Deleted, "a2", 1, 0)
		b.event(sqs.Deleted, "b2", 1, 0)
		b.AllSent()
		<-b.Done()
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Succeeded: 2, Retried: 1, Invocations: 2})
	})
}

// A message that a task moves to the queue is one more; a message that it moves away counts
// as moved.
func TestMovedByOthers(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.event(sqs.Sent, "a", 0, 0)
		b.Queue(moved("old", "old body", "dead", "orders", "b"))
		b.Queue(moved("a", body("a"), "orders", "archive", "a2"))
		b.take()
		want(t, "progress", b.Progress(), track.Progress{Sent: 2, Moved: 1, Waiting: 1})
	})
}
