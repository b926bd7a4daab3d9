package log_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	released := batch.Result{Record: &batch.Record{MessageID: "m"}, Outcome: batch.NotStarted, Err: errors.New("no time")}
	released.VisibilitySet = true
	lines := settled(t, slog.LevelInfo, released)
	if got := fmt.Sprint(lines[0]["visibleInMs"], lines[0]["queue"], lines[1]["queue"]); got != "0 <nil> <nil>" { // the queue is not known
		t.Errorf("%v", lines[0])
	}
}

func TestLinesThatTheLevelHidesDoNotCount(t *testing.T) {
	var results []batch.Result
	for range 150 {
		results = append(results, result("m", batch.Retry, nil))
	}
	results = append(results, result("last", batch.DeadLettered, nil))
	lines := settled(t, slog.LevelError, results...)
	if len(lines) != 1 || lines[0]["messageId"] != "last" {
		t.Errorf("%v", lines)
	}
}
