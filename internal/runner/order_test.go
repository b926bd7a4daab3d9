package runner_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
)

func TestSameGroupIDInTwoQueues_IsTwoGroups(t *testing.T) {
	records := fifo("a", "a", "a")
	records[1].QueueARN = "arn:aws:sqs:eu-west-1:123456789012:returns.fifo"
	results := invoke(t, 0, records, config{}, func(_ context.Context, r batch.Record) error {
		if r.MessageID == "m-0" {
			return errors.New("no")
		}
		return nil
	})
	if got, want := outcomes(results), []batch.Outcome{batch.Retry, batch.Succeeded, batch.Skipped}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestFIFORecordsWithoutGroup_KeepTheirOrder(t *testing.T) {
	results := invoke(t, 0, fifo("", ""), config{}, func(context.Context, batch.Record) error { return errors.New("no") })
	if got, want := outcomes(results), []batch.Outcome{batch.Retry, batch.Skipped}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestStandardRecordsAmongFIFO_ImposeNoOrder(t *testing.T) {
	records := fifo("a", "b", "b")
	records[1].QueueARN, records[2].QueueARN = standardARN, standardARN+".fifo-of-old"
	records = append(records, records[2])
	results := invoke(t, 0, records, config{}, func(context.Context, batch.Record) error { return errors.New("no") })
	if got, want := outcomes(results), []batch.Outcome{batch.Retry, batch.Retry, batch.Retry, batch.Retry}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
