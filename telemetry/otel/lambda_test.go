package otel_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// Every outcome of an invocation, on the record's span.
func TestOutcomesOnLambda(t *testing.T) {
	for _, c := range []struct{ body, outcome, event, more string }{
		{"ok", "succeeded", "", "sqsbatch.allowed_ms=9000"},
		{"fail", "retry *otel_test.carrierError: shipping: the carrier is on strike", "*otel_test.carrierError shipping: the carrier is on strike",
			"sqsbatch.allowed_ms=9000 sqsbatch.visible_in_ms=1000"},
		{"later", "retry *errors.errorString: busy", "*errors.errorString busy", "sqsbatch.allowed_ms=9000 sqsbatch.visible_in_ms=3600000"},
		{"never", "dead-letter *errors.errorString: no such thing", "*errors.errorString no such thing",
			"sqsbatch.allowed_ms=9000 sqsbatch.dead_letter_queue=DLQ"},
		{"malformed", "dead-letter malformed: malformed body: not valid JSON at offset 0", "*batch.MalformedError malformed body: not valid JSON at offset 0",
			"sqsbatch.allowed_ms=9000 sqsbatch.dead_letter_queue=DLQ"},
		{"panic", "retry panic: handler panicked: oops", "*batch.PanicError handler panicked: oops", "sqsbatch.allowed_ms=9000 sqsbatch.visible_in_ms=1000"},
		{"goexit", "retry goexit: handler called runtime.Goexit", "*errors.errorString handler called runtime.Goexit",
			"sqsbatch.allowed_ms=9000 sqsbatch.visible_in_ms=1000"},
		{"slow", "retry timeout: context deadline exceeded", "context.deadlineExceededError context deadline exceeded",
			"sqsbatch.allowed_ms=9000 sqsbatch.visible_in_ms=1000"},
		{"hang", "abandoned abandoned: abandoned: its handler was still running after 9.25s and ignores the end of its context",
			"*errors.errorString abandoned: its handler was still running after 9.25s and ignores the end of its context",
			"sqsbatch.allowed_ms=9000 sqsbatch.max_receive_count=5"},
	} {
		inWorldRun(t, c.body, false, otel.Options{}, func(w *world) {
			w.Send("swordfish:" + c.body)
			cfg := w.config()
			cfg.Backoff = func(int) time.Duration { return time.Second }
			began := time.Now()
			w.onLambda(byBody, cfg)
			records, batches := w.byID()
			if len(records) != 1 || len(batches) != 1 {
				w.t.Fatalf("%d spans of records, %d others", len(records), len(batches))
			}
			s := records[0]
			if got := outcomeOf(s); got != c.outcome {
				w.t.Errorf("outcome %q, want %q", got, c.outcome)
			}
			want := strings.ReplaceAll(c.more, "DLQ", w.DeadLetterURL)
			if got := attrs(s.Attributes, "sqsbatch.allowed_ms", "sqsbatch.visible_in_ms", "sqsbatch.max_receive_count", "sqsbatch.dead_letter_queue"); got != want {
				w.t.Errorf("attributes %q, want %q", got, want)
			}
			checkException(w.t, s, c.event)
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
	inWorld(t, false, otel.Options{}, func(w *world) {
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

// What is not handed to the handler has no span; the batch's tells of it.
func TestRecordsThatAreNotHandled(t *testing.T) {
	inWorldRun(t, "not started", false, otel.Options{}, func(w *world) {
		w.Send("hang", "ok", "ok")
		cfg := w.config()
		cfg.Concurrency = 1
		w.onLambda(byBody, cfg)
		checkUnhandled(w.t, w, "abandoned", "not-started", "sqsbatch.records.abandoned=1 sqsbatch.records.not_started=2")
	})
	inWorldRun(t, "skipped", true, otel.Options{}, func(w *world) {
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
