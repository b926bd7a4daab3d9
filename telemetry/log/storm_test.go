package log_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

// count counts lines by their text and level.
func count(lines []map[string]any) map[string]int {
	n := map[string]int{}
	for _, line := range lines {
		n[fmt.Sprint(line["msg"], " ", line["level"])]++
	}
	return n
}

// In a container the bound is by time, and the batches' line has what is left out.
func TestAStormOfSingleRecordsIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := written(t, slog.LevelInfo, log.Options{Every: time.Minute}, func(h *log.Hook) {
			for i := range 3000 {
				settle(h, batch.Retry)
				if i%1000 == 0 {
					settle(h, batch.DeadLettered) // is seen among all those that come back
				}
				h.Warned(t.Context(), batch.Warning{Message: "near", Queue: "orders"})
				time.Sleep(10 * time.Millisecond)
			}
			h.Warned(t.Context(), batch.Warning{Message: "elsewhere", Queue: "other"})
			time.Sleep(time.Hour)
			settle(h, batch.Retry) // after the storm
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

// What is left out is reported at its own level.
func TestWhatIsLeftOutIsToldAtItsLevel(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo:  "map[batch ERROR:1 record ERROR:100 record WARN:100]",
		slog.LevelWarn:  "map[batch ERROR:1 record ERROR:100 record WARN:100]",
		slog.LevelError: "map[batch ERROR:1 record ERROR:100]",
	} {
		var results []batch.Result
		for range 150 {
			results = append(results, result("m", batch.Abandoned, nil), result("m", batch.Retry, nil))
		}
		lines := settled(t, level, results...)
		if got := fmt.Sprint(count(lines)); got != want {
			t.Errorf("%v: lines %v, want %v", level, got, want)
		}
		left := 100.0
		if level == slog.LevelError {
			left = 50
		}
		if got := lines[len(lines)-1]; got["unlogged"] != left || got["retry"] != 150.0 || got["abandoned"] != 150.0 {
			t.Errorf("%v: %v", level, got)
		}
	}
	lines := settled(t, slog.LevelWarn, result("m", batch.Retry, nil))
	if got := fmt.Sprint(count(lines)); got != "map[record WARN:1]" {
		t.Errorf("nothing was left out: lines %v", got)
	}
}

// A record that SQS gives up on next is an error, whatever kept it from being done.
func TestTheLastAttemptIsAnError(t *testing.T) {
	for outcome, level := range map[batch.Outcome]string{batch.Retry: "ERROR", batch.NotStarted: "ERROR", batch.Skipped: "ERROR", batch.Succeeded: "INFO"} {
		r := result("m", outcome, nil)
		r.MaxReceiveCount = r.Record.Attempt
		lines := written(t, slog.LevelInfo, log.Options{Succeeded: true}, func(h *log.Hook) { h.BatchSettled(t.Context(), batch.BatchInfo{}, []batch.Result{r}) })
		if lines[0]["level"] != level {
			t.Errorf("%v at the last attempt is at level %v, want %s", outcome, lines[0]["level"], level)
		}
	}
}

// blocked is an output that takes nothing until it is let go.
type blocked struct {
	slog.Handler
	free chan struct{}
	n    int
}

func (b *blocked) WithAttrs([]slog.Attr) slog.Handler { return b }
func (b *blocked) Handle(context.Context, slog.Record) error {
	<-b.free
	b.n++
	return nil
}

// The line for a time waits for the output in a goroutine; successes do not.
func TestABlockedOutputDelaysNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &blocked{Handler: slog.DiscardHandler, free: make(chan struct{})}
		h := log.New(slog.New(enabled{out}), log.Options{Every: time.Minute})
		begun := time.Now()
		for range 10 {
			settle(h, batch.Succeeded)
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

// enabled is a handler for every level.
type enabled struct{ slog.Handler }

func (enabled) Enabled(context.Context, slog.Level) bool { return true }
func (e enabled) WithAttrs(as []slog.Attr) slog.Handler  { return e }
func (e enabled) WithGroup(string) slog.Handler          { return e }

// mine is an error whose methods do not take a nil pointer.
type mine struct{ text string }

func (m *mine) Error() string { return m.text }

func TestAnErrorWhoseMethodsPanicCostsNoLine(t *testing.T) {
	for name, err := range map[string]error{"itself": (*mine)(nil), "wrapped": fmt.Errorf("sent: %w", lazy{(*mine)(nil)})} {
		lines := written(t, slog.LevelInfo, log.Options{}, func(h *log.Hook) {
			h.BatchSettled(t.Context(), batch.BatchInfo{}, []batch.Result{result("m-1", batch.Retry, err), result("m-2", batch.Retry, errors.New("boom"))})
			h.Warned(t.Context(), batch.Warning{Message: "look here", Err: err})
		})
		if len(lines) != 4 || lines[0]["messageId"] != "m-1" || lines[1]["reason"] != "boom" || lines[3]["reason"] == nil {
			t.Errorf("%s: %v", name, lines)
		}
	}
}

// lazy wraps an error that it does not read.
type lazy struct{ err error }

func (lazy) Error() string   { return "lazy" }
func (l lazy) Unwrap() error { return l.err }
