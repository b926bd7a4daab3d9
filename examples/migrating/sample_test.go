package main

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

// invoke invokes a function on an event of package events, such as "shapes/sns.json", as Lambda
// does. It returns the positions, from 1, of the records that the answer names, and what the
// function logged. There is no queue, so the answer also names records that failed for good.
// The answer must be the one that is documented with the event in events/shapes.
func invoke(t *testing.T, h batch.Handler, cfg handler.Config, event string) (failed []int, logged []string) {
	t.Helper()
	t.Setenv("AWS_SAM_LOCAL", "true") // the receipt handles are samples
	cfg.Logger = slog.New(slog.DiscardHandler)
	lines := capture(t)
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
				failed = append(failed, i+1)
			}
		}
	}
	return failed, lines()
}

// sameLines compares what a function logged, in any order.
func sameLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the function logged\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func read(t *testing.T, event string) []byte {
	t.Helper()
	text, err := events.FS.ReadFile(event)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parse[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// queue returns a queue with an event's records, their bodies and attributes.
func queue(t *testing.T, event string) *testqueue.Queue {
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

// capture keeps what goes to package slog's default log until the end of the test, such as
// "shipped order=o-1".
func capture(t *testing.T) (lines func() []string) {
	c := &captured{}
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	slog.SetDefault(slog.New(c))
	return func() []string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Clone(c.lines)
	}
}

type captured struct {
	mu    sync.Mutex
	lines []string
}

func (*captured) Enabled(context.Context, slog.Level) bool { return true }
func (c *captured) WithAttrs([]slog.Attr) slog.Handler     { return c }
func (c *captured) WithGroup(string) slog.Handler          { return c }

func (c *captured) Handle(_ context.Context, r slog.Record) error {
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
