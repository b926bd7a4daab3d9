package log_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

func TestWithoutALoggerTheDefaultOneWrites(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var buf bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&buf, nil)))
	log.New(nil, log.Options{}).Warned(context.Background(), batch.Warning{Message: "look here"})
	if !strings.Contains(buf.String(), `msg="look here" logger=sqsbatch`) || strings.Contains(buf.String(), "messageId") {
		t.Errorf("%s", buf.String())
	}
}

func TestAWarningOfAPanicHasItsStack(t *testing.T) {
	lines := written(t, slog.LevelInfo, log.Options{}, func(h *log.Hook) {
		h.Warned(t.Context(), batch.Warning{Message: "a hook panicked", Err: &batch.PanicError{Value: "oops", Stack: []byte("goroutine 1")}})
	})
	if len(lines) != 1 || lines[0]["stack"] != "goroutine 1" {
		t.Errorf("%v", lines)
	}
}

func TestEveryRecordHasItsLineWhenSuccessesAreLogged(t *testing.T) {
	var results []batch.Result
	for range 150 {
		results = append(results, result("m", batch.Succeeded, nil))
	}
	lines := written(t, slog.LevelInfo, log.Options{Succeeded: true}, func(h *log.Hook) { h.BatchSettled(t.Context(), batch.BatchInfo{}, results) })
	if len(lines) != 151 || lines[150]["unlogged"] != nil || lines[150]["remainingMs"] != nil {
		t.Errorf("%d lines, the last %v", len(lines), lines[len(lines)-1])
	}
}

func TestAVisibilityOfZeroIsLogged(t *testing.T) {
	released := result("m", batch.NotStarted, errors.New("no time"))
	released.VisibilitySet = true
	lines := written(t, slog.LevelInfo, log.Options{}, func(h *log.Hook) { h.BatchSettled(t.Context(), batch.BatchInfo{}, []batch.Result{released}) })
	if got, ok := lines[0]["visibleInMs"]; !ok || got != 0.0 {
		t.Errorf("%v", lines[0])
	}
}

func TestLinesThatTheLevelHidesDoNotCount(t *testing.T) {
	var results []batch.Result
	for range 150 {
		results = append(results, result("m", batch.Retry, nil))
	}
	results = append(results, result("last", batch.DeadLettered, nil))
	lines := written(t, slog.LevelError, log.Options{}, func(h *log.Hook) { h.BatchSettled(t.Context(), batch.BatchInfo{}, results) })
	if len(lines) != 1 || lines[0]["messageId"] != "last" {
		t.Errorf("%v", lines)
	}
}
