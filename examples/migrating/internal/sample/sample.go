// Package sample runs the handlers of examples/migrating on the sample events, as
// Lambda does but in the process of a test.
package sample

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/handler"
)

// timeout is the function's in template.yaml.
const timeout = 10 * time.Second

// Outcome is the result of an invocation.
type Outcome struct {
	// Failed are the positions, from 1, of the event's records that the answer names.
	Failed []int
	// Log has the lines that the function itself logged with package slog, in order:
	// "shipped order=o-1".
	Log []string
}

// Run invokes a function on an event of package events, such as "shapes/sns.json". There is
// no queue, so the answer also names records that failed for good. The answer must be the
// one that is documented with the event in events/shapes.
func Run(t testing.TB, h batch.Handler, cfg handler.Config, event string) Outcome {
	t.Helper()
	t.Setenv("AWS_SAM_LOCAL", "true") // the receipt handles are samples
	cfg.Logger = slog.New(slog.DiscardHandler)
	log := Capture(t)
	lambda, err := handler.New(h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := events.FS.ReadFile(event)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	answer, err := lambda.Invoke(ctx, payload)
	if err != nil {
		t.Fatal(err)
	}
	if path.Dir(event) == "shapes" {
		documented(t, event, answer)
	}
	return Outcome{Failed: places(t, payload, answer), Log: log()}
}

// Is fails the test unless these are the positions of the failed records and the lines of
// the function, in any order.
func (o Outcome) Is(t testing.TB, failed []int, log ...string) {
	t.Helper()
	if !slices.Equal(o.Failed, failed) {
		t.Errorf("the answer has the records %v, want %v", o.Failed, failed)
	}
	slices.Sort(o.Log)
	slices.Sort(log)
	if !slices.Equal(o.Log, log) {
		t.Errorf("the function logged\n%s\nwant\n%s", strings.Join(o.Log, "\n"), strings.Join(log, "\n"))
	}
}

func documented(t testing.TB, event string, answer []byte) {
	t.Helper()
	text, err := events.FS.ReadFile(path.Join(path.Dir(event), "answers", path.Base(event)))
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(answer, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the answer is\n%s\nwant\n%s", event, answer, text)
	}
}

func places(t testing.TB, payload, answer []byte) []int {
	t.Helper()
	var event struct{ Records []struct{ MessageID string } }
	var failures struct {
		BatchItemFailures []struct{ ItemIdentifier string }
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, &failures); err != nil {
		t.Fatal(err)
	}
	var failed []int
	for _, f := range failures.BatchItemFailures {
		for i, r := range event.Records {
			if r.MessageID == f.ItemIdentifier {
				failed = append(failed, i+1)
			}
		}
	}
	return failed
}

// Capture replaces package slog's default log by one that is kept until the end of the
// test. lines returns its lines.
func Capture(t testing.TB) (lines func() []string) {
	c := &capture{}
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(c))
	return func() []string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Clone(c.lines)
	}
}

type capture struct {
	mu    sync.Mutex
	lines []string
}

func (*capture) Enabled(context.Context, slog.Level) bool { return true }
func (c *capture) WithAttrs([]slog.Attr) slog.Handler     { return c }
func (c *capture) WithGroup(string) slog.Handler          { return c }

func (c *capture) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
	return nil
}
