package otel_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/codes"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/telemetry/otel"
)

// Texts of errors are bounded, and valid in OTLP, which refuses others.
func TestTextsOfErrorsAreBounded(t *testing.T) {
	for _, unit := range []string{"<html>", "é€😀", "\xff"} {
		much := strings.Repeat(unit, 200_000)
		for name, err := range map[string]error{"an error": errors.New(much), "a panic": &batch.PanicError{Value: much, Stack: []byte(much)}} {
			w := &world{t: t}
			w.observe(otel.Options{})
			records := []batch.Record{{MessageID: "m", Attempt: 1}}
			ctx := w.hook.BatchContext(t.Context(), batch.BatchInfo{}, records)
			w.hook.RecordContext(ctx, &records[0])
			w.hook.Warned(ctx, batch.Warning{Message: "look", Err: err})
			w.hook.BatchSettled(ctx, batch.BatchInfo{}, []batch.Result{{Record: &records[0], Outcome: batch.Retry, Err: err, Started: time.Now()}})
			events, failed := 0, 0
			check := func(what, text string, most int) {
				if len(text) > most || !utf8.ValidString(text) || text == "" {
					t.Errorf("%s of %q: %s of %d bytes, valid %v", name, unit, what, len(text), utf8.ValidString(text))
				}
			}
			for _, s := range w.spans.GetSpans() {
				if s.Status.Code == codes.Error && attr(s.Attributes, "messaging.message.id") != "" {
					failed++
					check("status", s.Status.Description, 2<<10)
				}
				for _, e := range s.Events {
					events++
					check(e.Name, attr(e.Attributes, "exception.message"), 2<<10)
					if stack := attr(e.Attributes, "exception.stacktrace"); stack != "" {
						check("stack", stack, 8<<10)
					} else if name == "a panic" && e.Name == "exception" {
						t.Error("no stack")
					}
				}
			}
			if events != 2 || failed != 1 {
				t.Errorf("%d events, %d spans that failed", events, failed)
			}
		}
	}
}
