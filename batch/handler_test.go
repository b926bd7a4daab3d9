package batch_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
)

func TestChainCallsTheFirstFirst(t *testing.T) {
	var calls []string
	note := func(name string) func(batch.Handler) batch.Handler {
		return func(next batch.Handler) batch.Handler {
			return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
				calls = append(calls, name)
				return next.Handle(ctx, r)
			})
		}
	}
	h := batch.Chain(batch.HandlerFunc(func(context.Context, batch.Record) error {
		calls = append(calls, "handler")
		return nil
	}), note("a"), note("b"))
	if err := h.Handle(t.Context(), batch.Record{}); err != nil || !slices.Equal(calls, []string{"a", "b", "handler"}) {
		t.Errorf("called %v, %v", calls, err)
	}
}
