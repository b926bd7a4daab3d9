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

	lambdaevents "github.com/aws/aws-lambda-go/events"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/events"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
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
func Run(t testing.TB, h batch.Handler, event string, configured ...handler.Config) (o Outcome) {
	t.Helper()
	t.Setenv("AWS_SAM_LOCAL", "true") // the receipt handles are samples
	var cfg handler.Config
	if len(configured) > 0 {
		cfg = configured[0]
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	log := Capture(t)
	lambda, err := handler.New(h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	payload := read(t, event)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	answer, err := lambda.Invoke(ctx, payload)
	if err != nil {
		t.Fatal(err)
	}
	if folder, name := path.Split(event); folder == "shapes/" {
		want := read(t, path.Join(folder, "answers", name))
		if !reflect.DeepEqual(parse[any](t, answer), parse[any](t, want)) {
			t.Errorf("%s: the answer is\n%s\nwant\n%s", event, answer, want)
		}
	}
	for _, f := range parse[lambdaevents.SQSEventResponse](t, answer).BatchItemFailures {
		for i, r := range parse[lambdaevents.SQSEvent](t, payload).Records {
			if r.MessageId == f.ItemIdentifier {
				o.Failed = append(o.Failed, i+1)
			}
		}
	}
	o.Log = log()
	return o
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

func read(t testing.TB, event string) []byte {
	t.Helper()
	text, err := events.FS.ReadFile(event)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parse[T any](t testing.TB, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Queue returns a queue with an event's records, their bodies and attributes.
// Inside a testing/synctest bubble its time is the bubble's.
func Queue(t testing.TB, event string) *testqueue.Queue {
	t.Helper()
	q := testqueue.New(t, testqueue.Standard)
	for _, r := range parse[lambdaevents.SQSEvent](t, read(t, event)).Records {
		in := &awssqs.SendMessageInput{MessageBody: &r.Body, MessageAttributes: map[string]types.MessageAttributeValue{}}
		for name, a := range r.MessageAttributes {
			in.MessageAttributes[name] = types.MessageAttributeValue{DataType: &a.DataType, StringValue: a.StringValue, BinaryValue: a.BinaryValue}
		}
		q.SendInput(in)
	}
	return q
}

// Poll runs a function as a container would, until it is asked to stop after d,
// and returns what it logged.
func Poll(t testing.TB, q *testqueue.Queue, h batch.Handler, cfg handler.Config, d time.Duration) []string {
	t.Helper()
	lines := Capture(t)
	q.Poll(t.Context(), d, h, cfg)
	return lines()
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
