package log_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/log"
)

// An error may quote what a sender wrote. Its record has one line in the log, and a terminal that shows the
// line obeys nothing in it.
func TestHostileText_IsOneHarmlessLine(t *testing.T) {
	const controls = "\x1b]0;title\a\x1b[2J\x00\r\nlevel=ERROR\u009b2J\u009c\u007f\u202e\u2066\u2028\u2029\U000e0001\xff"
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"JSON": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
	} {
		var out bytes.Buffer
		h := log.New(slog.New(handler(&out)), log.Config{BodyBytes: 1000})
		err := fmt.Errorf("wrapped %s: %w", controls, errors.New(controls))
		r := batch.Record{MessageID: "m", Body: controls, QueueARN: "arn:aws:sqs:eu-west-1:1:orders", Attempt: 1}
		h.BatchSettled(context.Background(), batch.BatchInfo{Records: 1}, []batch.Result{{Record: &r, Outcome: batch.Retry, Err: &batch.PanicError{Value: err, Stack: []byte(controls)}}})
		for line := range strings.Lines(out.String()) {
			if name == "JSON" && !strings.HasPrefix(line, "{") || name == "text" && !strings.HasPrefix(line, "time=") {
				t.Errorf("%s: another line: %q", name, line)
			}
			for _, c := range strings.TrimSuffix(line, "\n") {
				if unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp) {
					t.Errorf("%s: the line has %U: %q", name, c, line)
					break
				}
			}
		}
		if !strings.Contains(out.String(), "title") {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
