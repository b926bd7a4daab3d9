package log_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

func count(lines []map[string]any) map[string]int {
	n := map[string]int{}
	for _, line := range lines {
		n[fmt.Sprint(line["msg"], " ", line["level"])]++
	}
	return n
}

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

func many(n int, outcomes ...batch.Outcome) (results []batch.Result) {
	for range n {
		for _, o := range outcomes {
			results = append(results, result("m", o, nil))
		}
	}
	return results
}

func settle(h batch.Hooks, queue string, outcomes ...batch.Outcome) {
	info := batch.BatchInfo{QueueARN: "arn:aws:sqs:eu-west-1:123456789012:" + queue, Records: len(outcomes), Started: time.Now()}
	h.BatchSettled(context.Background(), info, many(1, outcomes...))
}

func TestWhichLinesAreWritten(t *testing.T) {
	stopped := result("m", batch.NotStarted, batch.ErrStopped) // it waited for its turn, which is no trouble
	last := many(1, batch.Retry, batch.NotStarted, batch.Skipped, batch.Succeeded)
	for i := range last {
		last[i].MaxReceiveCount = last[i].Record.Attempt
	}
	for name, c := range map[string]struct {
		results   []batch.Result
		level     slog.Level
		opts      log.Config
		want, sum string // all lines, and what the last one says of the batch
	}{
		"many failures":            {many(500, batch.Succeeded, batch.Retry), slog.LevelInfo, log.Config{}, "batch WARN:1 record WARN:100", "records:1000 retry:500 succeeded:500 unlogged:400"},
		"many failures, hidden":    {many(500, batch.Succeeded, batch.Retry), slog.LevelError, log.Config{}, "", ""},
		"many that are hidden":     {append(many(150, batch.Retry), many(1, batch.DeadLettered)...), slog.LevelError, log.Config{}, "record ERROR:1", ""},
		"one failure":              {many(1, batch.Retry), slog.LevelWarn, log.Config{}, "record WARN:1", ""},
		"successes":                {many(150, batch.Succeeded), slog.LevelInfo, log.Config{Succeeded: true}, "batch INFO:1 record INFO:150", "records:150 succeeded:150"},
		"left out at two levels":   {many(150, batch.Abandoned, batch.Retry), slog.LevelInfo, log.Config{}, "batch ERROR:1 record ERROR:100 record WARN:100", "abandoned:150 records:300 retry:150 unlogged:100"},
		"left out, from WARN":      {many(150, batch.Abandoned, batch.Retry), slog.LevelWarn, log.Config{}, "batch ERROR:1 record ERROR:100 record WARN:100", "abandoned:150 records:300 retry:150 unlogged:100"},
		"left out, from ERROR":     {many(150, batch.Abandoned, batch.Retry), slog.LevelError, log.Config{}, "batch ERROR:1 record ERROR:100", "abandoned:150 records:300 retry:150 unlogged:50"},
		"stopped":                  {[]batch.Result{stopped}, slog.LevelInfo, log.Config{}, "batch INFO:1", "notStarted:1 records:1"},
		"stopped, from DEBUG":      {[]batch.Result{stopped}, slog.LevelDebug, log.Config{}, "batch INFO:1 record DEBUG:1", "notStarted:1 records:1"},
		"the last attempt":         {last, slog.LevelInfo, log.Config{Succeeded: true}, "batch INFO:1 record ERROR:3 record INFO:1", "notStarted:1 records:4 retry:1 skipped:1 succeeded:1"},
		"Every":                    {many(1, batch.Succeeded, batch.Retry, batch.Abandoned), slog.LevelInfo, log.Config{Every: time.Hour}, "batches INFO:1 record ERROR:1 record WARN:1", "abandoned:1 records:3 retry:1 succeeded:1"},
		"Every, of nothing":        {nil, slog.LevelInfo, log.Config{Every: time.Hour}, "", ""},
		"Every, of what is hidden": {many(1, batch.Succeeded), slog.LevelWarn, log.Config{Every: time.Hour}, "", ""},
	} {
		lines := written(t, c.level, c.opts, func(h batch.Hooks) {
			h.Flush(t.Context())
			h.BatchSettled(t.Context(), batch.BatchInfo{}, c.results)
			h.Flush(t.Context())
		})
		if got, want := fmt.Sprint(count(lines)), "map["+c.want+"]"; got != want {
			t.Errorf("%s: lines %s, want %s", name, got, want)
		}
		sum := ""
		for _, line := range sums(lines) {
			delete(line, "msg")
			delete(line, "durationMs")
			sum = strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(line), "map["), "]")
		}
		if sum != c.sum {
			t.Errorf("%s: %s, want %s", name, sum, c.sum)
		}
	}
}

// In a container the bound is by time, and the batches' line has what is left out.
func TestAStormOfSingleRecordsIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := written(t, slog.LevelInfo, log.Config{Every: time.Minute}, func(h batch.Hooks) {
			for i := range 3000 {
				settle(h, "orders", batch.Retry)
				if i%1000 == 0 {
					settle(h, "orders", batch.DeadLettered) // is seen among all those that come back
				}
				h.Warned(t.Context(), batch.Warning{Message: "near", Queue: "orders"})
				time.Sleep(10 * time.Millisecond)
			}
			h.Warned(t.Context(), batch.Warning{Message: "elsewhere", Queue: "other"})
			time.Sleep(time.Hour)
			settle(h, "orders", batch.Retry) // after the storm
			h.Flush(t.Context())
		})
		want := map[string]int{"record WARN": log.MaxLines + 1, "record ERROR": 3, "near WARN": log.MaxLines, "elsewhere WARN": 1, "batches WARN": 1, "batches INFO": 1}
		if got := count(lines); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("lines %v, want %v", got, want)
		}
		sum := sums(lines)[0]
		if sum["records"] != 3003.0 || sum["retry"] != 3000.0 || sum["deadLetter"] != 3.0 || sum["unlogged"] != 2900.0 || sum["unloggedWarnings"] != 2900.0 || sum["durationMs"] != 60_000.0 {
			t.Errorf("the sum is %v", sum)
		}
	})
}

// blocked is an output that takes nothing until it is let go.
type blocked struct {
	free chan struct{}
	n    int
}

func (b *blocked) Enabled(context.Context, slog.Level) bool { return true }
func (b *blocked) WithAttrs([]slog.Attr) slog.Handler       { return b }
func (b *blocked) WithGroup(string) slog.Handler            { return b }
func (b *blocked) Handle(context.Context, slog.Record) error {
	<-b.free
	b.n++
	return nil
}

// The line for a time waits for the output in a goroutine; successes do not.
func TestABlockedOutputDelaysNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &blocked{free: make(chan struct{})}
		h := log.New(slog.New(out), log.Config{Every: time.Minute})
		begun := time.Now()
		for range 10 {
			settle(h, "orders", batch.Succeeded)
			time.Sleep(time.Minute)
		}
		if took := time.Since(begun); took != 10*time.Minute {
			t.Errorf("took %v", took)
		}
		close(out.free)
		h.Flush(t.Context())
		if out.n != 2 {
			t.Errorf("%d lines, want the one that waited and one for all that came meanwhile", out.n)
		}
	})
}

func TestEverySumsUpTheBatchesOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := sums(written(t, slog.LevelInfo, log.Config{Every: time.Minute}, func(h batch.Hooks) {
			settle(h, "orders", batch.Succeeded)
			time.Sleep(30 * time.Second)
			settle(h, "orders", batch.Succeeded, batch.Retry)
			settle(h, "bills", batch.Succeeded)
			time.Sleep(29 * time.Second)
			settle(h, "orders", batch.DeadLettered)
			time.Sleep(10 * time.Minute)         // a line is there a minute after the first, and no other
			settle(h, "orders", batch.Succeeded) // begins anew
			time.Sleep(20 * time.Second)
			settle(h, "orders", batch.Abandoned)
			settle(h, "bills", batch.Retry)
			h.Flush(context.Background())
			h.Flush(context.Background()) // nothing is left
		}))
		want := []map[string]any{
			{"msg": "batches", "queue": "orders", "records": 4.0, "succeeded": 2.0, "retry": 1.0, "deadLetter": 1.0, "durationMs": 60_000.0},
			{"msg": "batches", "queue": "bills", "records": 1.0, "succeeded": 1.0, "durationMs": 60_000.0},
			{"msg": "batches", "queue": "bills", "records": 1.0, "retry": 1.0, "durationMs": 0.0},
			{"msg": "batches", "queue": "orders", "records": 2.0, "succeeded": 1.0, "abandoned": 1.0, "durationMs": 20_000.0},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("lines %v, want %v", got, want)
		}
	})
}

func TestEveryCountsConcurrentBatches(t *testing.T) {
	lines := sums(written(t, slog.LevelInfo, log.Config{Every: time.Hour}, func(h batch.Hooks) {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { settle(h, "orders", batch.Succeeded) })
		}
		all.Wait()
		h.Flush(context.Background())
	}))
	if len(lines) != 1 || lines[0]["succeeded"] != 50.0 {
		t.Errorf("lines %v, want one of 50", lines)
	}
}

// No error, stack or body makes a line of 16 KiB, where runtimes split lines.
func TestALineOfARecordIsBounded(t *testing.T) {
	const most, reasons, stacks = 15_500, 2 << 10, 8 << 10
	for _, unit := range []string{"<html>", "\x01", "\"", "\n", "é€😀", "\xff", "\u2028"} {
		much := strings.Repeat(unit, 20_000)
		many := []error{errors.New(much)}
		for i := range 1000 {
			many = append(many, hidden{fmt.Errorf("%d %s", i, much[:500])})
		}
		for name, err := range map[string]error{
			"a text": errors.New(much), "wrapped ones": errors.Join(many...), "wrapped, new": hidden{errors.Join(many...)},
			"a panic":                   &batch.PanicError{Value: much, Stack: []byte(much)},
			"a panic with an error":     &batch.PanicError{Value: errors.Join(many...), Stack: []byte(much)},
			"one whose methods panic":   panics{much},
			"a short one, a great body": errors.New("boom"),
		} {
			var buf bytes.Buffer
			h := log.New(slog.New(slog.NewJSONHandler(&buf, nil)), log.Config{BodyBytes: 8192})
			r := result(strings.Repeat("m", 100), batch.Retry, err)
			r.Record.Body, r.DeadLetterQueue = much, "https://sqs.eu-west-1.amazonaws.com/123456789012/"+strings.Repeat("q", 80)
			h.BatchSettled(t.Context(), batch.BatchInfo{}, []batch.Result{r})
			h.Warned(t.Context(), batch.Warning{Message: "look", Err: err})
			lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
			if len(lines) != 3 { // the record's, the batch's, the warning's
				t.Fatalf("%d lines", len(lines))
			}
			for _, line := range lines {
				var got map[string]any
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatal(err)
				}
				if len(line) > most {
					t.Errorf("%s of %q: a line of %d bytes", name, unit, len(line))
				}
				for field, bound := range map[string]int{"reason": reasons, "stack": stacks} {
					text, ok := got[field].(string)
					if ok && (!utf8.ValidString(text) || len(text) > bound) {
						t.Errorf("%s of %q: %s of %d bytes", name, unit, field, len(text))
					}
				}
			}
			var got map[string]any
			_ = json.Unmarshal([]byte(lines[0]), &got)
			body, _ := got["body"].(string)
			if body == "" || got["bodyBytes"] != float64(len(much)) {
				t.Errorf("%s of %q: a body of %d bytes, of %v", name, unit, len(body), got["bodyBytes"])
			}
		}
	}
}

type panics struct{ with string }

func (p panics) Error() string { panic(p.with) }

// What is cut says so; what fits is whole.
func TestReasonsAreCutOnlyWhenTheyAreLong(t *testing.T) {
	fits := strings.Repeat("x", 2048)
	for text, want := range map[string]string{fits: fits, fits + "x": fits[:2045] + "…", fits[:2047] + "\n": fits[:2045] + "…"} {
		lines := settled(t, slog.LevelInfo, result("m", batch.Retry, errors.New(text)))
		if lines[0]["reason"] != want || lines[0]["errors"] != nil {
			t.Errorf("%d bytes: reason %v, errors %v", len(text), lines[0]["reason"], lines[0]["errors"])
		}
	}
}
