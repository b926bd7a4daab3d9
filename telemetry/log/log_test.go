package log_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

var (
	_ batch.BatchSettledHook = (*log.Hook)(nil)
	_ batch.WarningHook      = (*log.Hook)(nil)
	_ batch.FlushHook        = (*log.Hook)(nil)
)

const ordersARN = "arn:aws:sqs:eu-west-1:123456789012:orders"

func result(id string, o batch.Outcome, err error) batch.Result {
	return batch.Result{Record: &batch.Record{MessageID: id, Attempt: 2, Body: "swordfish", QueueARN: ordersARN}, Outcome: o, Err: err}
}

// written returns the lines that tell writes.
func written(t *testing.T, level slog.Level, opts log.Options, tell func(h *log.Hook)) []map[string]any {
	t.Helper()
	var buf bytes.Buffer
	tell(log.New(slog.New(slog.NewJSONHandler(&buf, &slog.HandlerOptions{Level: level})), opts))
	if strings.Contains(buf.String(), "swordfish") {
		t.Errorf("a body is in the log: %s", buf.String())
	}
	var lines []map[string]any
	for d := json.NewDecoder(&buf); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		delete(line, "time")
		lines = append(lines, line)
	}
	return lines
}

// settled returns the lines of a batch of an unknown queue.
func settled(t *testing.T, level slog.Level, results ...batch.Result) []map[string]any {
	t.Helper()
	return written(t, level, log.Options{}, func(h *log.Hook) { h.BatchSettled(t.Context(), batch.BatchInfo{}, results) })
}

func TestLinesAndLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		results := []batch.Result{
			result("m-0", batch.Succeeded, nil), result("m-1", batch.Retry, boom), result("m-2", batch.DeadLettered, boom),
			result("m-3", batch.NotStarted, batch.ErrNotStarted), result("m-4", batch.Skipped, batch.ErrSkipped),
			result("m-5", batch.Abandoned, batch.ErrAbandoned), result("m-6", batch.Dropped, boom),
			result("m-7", batch.Retry, &batch.PanicError{Value: "oops", Stack: []byte("goroutine 1")}), result("m-8", batch.Retry, batch.ErrGoexit),
		}
		results[1].Started, results[1].Duration, results[1].Allowed = time.Now(), 12345*time.Microsecond, 3*time.Second
		results[1].VisibleIn, results[1].VisibilitySet, results[1].MaxReceiveCount = 4*time.Second, true, 5
		results[2].DeadLetterQueue = "https://sqs/1/dead"
		info := batch.BatchInfo{QueueARN: ordersARN, Started: time.Now(), Times: batch.Times{Deadline: time.Now().Add(30 * time.Second)}}
		time.Sleep(1500 * time.Millisecond)
		lines := written(t, slog.LevelDebug, log.Options{Succeeded: true}, func(h *log.Hook) { h.BatchSettled(t.Context(), info, results) })
		if len(lines) != 10 {
			t.Fatalf("%d lines: %v", len(lines), lines)
		}
		for i, level := range []string{"INFO", "WARN", "ERROR", "WARN", "INFO", "ERROR", "ERROR", "ERROR", "ERROR", "INFO"} {
			if lines[i]["level"] != level || lines[i]["logger"] != "sqsbatch" {
				t.Errorf("line %d is at level %v of %v", i, lines[i]["level"], lines[i]["logger"])
			}
		}
		for i, want := range map[int]string{
			0: `{"attempt":2,"level":"INFO","logger":"sqsbatch","messageId":"m-0","msg":"record","outcome":"succeeded","queue":"orders"}`,
			1: `{"allowedMs":3000,"attempt":2,"durationMs":12.3,"level":"WARN","logger":"sqsbatch","maxReceiveCount":5,"messageId":"m-1","msg":"record","outcome":"retry","queue":"orders","reason":"boom","visibleInMs":4000}`,
			2: `{"attempt":2,"deadLetterQueue":"https://sqs/1/dead","level":"ERROR","logger":"sqsbatch","messageId":"m-2","msg":"record","outcome":"dead-letter","queue":"orders","reason":"boom"}`,
			7: `{"attempt":2,"level":"ERROR","logger":"sqsbatch","messageId":"m-7","msg":"record","outcome":"retry","queue":"orders","reason":"handler panicked: oops","stack":"goroutine 1"}`,
			9: `{"abandoned":1,"deadLetter":1,"dropped":1,"durationMs":1500,"level":"INFO","logger":"sqsbatch","msg":"batch","notStarted":1,"queue":"orders","records":9,"remainingMs":28500,"retry":3,"skipped":1,"succeeded":1}`,
		} {
			if got, _ := json.Marshal(lines[i]); string(got) != want {
				t.Errorf("line %d: %s\nwant %s", i, got, want)
			}
		}
	})
}

func TestSuccessesAreSilentAndStormsAreCut(t *testing.T) {
	var results []batch.Result
	for i := range 1000 {
		results = append(results, result("m", []batch.Outcome{batch.Succeeded, batch.Retry}[i%2], nil))
	}
	lines := settled(t, slog.LevelInfo, results...)
	if len(lines) != 101 {
		t.Fatalf("%d lines, want 100 records and the batch", len(lines))
	}
	last := lines[100]
	if last["msg"] != "batch" || last["unlogged"] != 400.0 || last["retry"] != 500.0 || last["succeeded"] != 500.0 {
		t.Errorf("%v", last)
	}
	lines = settled(t, slog.LevelError, results...)
	if len(lines) != 0 {
		t.Errorf("%d lines at level ERROR", len(lines))
	}
}

func TestWarnings(t *testing.T) {
	for want, w := range map[string]batch.Warning{
		`[{"level":"WARN","logger":"sqsbatch","messageId":"m-1","msg":"look here","queue":"orders","reason":"boom"}]`: {Message: "look here", MessageID: "m-1", Queue: "orders", Err: errors.New("boom")},
		`[{"level":"WARN","logger":"sqsbatch","msg":"look here"}]`:                                                    {Message: "look here"}, // of no queue
		`[{"level":"INFO","logger":"sqsbatch","msg":"all right"}]`:                                                    {Message: "all right", Info: true},
		`[{"level":"ERROR","logger":"sqsbatch","msg":"look now"}]`:                                                    {Message: "look now", Serious: true},
		`[{"level":"WARN","logger":"sqsbatch","msg":"a hook panicked","reason":"handler panicked: oops","stack":"goroutine 1"}]`: {
			Message: "a hook panicked", Err: &batch.PanicError{Value: "oops", Stack: []byte("goroutine 1")}},
	} {
		lines := written(t, slog.LevelInfo, log.Options{}, func(h *log.Hook) { h.Warned(t.Context(), w) })
		if got, _ := json.Marshal(lines); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What waited for its turn when a container was stopped is no trouble.
func TestWhatWasStoppedIsNoWarning(t *testing.T) {
	results := []batch.Result{result("m", batch.NotStarted, batch.ErrStopped)}
	lines := settled(t, slog.LevelInfo, results...)
	if len(lines) != 1 || lines[0]["notStarted"] != 1.0 {
		t.Errorf("lines %v, want the batch's alone", lines)
	}
	lines = settled(t, slog.LevelDebug, results...)
	if len(lines) != 2 || lines[0]["level"] != "DEBUG" {
		t.Errorf("lines %v, want the record's at level DEBUG", lines)
	}
}
