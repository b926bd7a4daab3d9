package lambda_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// What matches no filter is deleted and never invoked, does not fill a batch,
// and is reported.
func TestMappingFilters(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		var filtered []string
		m := lambda.Mapping{
			QueueURL: url, BatchSize: 3, Window: 10 * time.Second,
			Filters: []string{`{"body": [{"prefix": "a"}]}`, `{"body": [{"suffix": "z"}]}`},
			Filtered: func(f lambda.Filtered) {
				for i, r := range f.Records {
					if !f.Verdicts[i].Deleted || f.Verdicts[i].Err != nil {
						w.Errorf("%s: %+v", r.Body, f.Verdicts[i])
					}
					filtered = append(filtered, r.Body)
				}
			},
		}
		w.send(url, "a1", "b1", "b2", "yz", "b3", "b4")
		stop := w.run(m)
		w.after(5 * time.Second)
		w.wantDeleted("b1", "b2", "b3", "b4")
		w.send(url, "b5", "a2", "c")
		w.after(9 * time.Second)
		w.wantTimes("5s:3")
		w.wantDeleted("a1", "a2", "yz", "b1", "b2", "b3", "b4", "b5", "c")
		stop()
		slices.Sort(filtered)
		if want := []string{"b1", "b2", "b3", "b4", "b5", "c"}; !slices.Equal(filtered, want) {
			w.Errorf("filtered %v, want %v", filtered, want)
		}
	})
}

// A filtered message that cannot be deleted is reported with the reason, and Run
// waits for that.
func TestFilteredAndNotDeleted(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		w.intercept = func(operation string, _ []byte) (*http.Response, error) {
			if operation == "DeleteMessageBatch" {
				return nil, http.ErrHandlerTimeout
			}
			return nil, nil
		}
		var told []lambda.Filtered
		w.send(url, "plain")
		stop := w.run(lambda.Mapping{
			QueueURL: url, Filters: []string{`{"body": {"a": [1]}}`},
			Filtered: func(f lambda.Filtered) { told = append(told, f) },
		})
		w.after(time.Millisecond)
		stop()
		if len(told) != 1 || told[0].Verdicts[0].Deleted || told[0].Verdicts[0].Err == nil || told[0].Records[0].Body != "plain" {
			t.Errorf("told %+v", told)
		}
		if len(w.pollErrors) == 0 || w.pollErrors[len(w.pollErrors)-1].Operation != "DeleteMessageBatch" {
			t.Errorf("errors %v, want one of the deletion", w.pollErrors)
		}
		w.wantTimes()
	})
}

func TestFilterValidation(t *testing.T) {
	d := inProcess(t, lambda.Function{}, func(context.Context, []byte) ([]byte, error) { return nil, nil })
	m := lambda.Mapping{Function: d, SQS: awssqs.New(awssqs.Options{}), QueueURL: "http://q/0/orders"}
	for _, c := range []struct {
		filters []string
		want    string
	}{
		{slices.Repeat([]string{`{"body": ["a"]}`}, 10), ""},
		{slices.Repeat([]string{`{"body": ["a"]}`}, 11), "11 Filters: a mapping takes 5, and 10 with a raised quota"},
		{[]string{`{"body": ["a"]}`, `{"body": "a"}`}, "Filters[1]: pattern.body: need a list"},
	} {
		m.Filters = c.filters
		err := m.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: error %v, want %q", c.filters, err, c.want)
		}
	}
}

// A queue that is slow to delete holds up polling, before what waits for its
// deletion is without bound.
func TestFilteredFasterThanDeleted(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 30)
		var open, most atomic.Int32
		w.intercept = func(operation string, _ []byte) (*http.Response, error) {
			if operation == "DeleteMessageBatch" {
				most.Store(max(most.Load(), open.Add(1)))
				defer open.Add(-1)
				time.Sleep(time.Second)
			}
			return nil, nil
		}
		bodies := numbered(300)
		w.send(url, bodies...)
		w.runUntil(500*time.Millisecond, lambda.Mapping{QueueURL: url, Filters: []string{`{"body": {"a": [1]}}`}}) // waits for what has begun
		if most.Load() != 10 || len(w.deleted) < 100 || len(w.deleted) > 110 {
			t.Errorf("%d deletions at a time, %d messages in the first second; want 10 of 10 each", most.Load(), len(w.deleted))
		}
	})
}
