package otel_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func (w *world) collect() map[string]metricdata.Metrics {
	w.t.Helper()
	var all metricdata.ResourceMetrics
	ok(w.t, w.reader.Collect(context.Background(), &all))
	byName := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			byName[m.Name] = m
		}
	}
	return byName
}

// durations are the data points of a metric that measures durations, in seconds.
func (w *world) durations(name string) []metricdata.HistogramDataPoint[float64] {
	w.t.Helper()
	m := w.collect()[name]
	if m.Unit != "s" {
		w.t.Errorf("%s is in %q", name, m.Unit)
	}
	return m.Data.(metricdata.Histogram[float64]).DataPoints
}

func TestMetrics(t *testing.T) {
	const common = "messaging.destination.name=orders messaging.operation.name=process messaging.operation.type=process messaging.system=aws_sqs sqsbatch.outcome="
	want := []string{
		"error.type=*errors.errorString " + common + "dead-letter: 1 in 0s",
		"error.type=*otel_test.carrierError " + common + "retry: 1 in 0s",
		"error.type=abandoned " + common + "abandoned: 1 in 9.25s",
		"error.type=timeout " + common + "retry: 1 in 9s",
		common + "succeeded: 2 in 0s",
	}
	inWorld(t, false, otel.Config{}, func(w *world) {
		w.Send("ok", "ok", "fail", "never", "slow", "hang")
		w.onLambda(byBody, w.config())
		var got []string
		for _, p := range w.durations("messaging.process.duration") {
			got = append(got, fmt.Sprintf("%s: %d in %vs", attrs(p.Attributes.ToSlice()), p.Count, p.Sum))
			if !slices.Equal(p.Bounds, []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}) {
				t.Errorf("buckets %v", p.Bounds)
			}
			for _, e := range p.Exemplars {
				if len(e.SpanID) == 0 {
					t.Error("an exemplar without a span")
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("durations are %q, want\n%q", got, want)
		}
		consumed, n := w.collect()["messaging.client.consumed.messages"], int64(0)
		for _, p := range consumed.Data.(metricdata.Sum[int64]).DataPoints {
			n += p.Value
		}
		if n != 6 || consumed.Unit != "{message}" || !consumed.Data.(metricdata.Sum[int64]).IsMonotonic {
			t.Errorf("%d %s of 6 were consumed", n, consumed.Unit)
		}
	})
}

func TestCallsAreMeasured(t *testing.T) {
	call := func(operation, queue, kind, failure string) string {
		s := "messaging.destination.name=" + queue + " messaging.operation.name=" + operation + kind + " messaging.system=aws_sqs server.address=sqs.eu-west-1.invalid"
		if failure != "" {
			s = "error.type=" + failure + " " + s
		}
		return s
	}
	const receive, settle, send = " messaging.operation.type=receive", " messaging.operation.type=settle", " messaging.operation.type=send"
	want := []string{
		call("ChangeMessageVisibilityBatch", "orders", settle, ""),
		call("DeleteMessageBatch", "orders", settle, ""),
		call("DeleteMessageBatch", "orders", settle, "AccessDenied"),
		call("GetQueueAttributes", "orders", "", ""),
		call("ReceiveMessage", "orders", receive, ""),
		call("ReceiveMessage", "orders", receive, "*net.OpError"),
		call("SendMessageBatch", "orders-dead", send, ""),
		call("SendMessageBatch", "orders-dead", send, "entries_failed"),
	}
	inWorld(t, false, otel.Config{}, func(w *world) {
		var mu sync.Mutex
		calls := map[string]int{}
		w.Fault = func(operation string, r *http.Request) (*http.Response, error) {
			mu.Lock()
			calls[operation]++
			n := calls[operation]
			mu.Unlock()
			switch {
			case operation == "DeleteMessageBatch" && n == 1:
				return testqueue.Answer(r, 403, "AccessDenied", "")
			case operation == "ReceiveMessage" && n == 4:
				return nil, &net.OpError{Op: "dial", Err: errors.New("no route")}
			case operation == "SendMessageBatch" && n == 1:
				return testqueue.Answer(r, 200, "", `{"Failed":[{"Id":"0","Code":"InternalError","SenderFault":false}],"Successful":[]}`)
			}
			return nil, nil
		}
		w.Send("ok", "fail", "never")
		cfg := w.config()
		cfg.Failures.Backoff = func(int) time.Duration { return time.Hour }
		w.Poll(w.t.Context(), 130*time.Second, batch.HandlerFunc(byBody), cfg) // a receive is open then
		var got []string
		for _, p := range w.durations("messaging.client.operation.duration") {
			got = append(got, attrs(p.Attributes.ToSlice()))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// codeError has a code, as AWS's errors have; a bad one has as many as messages.
type codeError struct{ code string }

func (e *codeError) Error() string { return "refused" }

func (e *codeError) ErrorCode() string {
	if e.code == "panic" {
		panic("a nil pointer, perhaps")
	}
	return e.code
}

func TestErrorTypes(t *testing.T) {
	for want, err := range map[string]error{
		"ConditionalCheckFailed":  fmt.Errorf("saving: %w", &codeError{"ConditionalCheckFailed"}),
		"_OTHER":                  &codeError{"panic"},
		"canceled":                fmt.Errorf("asking: %w", context.Canceled),
		"timeout":                 batch.RetryAfter(time.Hour, context.DeadlineExceeded),
		"*otel_test.carrierError": errors.Join(fmt.Errorf("a: %w, %w", &carrierError{}, errors.New("b"))),
		"*batch.permanentError":   batch.Permanent(nil),
	} {
		inWorldRun(t, want, false, otel.Config{}, func(w *world) {
			w.Send("x")
			cfg := w.config()
			cfg.Failures.Backoff = func(int) time.Duration { return time.Hour }
			w.Poll(w.t.Context(), time.Minute, batch.HandlerFunc(func(context.Context, batch.Record) error { return err }), cfg)
			records, _ := w.byID()
			if len(records) != 1 || attr(records[0].Attributes, "error.type") != want {
				w.t.Errorf("%d spans, %s", len(records), attrs(records[0].Attributes))
			}
		})
	}
}

func TestErrorTypesAreBounded(t *testing.T) {
	inWorld(t, false, otel.Config{}, func(w *world) {
		w.settle(numberedRecords(1_500), 1_500, func(r *batch.Record) batch.Result {
			return batch.Result{Record: r, Outcome: batch.Retry, Err: &codeError{"code of " + r.MessageID}, Started: time.Now()}
		})
		if n := len(w.durations("messaging.process.duration")); n > 1_001 {
			t.Errorf("%d sets of attributes", n)
		}
	})
}
