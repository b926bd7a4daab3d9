package sqstest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

// pack is the function under test. It fails at first, because the warehouse is busy.
func pack(ctx context.Context, o order) error {
	r, _ := batch.RecordFrom(ctx)
	switch {
	case o.ID == "":
		return batch.Permanent(errors.New("the order has no id"))
	case r.Attempt < 3:
		return batch.RetryAfter(time.Hour, errors.New("the warehouse is busy"))
	}
	return nil
}

func TestPack(t *testing.T) {
	sqstest.Run(t, batch.JSON(pack), func(t *testing.T, q *sqstest.Queue) {
		q.Send(`{"id":"o-1"}`, `{}`, `nonsense`)
		q.UntilIdle()
		q.Want("retry, retry, succeeded", "dead-letter", "dead-letter")

		if took := q.Messages()[0].Attempts[2].Started.Sub(q.Messages()[0].Attempts[0].Started); took < 2*time.Hour {
			t.Errorf("the third attempt began after %v", took)
		}
	})
}
