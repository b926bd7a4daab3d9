package log_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

// No error, stack or body makes a line of 16 KiB, where runtimes split lines.
func TestALineOfARecordIsBounded(t *testing.T) {
	const most, reasons, stacks = 15_500, 2 << 10, 8 << 10
	for _, unit := range []string{"<html>", "\x01", "\"", "\n", "é€😀", "\xff", "\u2028"} {
		much := strings.Repeat(unit, 200_000)
		many := []error{errors.New(much)}
		for i := range 1000 {
			many = append(many, hidden{fmt.Errorf("%d %s", i, much[:5_000])})
		}
		for name, err := range map[string]error{
			"a text": errors.New(much), "wrapped ones": errors.Join(many...), "wrapped, new": hidden{errors.Join(many...)},
			"a panic":                   &batch.PanicError{Value: much, Stack: []byte(much)},
			"a panic with an error":     &batch.PanicError{Value: errors.Join(many...), Stack: []byte(much)},
			"one whose methods panic":   panics{much},
			"a short one, a great body": errors.New("boom"),
		} {
			var buf bytes.Buffer
			h := log.New(slog.New(slog.NewJSONHandler(&buf, nil)), log.Options{BodyBytes: 8192})
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

// panics is an error whose methods panic.
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

// The cause at the end of a reason that is cut is among the wrapped errors.
func TestTheCauseOfALongReasonIsTold(t *testing.T) {
	cause := errors.New("connection refused")
	lines := settled(t, slog.LevelInfo, result("m", batch.Retry, fmt.Errorf("%s: %w", strings.Repeat("x", 5000), cause)))
	if got := fmt.Sprint(lines[0]["errors"]); got != "[map[text:connection refused type:*errors.errorString]]" {
		t.Errorf("errors %s", got)
	}
}
