package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
)

// eventful runs a process through most of what can happen to one, and returns
// what it logged and asked of SQS.
func eventful(t *testing.T) (lines []map[string]any, operations map[string]bool) {
	var out bytes.Buffer // slog's handler has a lock
	operations = map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		q.Send("fine", "permanent", "busy", "hang")
		q.ForgetCalls()
		stop := q.StartPoll(batch.HandlerFunc(handle), handler.Config{
			RecordTimeout: 5 * time.Minute, Logger: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: asInAContainer})),
		})
		time.Sleep(10 * time.Minute)
		if err := q.Server().Inject(sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage", Times: 5}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		q.Send("long")
		time.Sleep(time.Minute)
		stop()
		time.Sleep(6 * time.Minute) // for the handler that hangs
		for _, operation := range q.Calls() {
			operations[operation] = true
		}
		delete(operations, "SendMessage") // the test's
	})
	for text := range strings.Lines(out.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines, operations
}

// troubled are the messages of warnings of a process that may not delete, and of one whose
// queue is gone.
func troubled(t *testing.T) (messages []string) {
	for _, fault := range []sqs.Fault{
		{Kind: sqs.Failure, Operation: "DeleteMessageBatch", Code: "AccessDenied"},
		{Kind: sqs.Failure, Operation: "ReceiveMessage", Code: "QueueDoesNotExist"},
	} {
		var out bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			q := testqueue.New(t, testqueue.Standard)
			stop := q.StartPoll(batch.HandlerFunc(handle), handler.Config{Logger: slog.New(slog.NewJSONHandler(&out, nil))})
			time.Sleep(time.Second)
			if err := q.Server().Inject(fault); err != nil {
				t.Error(err)
			}
			for range 14 {
				q.Send("fine")
			}
			time.Sleep(2 * time.Minute)
			q.Server().ClearFaults()
			stop()
		})
		for text := range strings.Lines(out.String()) {
			var l struct {
				Message string `json:"msg"`
			}
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			messages = append(messages, l.Message)
		}
	}
	return messages
}

func handle(ctx context.Context, r batch.Record) error {
	switch r.Body {
	case "permanent":
		return batch.Permanent(errors.New("no such customer"))
	case "busy":
		return errors.New("the printer is out of paper")
	case "hang":
		time.Sleep(6 * time.Minute) // whatever its context says
	case "long":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// asInAContainer names keys as the container's own logger does.
func asInAContainer(groups []string, a slog.Attr) slog.Attr {
	switch {
	case len(groups) > 0:
	case a.Key == slog.TimeKey:
		a.Key = "timestamp"
	case a.Key == slog.MessageKey:
		a.Key = "message"
	}
	return a
}
