package otel_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// numberedRecords are n records of a Lambda event, from senders that told.
func numberedRecords(n int) []batch.Record {
	records := make([]batch.Record, n)
	for i := range records {
		records[i] = batch.Record{MessageID: fmt.Sprint("m-", i), QueueARN: "arn:aws:sqs:eu-west-1:1:orders", MessageAttributes: map[string]batch.MessageAttribute{
			"traceparent": {DataType: "String", StringValue: fmt.Sprintf("00-0af7651916cd43dd8448eb211c80319c-%016x-01", i+1)}}}
	}
	return records
}

// The SDK keeps 128 links and events by default: no more are made.
func TestALargeBatch(t *testing.T) {
	inWorld(t, false, otel.Options{}, func(w *world) {
		records := numberedRecords(300)
		info := batch.BatchInfo{Records: len(records), QueueARN: records[0].QueueARN}
		results := make([]batch.Result, len(records))
		for i := range results {
			results[i] = batch.Result{Record: &records[i], Outcome: batch.NotStarted, Err: batch.ErrNotStarted}
		}
		w.hook.BatchSettled(w.hook.BatchContext(w.t.Context(), info, records), info, results)
		_, batches := w.byID()
		if b := batches[0]; len(b.Links) != 128 || len(b.Events) != 100 || b.DroppedLinks+b.DroppedEvents != 0 || attr(b.Attributes, "sqsbatch.records.not_started") != "300" {
			t.Errorf("%d links, %d events, %s", len(b.Links), len(b.Events), attrs(b.Attributes))
		}
	})
}

// The conventions: a batch of several queues has no destination.
func TestABatchOfSeveralQueues(t *testing.T) {
	inWorld(t, false, otel.Options{}, func(w *world) {
		records := numberedRecords(2)
		records[1].QueueARN = "arn:aws:sqs:eu-west-1:1:returns"
		info := batch.BatchInfo{Records: 2, QueueARN: records[0].QueueARN}
		ctx := w.hook.BatchContext(w.t.Context(), info, records)
		results := make([]batch.Result, 2)
		for i := range records {
			w.hook.RecordContext(ctx, &records[i])
			results[i] = batch.Result{Record: &records[i], Outcome: batch.Succeeded, Started: time.Now()}
		}
		w.hook.BatchSettled(ctx, info, results)
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
		inWorld(t, false, otel.Options{}, func(w *world) {
			records := numberedRecords(n)
			info := batch.BatchInfo{Records: n, QueueARN: records[0].QueueARN}
			ctx := w.hook.BatchContext(w.t.Context(), info, records)
			results := make([]batch.Result, n)
			for i := range results {
				results[i] = batch.Result{Record: &records[i], Outcome: batch.Abandoned, Err: batch.ErrAbandoned}
			}
			w.hook.BatchSettled(ctx, info, results)
			w.hook.RecordContext(ctx, &records[0])
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
		inWorld(t, false, otel.Options{}, func(w *world) {
			records := numberedRecords(n)
			again := records[n-1]
			info := batch.BatchInfo{Records: n, QueueARN: again.QueueARN}
			ctx := w.hook.BatchContext(w.t.Context(), info, records)
			w.hook.RecordContext(ctx, &again)
			results := []batch.Result{{Record: &records[0], Outcome: batch.Skipped}, {Record: &again, Outcome: batch.Retry, Started: time.Now()}}
			w.hook.BatchSettled(ctx, info, results[2-n:])
			if spans, _ := w.byID(); len(spans) != 1 || outcomeOf(spans[0]) != "retry" {
				t.Errorf("of %d: %d spans", n, len(spans))
			}
		})
	}
}

// Without a batch, as an engine is used by itself, a record's span ends when it is finished.
func TestAnEngineByItself(t *testing.T) {
	inWorld(t, false, otel.Options{}, func(w *world) {
		engine, err := runner.New(batch.HandlerFunc(byBody), batch.Config{Hooks: []any{w.hook}})
		ok(t, err)
		records := numberedRecords(2)
		records[1].Body = "fail"
		engine.Run(context.Background(), records, batch.Times{}, nil)
		spans, others := w.byID()
		if len(spans) != 2 || len(others) != 0 {
			t.Errorf("%d spans, and %d others", len(spans), len(others))
		}
	})
}

func TestWarningsAreEventsOfTheBatch(t *testing.T) {
	inWorld(t, false, otel.Options{}, func(w *world) {
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
