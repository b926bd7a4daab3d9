package idempotency_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/sqstest"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// BenchmarkRecord handles a record by a function that does nothing: alone, as new work, and
// as a duplicate. Each context has a deadline, as a runner's have.
func BenchmarkRecord(b *testing.B) {
	alone := batch.JSON(func(context.Context, placed) error { return nil })
	guarded := batch.Chain(alone, idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Field("id")}))
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	record := batch.Record{QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders"}
	run := func(name string, h batch.Handler, body func(n int) string) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				r := record
				r.Body = body(n)
				if err := h.Handle(ctx, r); err != nil && err != batch.ErrDuplicate {
					b.Fatal(err)
				}
			}
		})
	}
	work := 0
	fresh := func(int) string { work++; return `{"id":"` + strconv.Itoa(work) + `"}` }
	run("alone", alone, fresh)
	run("new", guarded, fresh)
	run("duplicate", guarded, func(int) string { return `{"id":"1"}` })
}

// The records of a batch ask the store side by side: a batch takes two calls' time longer,
// not two for each record.
func TestBatch_CostsTwoCallsTime(t *testing.T) {
	const takes = 10 * time.Millisecond
	inBoth(t, sqstest.Config{}, func() batch.Handler {
		s := &shop{}
		distant := hooked(idempotency.NewMemory(), func(context.Context, random.StoreCall) error {
			time.Sleep(takes)
			return nil
		}, nil)
		return s.guarded(distant, idempotency.Config{})
	}, func(t *testing.T, q *sqstest.Queue) {
		var orders []string
		for n := range 10 {
			orders = append(orders, order(strconv.Itoa(n)))
		}
		q.Send(orders...)
		q.UntilIdle()
		var began, ended time.Time
		for _, m := range q.Messages() {
			a := m.Attempts[0]
			if m.String() != "succeeded" {
				t.Errorf("%s: %v", m.Body, m)
			}
			if began.IsZero() || a.Started.Before(began) {
				began = a.Started
			}
			if end := a.Started.Add(a.Duration); end.After(ended) {
				ended = end
			}
		}
		if took := ended.Sub(began); took != 2*takes {
			t.Errorf("the batch took %v, want %v", took, 2*takes)
		}
	})
}
