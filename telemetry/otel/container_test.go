package otel_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// Every outcome in a container: a span for each record, each a trace of its own.
func TestOutcomesInAContainer(t *testing.T) {
	want := []string{
		"abandoned abandoned: abandoned: its handler was still running after 31s and ignores the end of its context",
		"dead-letter *errors.errorString: no such thing",
		"dead-letter malformed: malformed body: not valid JSON at offset 0",
		"retry *errors.errorString: busy",
		"retry *otel_test.carrierError: shipping: the carrier is on strike",
		"retry goexit: handler called runtime.Goexit",
		"retry panic: handler panicked: oops",
		"retry timeout: context deadline exceeded",
		"succeeded",
	}
	inWorld(t, false, otel.Options{}, func(w *world) {
		w.Send("ok", "fail", "later", "never", "malformed", "panic", "goexit", "slow", "hang")
		cfg := w.config()
		cfg.RecordTimeout = 30 * time.Second
		cfg.Backoff = func(int) time.Duration { return time.Hour }
		w.inContainer(byBody, cfg, time.Minute)
		records, others := w.byID()
		var got []string
		traces := map[trace.TraceID]bool{}
		took := map[string]time.Duration{"timeout": 30 * time.Second, "abandoned": 31 * time.Second}
		for _, s := range records {
			got = append(got, outcomeOf(s))
			if d, want := s.EndTime.Sub(s.StartTime), took[attr(s.Attributes, "error.type")]; d != want {
				t.Errorf("%q: the span takes %v, want the %v of the handler", outcomeOf(s), d, want)
			}
			traces[s.SpanContext.TraceID()] = true
			if s.Name != "process orders" || s.SpanKind != trace.SpanKindConsumer || s.Parent.IsValid() || attr(s.Attributes, "faas.trigger") != "" {
				t.Errorf("the span %s %q has the parent %v and %s", s.SpanKind, s.Name, s.Parent, attrs(s.Attributes))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q, want\n%q", got, want)
		}
		if len(traces) != len(want) || len(others) != 0 {
			t.Errorf("%d traces for %d records, %d other spans", len(traces), len(want), len(others))
		}
	})
}

// The group of a FIFO queue is a batch, and a trace.
func TestAGroupInAContainer(t *testing.T) {
	inWorld(t, true, otel.Options{}, func(w *world) {
		w.Send("a:ok", "a:fail", "a:ok", "b:ok")
		cfg := w.config()
		cfg.Backoff = func(int) time.Duration { return time.Hour }
		w.inContainer(byBody, cfg, 10*time.Second)
		records, batches := w.byID()
		if len(records) != 3 || len(batches) != 1 {
			t.Fatalf("%d spans of records, %d others", len(records), len(batches))
		}
		b := batches[0]
		if got := attrs(b.Attributes, "messaging.batch.message_count", "sqsbatch.records.succeeded", "sqsbatch.records.retry", "sqsbatch.records.skipped"); got !=
			"messaging.batch.message_count=3 sqsbatch.records.retry=1 sqsbatch.records.skipped=1 sqsbatch.records.succeeded=1" || b.Parent.IsValid() {
			t.Errorf("the batch has %s, and the parent %v", got, b.Parent)
		}
		children := 0
		for _, s := range records {
			if s.Parent.SpanID() == b.SpanContext.SpanID() {
				children++
			} else if s.Parent.IsValid() {
				t.Errorf("a record's parent is %v", s.Parent)
			}
		}
		if children != 2 {
			t.Errorf("%d of the group's records are below its span, want 2", children)
		}
	})
}

// A span of the main function is not the parent of all that the process does.
func TestTheContextOfPollIsNoParent(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		inWorld(t, fifo, otel.Options{}, func(w *world) {
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

// A record that is extended while it runs has one span, as long as its handler took.
func TestARecordHasOneSpan(t *testing.T) {
	inWorld(t, false, otel.Options{}, func(w *world) {
		w.Send("ok", "slow")
		handled := 0
		cfg := w.config()
		cfg.Concurrency = 1
		cfg.RecordTimeout = 10 * time.Minute
		w.inContainer(func(ctx context.Context, r batch.Record) error {
			handled++
			time.Sleep(5 * time.Minute) // extended
			return nil
		}, cfg, 20*time.Minute)
		records, _ := w.byID()
		if len(records) != 2 || handled != 2 {
			t.Fatalf("%d spans for %d records that were handled", len(records), handled)
		}
		for _, s := range records {
			if d := s.EndTime.Sub(s.StartTime); d != 5*time.Minute || outcomeOf(s) != "succeeded" {
				t.Errorf("%q after %v", outcomeOf(s), d)
			}
		}
	})
}
