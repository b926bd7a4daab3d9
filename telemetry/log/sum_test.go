package log_test

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

func settle(h *log.Hook, outcomes ...batch.Outcome) {
	results := make([]batch.Result, len(outcomes))
	for i, o := range outcomes {
		results[i] = result("m", o, nil)
	}
	h.BatchSettled(context.Background(), batch.BatchInfo{QueueARN: ordersARN, Records: len(results), Started: time.Now()}, results)
}

// sums are the lines of batches.
func sums(lines []map[string]any) (list []map[string]any) {
	for _, line := range lines {
		if line["msg"] == "batches" || line["msg"] == "batch" {
			delete(line, "level")
			delete(line, "logger")
			list = append(list, line)
		}
	}
	return list
}

func TestEverySumsBatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sums(written(t, slog.LevelInfo, log.Options{Every: time.Minute}, func(h *log.Hook) {
			settle(h, batch.Succeeded)
			time.Sleep(30 * time.Second)
			settle(h, batch.Succeeded, batch.Retry)
			time.Sleep(29 * time.Second)
			settle(h, batch.DeadLettered)
			time.Sleep(10 * time.Minute) // the line is there a minute after the first, and no other
			settle(h, batch.Succeeded)   // begins anew
			time.Sleep(20 * time.Second)
			settle(h, batch.Abandoned)
			h.Flush(context.Background())
			h.Flush(context.Background()) // nothing is left
		}))
		want := []map[string]any{
			{"msg": "batches", "queue": "orders", "records": 4.0, "succeeded": 2.0, "retry": 1.0, "deadLetter": 1.0, "durationMs": 60_000.0},
			{"msg": "batches", "queue": "orders", "records": 2.0, "succeeded": 1.0, "abandoned": 1.0, "durationMs": 20_000.0},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("lines %v, want %v", got, want)
		}
	})
}

// Records that did not succeed have their lines at once all the same.
func TestEveryKeepsTheLinesOfRecords(t *testing.T) {
	lines := written(t, slog.LevelInfo, log.Options{Every: time.Hour}, func(h *log.Hook) {
		settle(h, batch.Succeeded, batch.Retry)
		settle(h, batch.Abandoned)
	})
	if len(lines) != 2 || lines[0]["outcome"] != "retry" || lines[1]["outcome"] != "abandoned" {
		t.Errorf("lines %v, want one for each failure and no sum yet", lines)
	}
}

func TestFlushWithoutEveryOrBatches(t *testing.T) {
	lines := sums(written(t, slog.LevelInfo, log.Options{}, func(h *log.Hook) {
		h.Flush(context.Background())
		settle(h, batch.Succeeded)
		h.Flush(context.Background())
	}))
	if len(lines) != 1 || lines[0]["msg"] != "batch" {
		t.Errorf("lines %v, want that of the batch", lines)
	}
	lines = written(t, slog.LevelInfo, log.Options{Every: time.Minute}, func(h *log.Hook) { h.Flush(context.Background()) })
	if len(lines) != 0 {
		t.Errorf("lines %v, want none", lines)
	}
}

// Nothing is summed up that the level hides.
func TestEveryHeedsTheLevel(t *testing.T) {
	lines := written(t, slog.LevelWarn, log.Options{Every: time.Minute}, func(h *log.Hook) {
		settle(h, batch.Succeeded)
		h.Flush(context.Background())
	})
	if len(lines) != 0 {
		t.Errorf("lines %v, want none", lines)
	}
}

func TestEveryCountsConcurrentBatches(t *testing.T) {
	lines := sums(written(t, slog.LevelInfo, log.Options{Every: time.Hour}, func(h *log.Hook) {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { settle(h, batch.Succeeded) })
		}
		all.Wait()
		h.Flush(context.Background())
	}))
	if len(lines) != 1 || lines[0]["succeeded"] != 50.0 {
		t.Errorf("lines %v, want one of 50", lines)
	}
}

// Each queue has a sum of its own.
func TestEverySumsUpEachQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sums(written(t, slog.LevelInfo, log.Options{Every: time.Minute}, func(h *log.Hook) {
			tell := func(queue string) {
				info := batch.BatchInfo{QueueARN: "arn:aws:sqs:eu-west-1:123456789012:" + queue}
				h.BatchSettled(context.Background(), info, []batch.Result{result("m", batch.Succeeded, nil)})
			}
			tell("b")
			time.Sleep(30 * time.Second)
			tell("a")
			time.Sleep(29 * time.Second)
			tell("b")
			time.Sleep(time.Second)
			synctest.Wait()
			h.Flush(context.Background())
		}))
		want := []map[string]any{
			{"msg": "batches", "queue": "b", "records": 2.0, "succeeded": 2.0, "durationMs": 60_000.0},
			{"msg": "batches", "queue": "a", "records": 1.0, "succeeded": 1.0, "durationMs": 30_000.0},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("lines %v, want %v", got, want)
		}
	})
}
