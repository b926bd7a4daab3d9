package otel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// Every outcome of an invocation, on the record's span.
func TestOutcomesOnLambda(t *testing.T) {
	for _, c := range []struct{ body, outcome, text, exception, more string }{
		{"ok", "succeeded", "", "", ""},
		{"fail", "retry *otel_test.carrierError", "shipping: the carrier is on strike", "*otel_test.carrierError", " sqsbatch.visible_in_ms=1000"},
		{"later", "retry *errors.errorString", "busy", "*errors.errorString", " sqsbatch.visible_in_ms=3600000"},
		{"never", "dead-letter *errors.errorString", "no such thing", "*errors.errorString", " sqsbatch.dead_letter_queue=DLQ"},
		{"malformed", "dead-letter malformed", "malformed body: not valid JSON at offset 0", "*batch.MalformedError", " sqsbatch.dead_letter_queue=DLQ"},
		{"panic", "retry panic", "handler panicked: oops", "*batch.PanicError", " sqsbatch.visible_in_ms=1000"},
		{"goexit", "retry goexit", "handler called runtime.Goexit", "*errors.errorString", " sqsbatch.visible_in_ms=1000"},
		{"slow", "retry timeout", "context deadline exceeded", "context.deadlineExceededError", " sqsbatch.visible_in_ms=1000"},
		{"hang", "abandoned abandoned", "abandoned: its handler was still running after 9.25s and ignores the end of its context", "*errors.errorString", " sqsbatch.max_receive_count=5"},
	} {
		inWorldRun(t, c.body, false, otel.Config{}, func(w *world) {
			w.Send("swordfish:" + c.body)
			cfg := w.config()
			cfg.Failures.Backoff = func(int) time.Duration { return time.Second }
			began := time.Now()
			w.onLambda(byBody, cfg)
			records, batches := w.byID()
			if len(records) != 1 || len(batches) != 1 {
				w.t.Fatalf("%d spans of records, %d others", len(records), len(batches))
			}
			s := records[0]
			if got := attr(s.Attributes, "sqsbatch.outcome") + " " + attr(s.Attributes, "error.type"); strings.TrimSpace(got) != c.outcome || s.Status.Description != c.text || (s.Status.Code == codes.Error) != (c.text != "") {
				w.t.Errorf("outcome %q, status %+v, want %q and %q", got, s.Status, c.outcome, c.text)
			}
			want := "sqsbatch.allowed_ms=9000" + strings.ReplaceAll(c.more, "DLQ", w.DeadLetterURL)
			if got := attrs(s.Attributes, "sqsbatch.allowed_ms", "sqsbatch.visible_in_ms", "sqsbatch.max_receive_count", "sqsbatch.dead_letter_queue"); got != want {
				w.t.Errorf("attributes %q, want %q", got, want)
			}
			checkException(w.t, s, strings.TrimSpace(c.exception+" "+c.text))
			took := s.EndTime.Sub(began)
			if late := map[string]time.Duration{"slow": 9 * time.Second, "hang": 9250 * time.Millisecond}[c.body]; took != late {
				w.t.Errorf("the span ends after %v, want %v", took, late)
			}
			if strings.Contains(attrs(s.Attributes)+s.Status.Description, "swordfish") {
				w.t.Error("the body is in the span")
			}
		})
	}
}

func checkException(t *testing.T, s tracetest.SpanStub, want string) {
	t.Helper()
	got, stack := "", ""
	for _, e := range s.Events {
		if e.Name == "exception" {
			got += attr(e.Attributes, "exception.type") + " " + attr(e.Attributes, "exception.message")
			stack = attr(e.Attributes, "exception.stacktrace")
		}
	}
	if got != want {
		t.Errorf("exception %q, want %q", got, want)
	}
	if panicked := strings.Contains(want, "PanicError"); panicked != strings.Contains(stack, "byBody") {
		t.Errorf("the stack is %q", stack)
	}
}

func TestABatchOnLambda(t *testing.T) {
	inWorld(t, false, otel.Config{}, func(w *world) {
		w.Send("ok", "fail", "ok")
		w.onLambda(func(ctx context.Context, r batch.Record) error {
			_, own := w.tracer.Start(ctx, "own work")
			own.End()
			return byBody(ctx, r)
		}, w.config())
		records, others := w.byID()
		b := others[len(others)-1]
		if b.Name != "process orders" || b.SpanKind != trace.SpanKindConsumer {
			t.Errorf("the batch's span is %s %q", b.SpanKind, b.Name)
		}
		id := attr(b.Attributes, "faas.invocation_id")
		want := "faas.invocation_id=" + id + " faas.trigger=pubsub messaging.batch.message_count=3 messaging.destination.name=orders " +
			"messaging.operation.name=process messaging.operation.type=process messaging.system=aws_sqs sqsbatch.records.retry=1 sqsbatch.records.succeeded=2"
		if got := attrs(b.Attributes); got != want || id == "" {
			t.Errorf("%s, want\n%s", got, want)
		}
		for i, s := range records {
			if s.Name != "process orders" || s.SpanKind != trace.SpanKindConsumer || s.Parent.SpanID() != b.SpanContext.SpanID() {
				t.Errorf("record %d has the span %s %q, child of %s", i, s.SpanKind, s.Name, s.Parent.SpanID())
			}
			own := slices.IndexFunc(others, func(o tracetest.SpanStub) bool { return o.Parent.SpanID() == s.SpanContext.SpanID() })
			if own < 0 || others[own].Name != "own work" {
				t.Errorf("record %d: the handler's own span is not its child", i)
			}
		}
		want = "faas.trigger=pubsub messaging.destination.name=orders messaging.message.id=" + attr(records[0].Attributes, "messaging.message.id") +
			" messaging.operation.name=process messaging.operation.type=process messaging.system=aws_sqs" +
			" sqsbatch.age_ms=0 sqsbatch.allowed_ms=9000 sqsbatch.attempt=1 sqsbatch.outcome=succeeded"
		if got := attrs(records[0].Attributes); got != want {
			t.Errorf("%s, want\n%s", got, want)
		}
		if n := len(records); n != 3 {
			t.Errorf("%d records", n)
		}
	})
}

// What is not handed to the handler has no span; the batch's shows it.
func TestRecordsThatAreNotHandled(t *testing.T) {
	inWorldRun(t, "not started", false, otel.Config{}, func(w *world) {
		w.Send("hang", "ok", "ok")
		cfg := w.config()
		cfg.Concurrency = 1
		w.onLambda(byBody, cfg)
		checkUnhandled(w.t, w, "abandoned", "not-started", "sqsbatch.records.abandoned=1 sqsbatch.records.not_started=2")
	})
	inWorldRun(t, "skipped", true, otel.Config{}, func(w *world) {
		w.Send("a:fail", "a:ok", "a:ok")
		w.onLambda(byBody, w.config())
		checkUnhandled(w.t, w, "retry", "skipped", "sqsbatch.records.retry=1 sqsbatch.records.skipped=2")
	})
}

func checkUnhandled(t *testing.T, w *world, handled, unhandled, counts string) {
	t.Helper()
	records, batches := w.byID()
	b := batches[0]
	if len(records) != 1 || attr(records[0].Attributes, "sqsbatch.outcome") != handled {
		t.Errorf("%d spans of records, want one, that is %s", len(records), handled)
	}
	if got := attrs(b.Attributes, "sqsbatch.records.retry", "sqsbatch.records.abandoned", "sqsbatch.records.not_started", "sqsbatch.records.skipped"); got != counts {
		t.Errorf("%q, want %q", got, counts)
	}
	if points := w.durations("messaging.process.duration"); len(points) != 1 || points[0].Count != 1 {
		t.Errorf("measured %+v, want the record that was handled", points)
	}
	if b.Status.Description != "no record of the batch was done" || attr(b.Attributes, "error.type") != "no_record_done" {
		t.Errorf("the batch's status is %+v", b.Status)
	}
	var told []string
	for _, e := range b.Events {
		if e.Name == "sqsbatch.record" {
			told = append(told, attr(e.Attributes, "sqsbatch.outcome")+" "+attr(e.Attributes, "sqsbatch.attempt"))
			if attr(e.Attributes, "messaging.message.id") == "" {
				t.Error("an event without the message's id")
			}
		}
	}
	if want := []string{unhandled + " 1", unhandled + " 1"}; !slices.Equal(told, want) {
		t.Errorf("events %q, want %q", told, want)
	}
}

// Each record is a trace of its own, with one span, however often its visibility timeout is
// extended.
func TestInAContainer(t *testing.T) {
	inWorld(t, true, otel.Config{}, func(w *world) {
		w.Send("a:ok", "a:fail", "a:ok", "b:ok", "c:slow", "d:hang", "e:never")
		cfg := w.config()
		cfg.RecordTimeout, cfg.Poll.Visibility = 30*time.Second, 9*time.Second
		cfg.Failures.Backoff = func(int) time.Duration { return time.Hour }
		w.Poll(w.t.Context(), time.Minute, batch.HandlerFunc(byBody), cfg)
		records, batches := w.byID()
		if len(records) != 6 || len(batches) != 0 {
			t.Fatalf("%d spans of records, %d others", len(records), len(batches))
		}
		took := map[string]time.Duration{"timeout": 30 * time.Second, "abandoned": 31 * time.Second}
		traces := map[trace.TraceID]bool{}
		var got []string
		for _, s := range records {
			if s.Parent.IsValid() {
				t.Errorf("a record's parent is %v", s.Parent)
			}
			traces[s.SpanContext.TraceID()] = true
			got = append(got, attr(s.Attributes, "sqsbatch.outcome")+" "+attr(s.Attributes, "error.type"))
			if d, want := s.EndTime.Sub(s.StartTime), took[attr(s.Attributes, "error.type")]; d != want {
				t.Errorf("%q: the span takes %v, want the %v of the handler", outcomeOf(s), d, want)
			}
			if s.Name != "process orders.fifo" || s.SpanKind != trace.SpanKindConsumer || attr(s.Attributes, "faas.trigger") != "" {
				t.Errorf("the span %s %q has %s", s.SpanKind, s.Name, attrs(s.Attributes))
			}
		}
		slices.Sort(got)
		if want := []string{"abandoned abandoned", "dead-letter *errors.errorString", "retry *otel_test.carrierError", "retry timeout", "succeeded ", "succeeded "}; !slices.Equal(got, want) {
			t.Errorf("outcomes %q, want %q", got, want)
		}
		if len(traces) != 6 {
			t.Errorf("%d traces, want 6", len(traces))
		}
	})
}

// A span of the main function is not the parent of all that the process does.
func TestTheContextOfPollIsNoParent(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, fifo, otel.Config{}, func(w *world) {
			w.Send("a:ok", "a:ok")
			ctx, span := w.tracer.Start(w.t.Context(), "main")
			defer span.End()
			w.Poll(ctx, time.Minute, batch.HandlerFunc(byBody), w.config())
			for _, s := range w.spans.GetSpans() {
				if s.SpanContext.TraceID() == span.SpanContext().TraceID() {
					t.Errorf("FIFO %v: %q is in the trace of main", fifo, s.Name)
				}
			}
		})
	}
}

// numberedRecords are n records of a Lambda event, from senders that told.
func numberedRecords(n int) []batch.Record {
	records := make([]batch.Record, n)
	for i := range records {
		records[i] = batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: "arn:aws:sqs:eu-west-1:1:orders", MessageAttributes: map[string]batch.MessageAttribute{
			"traceparent": {DataType: "String", StringValue: fmt.Sprintf("00-0af7651916cd43dd8448eb211c80319c-%016x-01", i+1)}}}
	}
	return records
}

// settle settles a batch by the hook alone, after it has begun some records.
func (w *world) settle(records []batch.Record, begun int, result func(r *batch.Record) batch.Result) context.Context {
	info := batch.BatchInfo{Records: len(records), QueueARN: records[0].QueueARN}
	ctx := w.hook.Hooks().BatchContext(w.t.Context(), info, records)
	results := make([]batch.Result, len(records))
	for i := range records {
		if i < begun {
			w.hook.Hooks().RecordContext(ctx, &records[i])
		}
		results[i] = result(&records[i])
	}
	w.hook.Hooks().BatchSettled(ctx, info, results)
	return ctx
}

// The SDK keeps 128 links and events by default: no more are made.
func TestALargeBatch(t *testing.T) {
	inWorld(t, false, otel.Config{}, func(w *world) {
		w.settle(numberedRecords(300), 0, func(r *batch.Record) batch.Result {
			return batch.Result{Record: r, Outcome: batch.NotStarted, Err: batch.ErrNotStarted}
		})
		_, batches := w.byID()
		if b := batches[0]; len(b.Links) != 128 || len(b.Events) != 100 || b.DroppedLinks+b.DroppedEvents != 0 || attr(b.Attributes, "sqsbatch.records.not_started") != "300" {
			t.Errorf("%d links, %d events, %s", len(b.Links), len(b.Events), attrs(b.Attributes))
		}
	})
}

// The conventions: a batch of several queues has no destination.
func TestABatchOfSeveralQueues(t *testing.T) {
	inWorld(t, false, otel.Config{}, func(w *world) {
		records := numberedRecords(2)
		records[1].QueueARN = "arn:aws:sqs:eu-west-1:1:returns"
		w.settle(records, 2, func(r *batch.Record) batch.Result {
			return batch.Result{Record: r, Outcome: batch.Succeeded, Started: time.Now()}
		})
		spans, batches := w.byID()
		if b := batches[0]; b.Name != "process" || attr(b.Attributes, "messaging.destination.name") != "" {
			t.Errorf("the batch's span is %q, of %q", b.Name, attr(b.Attributes, "messaging.destination.name"))
		}
		if spans[0].Name != "process orders" || spans[1].Name != "process returns" {
			t.Errorf("the records' spans are %q and %q", spans[0].Name, spans[1].Name)
		}
	})
}

// A record that was given up while it got its context: its span is ended all the same.
func TestARecordThatComesAfterItsBatch(t *testing.T) {
	for _, n := range []int{1, 2} {
		inWorld(t, false, otel.Config{}, func(w *world) {
			records := numberedRecords(n)
			ctx := w.settle(records, 0, func(r *batch.Record) batch.Result {
				return batch.Result{Record: r, Outcome: batch.Abandoned, Err: batch.ErrAbandoned}
			})
			w.hook.Hooks().RecordContext(ctx, &records[0])
			if spans, _ := w.byID(); len(spans) != 1 || attr(spans[0].Attributes, "sqsbatch.outcome") != "abandoned" {
				t.Errorf("%d spans", len(spans))
			}
		})
	}
}

// A record that was received again while it waited: the engine has the new one, whose span
// ends like that of any other.
func TestARecordThatIsReceivedAgain(t *testing.T) {
	for _, n := range []int{1, 2} {
		inWorld(t, false, otel.Config{}, func(w *world) {
			records := numberedRecords(n)
			again := records[n-1]
			info := batch.BatchInfo{Records: n, QueueARN: again.QueueARN}
			ctx := w.hook.Hooks().BatchContext(w.t.Context(), info, records)
			w.hook.Hooks().RecordContext(ctx, &again)
			results := []batch.Result{{Record: &records[0], Outcome: batch.Skipped}, {Record: &again, Outcome: batch.Retry, Started: time.Now()}}
			w.hook.Hooks().BatchSettled(ctx, info, results[2-n:])
			if spans, _ := w.byID(); len(spans) != 1 || outcomeOf(spans[0]) != "retry" {
				t.Errorf("of %d: %d spans", n, len(spans))
			}
		})
	}
}

// Without a batch, as an engine is used by itself, a record's span ends when it is finished.
func TestAnEngineByItself(t *testing.T) {
	inWorld(t, false, otel.Config{}, func(w *world) {
		engine := runner.New(batch.HandlerFunc(byBody), runner.Config{}, hooks.New(w.hook.Hooks()))
		records := numberedRecords(2)
		records[1].Body = "fail"
		engine.Run(context.Background(), records, runner.Options{})
		spans, others := w.byID()
		if len(spans) != 2 || len(others) != 0 {
			t.Errorf("%d spans, and %d others", len(spans), len(others))
		}
	})
}

func TestWarningsAreEventsOfTheBatch(t *testing.T) {
	inWorld(t, false, otel.Config{}, func(w *world) {
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			if operation == "ChangeMessageVisibilityBatch" {
				return testqueue.Answer(r, 403, "AccessDenied", "")
			}
			return nil, nil
		}
		w.Send("fail")
		w.onLambda(byBody, w.config())
		_, batches := w.byID()
		var told []string
		for _, e := range batches[0].Events {
			if e.Name == "sqsbatch.warning" {
				told = append(told, attr(e.Attributes, "sqsbatch.warning.message")+attr(e.Attributes, "exception.message"))
			}
		}
		if len(told) != 1 || !strings.Contains(told[0], "sqs:ChangeMessageVisibility") || !strings.Contains(told[0], "AccessDenied") {
			t.Errorf("%q", told)
		}
	})
}

// Texts of errors are bounded, and valid in OTLP, which refuses others.
func TestTextsOfErrorsAreBounded(t *testing.T) {
	for _, unit := range []string{"<html>", "é€😀", "\xff"} {
		much := strings.Repeat(unit, 200_000)
		for name, err := range map[string]error{"an error": errors.New(much), "a panic": &batch.PanicError{Value: much, Stack: []byte(much)}} {
			w := &world{t: t}
			w.observe(otel.Config{})
			records := []batch.Record{{MessageID: "m", Attempt: 1}}
			ctx := w.hook.Hooks().BatchContext(t.Context(), batch.BatchInfo{}, records)
			w.hook.Hooks().RecordContext(ctx, &records[0])
			w.hook.Hooks().Warned(ctx, batch.Warning{Message: "look", Err: err})
			w.hook.Hooks().BatchSettled(ctx, batch.BatchInfo{}, []batch.Result{{Record: &records[0], Outcome: batch.Retry, Err: err, Started: time.Now()}})
			events, failed := 0, 0
			check := func(what, text string, most int) {
				if len(text) > most || !utf8.ValidString(text) || text == "" {
					t.Errorf("%s of %q: %s of %d bytes, valid %v", name, unit, what, len(text), utf8.ValidString(text))
				}
			}
			for _, s := range w.spans.GetSpans() {
				if s.Status.Code == codes.Error && attr(s.Attributes, "messaging.message.id") != "" {
					failed++
					check("status", s.Status.Description, 2<<10)
				}
				for _, e := range s.Events {
					events++
					check(e.Name, attr(e.Attributes, "exception.message"), 2<<10)
					if stack := attr(e.Attributes, "exception.stacktrace"); stack != "" {
						check("stack", stack, 8<<10)
					} else if name == "a panic" && e.Name == "exception" {
						t.Error("no stack")
					}
				}
			}
			if events != 2 || failed != 1 {
				t.Errorf("%d events, %d spans that failed", events, failed)
			}
		}
	}
}

func TestFlush(t *testing.T) {
	const late = "sqsbatch: Config.Flush is not called: an earlier call did not return in time"
	var told []string
	otelapi.SetErrorHandler(otelapi.ErrorHandlerFunc(func(err error) { told = append(told, err.Error()) }))
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		var do func(context.Context) error
		hook := otel.New(otel.Config{Flush: func(ctx context.Context) error {
			calls.Add(1)
			return do(ctx)
		}})
		flush := func(want time.Duration, errs ...string) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			began := time.Now()
			hook.Hooks().Flush(ctx)
			if d := time.Since(began); d != want {
				t.Errorf("took %v, want %v", d, want)
			}
			if !slices.Equal(told, errs) {
				t.Errorf("told %q, want %q", told, errs)
			}
			told = nil
		}
		do = func(context.Context) error { time.Sleep(time.Second); return nil }
		flush(time.Second)
		do = func(context.Context) error { return errors.New("no collector") }
		flush(0, "sqsbatch: Config.Flush: no collector")
		do = func(context.Context) error { panic("oops") }
		flush(0, "sqsbatch: Config.Flush: it panicked: oops")
		do = func(context.Context) error { runtime.Goexit(); return nil }
		flush(0, "sqsbatch: Config.Flush: handler called runtime.Goexit")

		// One that does not return costs its time once.
		do = func(context.Context) error { time.Sleep(time.Minute); return nil }
		flush(2 * time.Second)
		flush(0, late)
		flush(0, late)
		time.Sleep(time.Minute)
		synctest.Wait()
		do = func(context.Context) error { time.Sleep(time.Second); return nil }
		flush(time.Second)
		if n := calls.Load(); n != 6 {
			t.Errorf("%d calls", n)
		}

		// Two invocations at a time: the second one's spans are flushed too.
		go hook.Hooks().Flush(t.Context())
		synctest.Wait()
		flush(2 * time.Second)
		time.Sleep(time.Minute)
	})
}
