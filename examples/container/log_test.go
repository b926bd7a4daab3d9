package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
)

// eventful runs a process through most of what can happen to one, and returns
// what it logged and asked of SQS.
func eventful(t *testing.T) (lines []map[string]any, operations map[string]bool) {
	var out safeBuffer
	operations = map[string]bool{}
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Options{})
		defer server.Close()
		client := server.Client()
		create(t, client, "reports-dead", "")
		queue := create(t, client, "reports", `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:reports-dead","maxReceiveCount":3}`)
		send := func(body string) {
			if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body}); err != nil {
				t.Error(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- handler.Poll(ctx, batch.HandlerFunc(handle), handler.Config{
				RecordTimeout: 5 * time.Minute, SQS: client,
				Logger: slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: asInAContainer})),
				Poll:   handler.PollConfig{Queues: []string{queue}},
			})
		}()
		for _, body := range []string{"fine", "permanent", "busy", "hang"} {
			send(body)
		}
		time.Sleep(10 * time.Minute)
		if err := server.Inject(sqs.Fault{Kind: sqs.Failure, Operation: "ReceiveMessage", Times: 5}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		send("long")
		time.Sleep(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		time.Sleep(6 * time.Minute) // for the handler that hangs
		for _, c := range server.Calls() {
			if c.Operation != "CreateQueue" && c.Operation != "SendMessage" {
				operations[c.Operation] = true
			}
		}
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

func create(t *testing.T, client *awssqs.Client, name, redrive string) (url string) {
	in := &awssqs.CreateQueueInput{QueueName: &name}
	if redrive != "" {
		in.Attributes = map[string]string{"RedrivePolicy": redrive}
	}
	out, err := client.CreateQueue(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return *out.QueueUrl
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

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
