package bulk_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
)

// What waits for its turn is not written to what is down.
func TestAnAbortPutsOffWhatHasNotBegun(t *testing.T) {
	for name, abort := range map[string]func(items []bulk.Item[string]) error{
		"of the function": func([]bulk.Item[string]) error { return batch.Abort(time.Minute, errNo) },
		"of an item": func(items []bulk.Item[string]) error {
			items[1].Fail(batch.Abort(time.Minute, errNo))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fifo := range []bool{false, true} {
				inWorld(t, fifo, func(w *world) {
					w.cfg, w.run.Concurrency = bulk.Config{MaxItems: 2, Parallel: 1}, 10
					w.do = func(_ context.Context, items []bulk.Item[string]) error {
						time.Sleep(5 * time.Second)
						return abort(items)
					}
					w.Send("a:0", "b:0", "c:0", "d:0", "e:0", "f:0", "g:0")
					w.began = time.Now()
					w.invoke(10, 60*time.Second)
					if len(w.seen()) != 1 || time.Since(w.began) > 10*time.Second {
						t.Errorf("chunks %q, after %v", w.seen(), time.Since(w.began))
					}
					for _, body := range []string{"a:0", "b:0", "c:0", "d:0", "e:0", "f:0", "g:0"} {
						if slices.Contains(w.items(), body) {
							continue // in the chunk that was written, of any two
						}
						if r := w.result(body); r.Outcome != batch.Retry || r.VisibleIn < time.Minute {
							t.Errorf("%s is %v, back in %v: %v", body, r.Outcome, r.VisibleIn, r.Err)
						}
					}
				})
			}
		})
	}
}
