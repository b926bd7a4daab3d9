package metric_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/telemetry/metric"
)

const orders = "arn:aws:sqs:eu-west-1:123456789012:orders"

// taken is what an aggregate has: "queue Metric" with a sum, a gauge or values.
func taken(a *metric.Aggregate) map[string]string {
	got := map[string]string{}
	a.Take(func(queue string, s *metric.Summary) {
		s.Counts(func(m *metric.Metric, value float64) { got[queue+" "+m.Name] = fmt.Sprint(value) })
		s.Distributions(func(m *metric.Metric, v *metric.Values) { got[queue+" "+m.Name] = fmt.Sprint(v.Append(nil)) })
	})
	return got
}

func want(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s is %q, want %q", name, got[name], want[name])
		}
	}
	for name, value := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is %s, want none", name, value)
		}
	}
}

func TestWhatABatchIsObservedAs(t *testing.T) {
	var a metric.Aggregate
	r := metric.NewRecorder(&a)
	began := time.Now()
	result := func(o batch.Outcome, took, allowed time.Duration, attempt, most int, err error) batch.Result {
		return batch.Result{
			Record:  &batch.Record{Attempt: attempt, SentAt: began.Add(-time.Minute), QueueARN: orders},
			Outcome: o, Started: began, Duration: took, Allowed: allowed, MaxReceiveCount: most, Err: err,
		}
	}
	boom := errors.New("boom")
	results := []batch.Result{
		result(batch.Succeeded, 100*time.Millisecond, time.Second, 1, 0, nil),
		result(batch.Succeeded, 100*time.Millisecond, time.Second, 1, 0, nil),
		result(batch.Retry, 1234567*time.Nanosecond, time.Second, 2, 5, boom),
		result(batch.Retry, 50*time.Millisecond, 0, 5, 5, &batch.PanicError{Value: "x"}),
		result(batch.Retry, 50*time.Millisecond, 0, 2, 5, batch.ErrGoexit),
		result(batch.Abandoned, 2*time.Second, time.Second, 1, 0, batch.ErrAbandoned),
		result(batch.DeadLettered, 50*time.Millisecond, time.Second, 5, 5, batch.Permanent(boom)),
		result(batch.Dropped, 50*time.Millisecond, time.Second, 1, 0, batch.Permanent(boom)),
		{Record: &batch.Record{Attempt: 5}, Outcome: batch.NotStarted, MaxReceiveCount: 5, Err: batch.ErrNotStarted},
		{Record: &batch.Record{Attempt: 1}, Outcome: batch.Skipped, Err: batch.ErrSkipped},
		{Record: &batch.Record{}, Outcome: batch.Succeeded, Started: began}, // as little as can be
	}
	info := batch.BatchInfo{QueueARN: orders, Records: len(results), Started: began}
	r.Hooks().BatchSettled(t.Context(), info, results)
	want(t, taken(&a), map[string]string{
		"orders RecordsSucceeded": "3", "orders RecordsRetried": "3", "orders RecordsAbandoned": "1", "orders RecordsDeadLettered": "1",
		"orders RecordsDropped": "1", "orders RecordsNotStarted": "1", "orders RecordsSkipped": "1",
		"orders RecordsLastAttempt": "2", "orders RecordsPanicked": "2", "orders ColdStarts": "1",
		"orders BatchSize": "[{11 1}]", "orders Attempts": "[{1 4} {2 2} {5 2}]",
		"orders RecordDuration": "[{0 1} {1.234 1} {50 4} {100 2} {2000 1}]",
		"orders DeadlineUsed":   "[{0.123 1} {5 2} {10 2} {200 1}]",
		"orders MessageAge":     "[{60.001 1} {60.05 4} {60.1 2} {62 1}]",
	})
	r.Hooks().BatchSettled(t.Context(), info, results[:1])
	if got := taken(&a); got["orders RecordsSucceeded"] != "1" || got["orders ColdStarts"] != "" {
		t.Errorf("the second batch is %v", got)
	}
	if got := taken(&a); len(got) != 0 {
		t.Errorf("left is %v", got)
	}
}

func TestWhatCallsAreObservedAs(t *testing.T) {
	var a metric.Aggregate
	r := metric.NewRecorder(&a)
	for _, c := range []batch.Call{
		{Operation: "ReceiveMessage", Entries: 7},
		{Operation: "ReceiveMessage", Err: errors.New("no route")},
		{Operation: "ReceiveMessage", Err: fmt.Errorf("stop: %w", context.Canceled)},
		{Operation: "DeleteMessageBatch", Entries: 10, Failed: 3, Throttled: 2},
		{Operation: "ChangeMessageVisibilityBatch", Entries: 4, Failed: 4, Err: fmt.Errorf("call: %w", &smithy.GenericAPIError{Code: "ThrottlingException"})},
		{Operation: "SendMessageBatch", Entries: 2},
		{Operation: "GetQueueAttributes", Err: &smithy.GenericAPIError{Code: "AccessDenied"}},
		{Operation: "SomethingNew"},
	} {
		c.QueueARN = orders
		r.Hooks().Called(t.Context(), c)
	}
	r.Hooks().Called(t.Context(), batch.Call{Operation: "GetQueueAttributes", URL: "https://sqs.eu-west-1.amazonaws.com/123456789012/orders/"})
	r.Hooks().Warned(t.Context(), batch.Warning{Message: "look"})
	r.Hooks().Warned(t.Context(), batch.Warning{Message: "look now", Serious: true, Queue: "orders"})
	want(t, taken(&a), map[string]string{
		"orders ReceiveCalls": "3", "orders MessagesReceived": "7", "orders ReceiveFailures": "1",
		"orders DeleteCalls": "1", "orders DeleteEntries": "10", "orders DeleteFailures": "3",
		"orders VisibilityCalls": "1", "orders VisibilityEntries": "4", "orders VisibilityFailures": "4", "orders Throttles": "2",
		"orders DeadLetterCalls": "1", "orders DeadLetterEntries": "2",
		"orders OtherCalls": "3", "orders OtherFailures": "1",
		" Warnings": "1", "orders Warnings": "1", "orders SeriousWarnings": "1",
	})
}

// Two polls of one queue are added up; one that ended is counted a last time.
func TestWhatALongPollIsObservedAs(t *testing.T) {
	var a metric.Aggregate
	r := metric.NewRecorder(&a)
	if r.Collect() {
		t.Error("a poll goes on, before any")
	}
	first := batch.Status{Concurrency: 10, Running: 7, Waiting: 3, Undeleted: 2, AbandonedRunning: 1, OldestSeconds: 4.5678, Counts: batch.Counts{Lost: 2, Repeated: 1}}
	second := batch.Status{Concurrency: 10, Running: 1, OldestSeconds: 1, Counts: batch.Counts{Lost: 1}}
	r.Hooks().Polling(t.Context(), orders, func() batch.Status { return first })
	r.Hooks().Polling(t.Context(), orders, func() batch.Status { return second })
	if !r.Collect() {
		t.Error("no poll goes on")
	}
	want(t, taken(&a), map[string]string{
		"orders Slots": "20", "orders Running": "8", "orders Waiting": "3", "orders Undeleted": "2", "orders AbandonedRunning": "1",
		"orders OldestRunning": "4.567", "orders RecordsLost": "3", "orders RecordsRepeated": "1",
	})
	first = batch.Status{Concurrency: 10, State: "stopped", Counts: batch.Counts{Lost: 2, Repeated: 1}}
	second = batch.Status{State: "stopped", Counts: batch.Counts{Lost: 4}}
	if r.Collect() {
		t.Error("a poll goes on after both ended")
	}
	if got := taken(&a); got["orders RecordsLost"] != "3" || got["orders RecordsRepeated"] != "" || got["orders Running"] != "0" {
		t.Errorf("at the end: %v", got)
	}
	if r.Collect() || len(taken(&a)) != 0 {
		t.Error("a queue that has ended is reported again")
	}
}

func TestConcurrentBatchesLoseNothing(t *testing.T) {
	var a metric.Aggregate
	r := metric.NewRecorder(&a)
	results := []batch.Result{{Record: &batch.Record{Attempt: 1}, Outcome: batch.Succeeded, Started: time.Now()}}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 1000 {
				r.Hooks().BatchSettled(context.Background(), batch.BatchInfo{QueueARN: fmt.Sprint(orders, i%2)}, results)
			}
		})
	}
	records, attempts := 0.0, 0
	take := func() {
		a.Take(func(_ string, s *metric.Summary) {
			s.Counts(func(m *metric.Metric, value float64) {
				if m == metric.RecordsSucceeded {
					records += value
				}
			})
			s.Distributions(func(m *metric.Metric, v *metric.Values) {
				if m == metric.Attempts {
					attempts += v.Count
				}
			})
		})
	}
	for range 100 {
		take()
	}
	all.Wait()
	take()
	if records != 8000 || attempts != 8000 {
		t.Errorf("%v records and %d attempts of 8000", records, attempts)
	}
}

func TestNothingIsAllocatedForARecord(t *testing.T) {
	var a metric.Aggregate
	r := metric.NewRecorder(&a)
	results := make([]batch.Result, 100)
	for i := range results {
		results[i] = batch.Result{Record: &batch.Record{Attempt: 1, SentAt: time.Now()}, Outcome: batch.Succeeded, Started: time.Now(),
			Duration: time.Duration(i) * time.Millisecond, Allowed: time.Second}
	}
	info := batch.BatchInfo{QueueARN: orders}
	r.Hooks().BatchSettled(t.Context(), info, results)
	if n := testing.AllocsPerRun(100, func() { r.Hooks().BatchSettled(context.Background(), info, results) }); n > 1 {
		t.Errorf("%v allocations for 100 records", n)
	}
}

func TestWhatACallOfASenderIsObservedAs(t *testing.T) {
	var a metric.Aggregate
	r := metric.NewRecorder(&a)
	const url = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
	r.SenderCalled(sender.Call{URL: url, Entries: 10, Bytes: 4000, Waited: 5 * time.Millisecond})
	r.SenderCalled(sender.Call{URL: url, Entries: 4, Bytes: 400, Retried: 3, Waited: 1500 * time.Microsecond, Failed: 2, Throttled: 1})
	r.SenderCalled(sender.Call{URL: url, Entries: 2, Bytes: 20, Retried: 2, Failed: 2, Err: &smithy.GenericAPIError{Code: "RequestThrottled"}})
	want(t, taken(&a), map[string]string{
		"orders SendBatchSize": "[{2 1} {4 1} {10 1}]", "orders SendWait": "[{0 1} {1.5 1} {5 1}]", "orders SendBytes": "4420",
		"orders SendRetries": "5", "orders SendFailures": "4", "orders SendThrottles": "2",
	})
}

// Names are valid and unique, and each metric says what to do about it.
func TestTheListIsSound(t *testing.T) {
	name := regexp.MustCompile(`^[A-Z][A-Za-z]{1,40}$`)
	names, labels := map[string]bool{}, map[string]bool{}
	kinds := map[string]*metric.Metric{}
	for i, m := range metric.All {
		if m.Index() != i || metric.ByName(m.Name) != m {
			t.Errorf("%s has the index %d, and is number %d", m.Name, m.Index(), i)
		}
		if !name.MatchString(m.Name) || names[m.Name] {
			t.Errorf("%q is no name, or is there twice", m.Name)
		}
		names[m.Name] = true
		key := m.Family + "/" + m.Value
		if labels[key] || (m.Label == "") != (m.Value == "") || m.Label == "" && m.Family != m.Name {
			t.Errorf("%s: family %q, label %q, value %q", m.Name, m.Family, m.Label, m.Value)
		}
		labels[key] = true
		if first := kinds[m.Family]; first == nil {
			kinds[m.Family] = m
		} else if first.Kind != m.Kind || first.Unit != m.Unit || first.Label != m.Label {
			t.Errorf("%s and %s are of one family and differ", m.Name, first.Name)
		}
		if !slices.Contains([]metric.Unit{metric.Count, metric.Milliseconds, metric.Seconds, metric.Percent, metric.Bytes}, m.Unit) {
			t.Errorf("%s has the unit %q", m.Name, m.Unit)
		}
		if len(m.Help) < 40 || !strings.HasSuffix(m.Help, ".") {
			t.Errorf("%s: %q", m.Name, m.Help)
		}
	}
	if metric.ByName("None") != nil {
		t.Error("there is a metric that there is not")
	}
}
