package longpoll_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

func TestRecordTimeout_EndsTheContext(t *testing.T) {
	for _, test := range []struct{ set, want time.Duration }{{0, 15 * time.Minute}, {time.Minute, time.Minute}} {
		var given time.Duration
		h := func(ctx context.Context, _ batch.Record) error {
			d, _ := ctx.Deadline()
			given = time.Until(d)
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Errorf("the context ended with %v", ctx.Err())
			}
			return ctx.Err()
		}
		inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.RecordTimeout = test.set }, func(w *world) {
			w.Send("a")
			w.start()
			w.after(test.want + time.Second)
			if given != test.want {
				t.Errorf("a record was given %v, want %v", given, test.want)
			}
			w.wantOutcomes(batch.Retry)
		})
	}
}
