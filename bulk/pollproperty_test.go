package bulk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Any messages through a long poll, some of which fail a few times: every one is
// written and deleted after its last failure, or is in the dead-letter queue
// because it failed as often as it may, and groups keep their order.
func TestPropertyAnyMessagesInChunks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fifo := rapid.Bool().Draw(rt, "fifo")
		var bodies []string
		failures := map[string]int{} // how many deliveries of each fail
		for i := range rapid.IntRange(1, 60).Draw(rt, "messages") {
			body := fmt.Sprintf("%s:%d", rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "group"), i)
			if rapid.IntRange(0, 5).Draw(rt, "fails") == 0 {
				failures[body] = rapid.IntRange(1, 6).Draw(rt, "failures")
			}
			bodies = append(bodies, body)
		}
		cfg := bulk.Config{
			MaxItems: rapid.IntRange(1, 30).Draw(rt, "items"),
			Parallel: rapid.IntRange(1, 3).Draw(rt, "parallel"),
			Linger:   time.Duration(rapid.IntRange(0, 200).Draw(rt, "linger")) * time.Millisecond,
		}
		takes := time.Duration(rapid.IntRange(0, 500).Draw(rt, "takes")) * time.Millisecond
		concurrency := rapid.IntRange(0, 20).Draw(rt, "concurrency")
		var failure error
		inWorld(t, fifo, func(w *world) {
			w.cfg, w.run.Concurrency, w.run.Backoff = cfg, concurrency, partialfailure.Constant(time.Second)
			last := map[string]string{} // of each group, what is done
			w.do = func(_ context.Context, items []bulk.Item[string]) error {
				time.Sleep(takes)
				w.mu.Lock()
				defer w.mu.Unlock()
				failed := map[string]bool{}
				for i := range items {
					body, group := items[i].Value, items[i].Value[:1]
					if items[i].Record.Attempt <= failures[body] {
						items[i].Fail(errNo)
						failed[group] = true
					}
					if !fifo || failed[group] {
						continue
					}
					if last[group] != "" && slices.Index(bodies, last[group]) > slices.Index(bodies, body) {
						failure = fmt.Errorf("%s was done before %s", last[group], body)
					}
					last[group] = body
				}
				return nil
			}
			w.Send(bodies...)
			w.poll(3 * time.Minute)
			if failure == nil {
				failure = w.checkAll(bodies, failures)
			}
		})
		if failure != nil {
			rt.Fatal(failure)
		}
	})
}

// checkAll compares what became of the messages with how often each fails.
func (w *world) checkAll(bodies []string, failures map[string]int) error {
	deleted := map[string]bool{}
	for _, e := range w.Events(sqs.Deleted) {
		deleted[e.Body] = true
	}
	var dead []string
	for list := w.DeadLetters(); len(list) > 0; list = w.DeadLetters() {
		for _, m := range list {
			dead = append(dead, *m.Body)
			w.delete(w.DeadLetterURL, *m.ReceiptHandle) // else its group is locked, and there may be more of it
		}
	}
	for _, body := range bodies {
		if isDead := slices.Contains(dead, body); isDead != (failures[body] >= 5) {
			return fmt.Errorf("%s fails %d times, in the dead-letter queue: %v", body, failures[body], isDead)
		} else if !isDead && !deleted[body] {
			return fmt.Errorf("%s is not done; chunks %q", body, strings.Join(w.items(), " "))
		}
	}
	return nil
}
