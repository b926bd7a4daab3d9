package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

func TestRule16AGroupIsThatOfItsQueue(t *testing.T) {
	records := fifo("a", "a", "a")
	records[1].QueueARN = "arn:aws:sqs:eu-west-1:123456789012:returns.fifo"
	results := invoke(t, 0, records, batch.Config{}, func(_ context.Context, r batch.Record) error {
		if r.MessageID == "m-0" {
			return errors.New("no")
		}
		return nil
	})
	if got, want := outcomes(results), []batch.Outcome{batch.Retry, batch.Succeeded, batch.Skipped}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRule16FIFORecordsWithoutAGroupKeepTheirOrder(t *testing.T) {
	results := invoke(t, 0, fifo("", ""), batch.Config{}, func(context.Context, batch.Record) error { return errors.New("no") })
	if got, want := outcomes(results), []batch.Outcome{batch.Retry, batch.Skipped}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRule15StandardRecordsBesideFIFOAreFree(t *testing.T) {
	records := fifo("a", "b", "b")
	records[1].QueueARN, records[2].QueueARN = standardARN, standardARN+".fifo-of-old"
	records = append(records, records[2])
	results := invoke(t, 0, records, batch.Config{}, func(context.Context, batch.Record) error { return errors.New("no") })
	if got, want := outcomes(results), []batch.Outcome{batch.Retry, batch.Retry, batch.Retry, batch.Retry}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A group waits for its overdue record, and must go on when that returns,
// whatever the other workers do then.
func TestRule16AnOverdueGroupGoesOn(t *testing.T) {
	const short, wave = 500 * time.Millisecond, 1500 * time.Millisecond
	for name, c := range map[string]struct {
		concurrency int
		groups      []string
		takes       map[string]time.Duration // by group, but for m-0 and m-1
		m1          time.Duration            // when it starts
	}{
		// m-0 is overdue at 3 s and returns at 4.
		"in a place that is free again":   {2, []string{"a", "a", "b", "b", "b", "b", "c"}, map[string]time.Duration{"b": wave, "c": short}, 4 * time.Second},
		"in the next place":               {1, []string{"a", "a", "b", "c"}, map[string]time.Duration{"b": wave}, 4500 * time.Millisecond},
		"in that of another, overdue too": {1, []string{"a", "a", "b"}, map[string]time.Duration{"b": time.Hour}, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T) {
				begin := time.Now()
				cfg := batch.Config{Concurrency: c.concurrency, RecordTimeout: 2 * time.Second}
				results := invoke(t, time.Minute, fifo(c.groups...), cfg, func(ctx context.Context, r batch.Record) error {
					switch r.MessageID {
					case "m-0":
						return wait(ctx, 4*time.Second, false)
					case "m-1":
						return nil
					}
					return wait(ctx, c.takes[r.GroupID], false)
				})
				if results[0].Outcome != batch.Succeeded || results[1].Outcome != batch.Succeeded {
					t.Errorf("%v, want success of the first two", outcomes(results))
				}
				if got := results[1].Started.Sub(begin); got != c.m1 {
					t.Errorf("the second of the group started after %v, want %v", got, c.m1)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
