package handler_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// Of 15 messages of one group the second ignores its context at every attempt. It is
// the only dead letter, whatever the record timeout; the others are handled in order.
func TestRecordHangsInGroup_OnlyItIsDeadLettered(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"by default": 0, "with a record timeout": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := testqueue.New(t, testqueue.FIFO)
				var mu sync.Mutex
				var handled []string
				h, err := handler.New(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
					if r.Body == "g:01" {
						time.Sleep(time.Hour)
						return nil
					}
					time.Sleep(100 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					handled = append(handled, r.Body)
					return nil
				}), handler.Config{SQS: q.Client, RecordTimeout: timeout, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for i := range 15 {
					body := fmt.Sprintf("g:%02d", i)
					if q.Send(body); i != 1 {
						want = append(want, body)
					}
				}
				q.Map(35*time.Minute, h.Invoke) // five visibility timeouts of 5 min
				mu.Lock()
				got := slices.Clone(handled)
				mu.Unlock()
				if left, dead := q.Left(); left != 0 || dead != 1 {
					t.Errorf("%d messages are left and %d are dead letters, want 0 and the one that hangs", left, dead)
				}
				if !slices.Equal(got, want) {
					t.Errorf("handled %v, want each of the others once and in order", got)
				}
				time.Sleep(2 * time.Hour) // the handlers that were given up return
			})
		})
	}
}
