package handler_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
)

// queues makes queues in an emulated SQS and returns its client.
func queues(t *testing.T, names ...string) (*sqs.Server, *awssqs.Client) {
	t.Helper()
	server := sqs.New(sqs.Config{Region: "eu-west-1"})
	t.Cleanup(func() { _ = server.Close() })
	client := server.Client()
	for _, name := range names {
		if _, err := client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	return server, client
}

func send(t *testing.T, client *awssqs.Client, url string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
}

// sendMany sends n bodies, 10 at most.
func sendMany(t *testing.T, client *awssqs.Client, url string, n int) {
	t.Helper()
	in := &awssqs.SendMessageBatchInput{QueueUrl: &url}
	for i := range n {
		in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(strconv.Itoa(i))})
	}
	if out, err := client.SendMessageBatch(context.Background(), in); err != nil || len(out.Failed) > 0 {
		t.Fatal(err, out)
	}
}

// polled runs Poll in virtual time, until script returns; it returns Poll's error.
func polled(t *testing.T, h batch.Handler, cfg handler.Config, script func()) error {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- handler.Poll(ctx, h, cfg) }()
	synctest.Wait()
	script()
	cancel()
	return <-result
}

func TestPollHandlesSeveralQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := queues(t, "a", "b")
		var mu sync.Mutex
		var got []string
		h := batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r.QueueARN+" "+r.Body)
			return nil
		})
		var book logbook
		cfg := handler.Config{SQS: client, Logger: book.logger(), Poll: handler.PollConfig{Queues: []string{server.QueueURL("a"), "b"}}}
		err := polled(t, h, cfg, func() {
			send(t, client, server.QueueURL("a"), "1")
			send(t, client, server.QueueURL("b"), "2")
			time.Sleep(time.Second)
		})
		slices.Sort(got)
		if want := []string{server.QueueARN("a") + " 1", server.QueueARN("b") + " 2"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("handled %q, want %q; error %v", got, want, err)
		}
		if n := len(server.Events(sqs.Deleted)); n != 2 {
			t.Errorf("%d of 2 deleted", n)
		}
		lines := book.lines(t, "batches")
		if len(lines) != 2 || lines[0]["queue"] != "a" || lines[1]["queue"] != "b" || lines[0]["records"] != 1.0 || lines[1]["succeeded"] != 1.0 {
			t.Errorf("the log's sums are %v, want one line at the end for each queue", lines)
		}
	})
}

// The log sums batches up: one for each record would be a line for each.
func TestPollsLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := queues(t, "a")
		var book logbook
		cfg := handler.Config{SQS: client, Logger: book.logger(), Poll: handler.PollConfig{Queues: []string{"a"}}}
		err := polled(t, batch.HandlerFunc(byBody), cfg, func() {
			for range 120 {
				send(t, client, server.QueueURL("a"), "swordfish")
				time.Sleep(time.Second)
			}
			send(t, client, server.QueueURL("a"), "fail")
			time.Sleep(500 * time.Millisecond)
		})
		if err != nil {
			t.Error(err)
		}
		lines, records := book.lines(t, "batches"), 0.0
		for _, line := range lines {
			records += line["records"].(float64)
		}
		if len(lines) < 2 || len(lines) > 3 || records != 121 || len(book.lines(t, "batch")) != 0 {
			t.Errorf("%d lines in 2 min for %v records, want 2 or 3 for 121: %v", len(lines), records, lines)
		}
		if list := book.lines(t, "record"); len(list) != 1 || list[0]["outcome"] != "retry" {
			t.Errorf("lines of records: %v, want the one that failed", list)
		}
		if all := book.lines(t, ""); all[0]["msg"] != "polling" || all[len(all)-1]["msg"] != "stopped" {
			t.Errorf("the first and the last line are %v and %v", all[0], all[len(all)-1])
		}
		if strings.Contains(book.String(), "swordfish") {
			t.Error("a body is in the log")
		}
	})
}

func TestPollWithUnusableQueue_ReturnsConfigError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := queues(t, "a")
		send(t, client, server.QueueURL("a"), "1")
		began := time.Now()
		err := handler.Poll(context.Background(), batch.HandlerFunc(byBody), handler.Config{
			SQS: client, Logger: (&logbook{}).logger(), Poll: handler.PollConfig{Queues: []string{"a", "nothing"}}})
		var wrong *longpoll.ConfigError
		if !errors.As(err, &wrong) || wrong.Queue != "nothing" {
			t.Errorf("Poll returned %v, want a ConfigError about \"nothing\"", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("Poll returned after %v", took)
		}
		// The other queue was drained: what was not handled is visible.
		out, err := client.ReceiveMessage(context.Background(), &awssqs.ReceiveMessageInput{QueueUrl: aws.String(server.QueueURL("a"))})
		if gone := len(server.Events(sqs.Deleted)); err != nil || len(out.Messages)+gone != 1 {
			t.Errorf("%d deleted and %d visible, want 1 in all; error %v", gone, len(out.Messages), err)
		}
	})
}

func TestPollsConfiguration(t *testing.T) {
	_, client := queues(t, "a")
	tests := []struct {
		name string
		env  map[string]string
		cfg  handler.PollConfig
		says []string
	}{
		{"no queue", nil, handler.PollConfig{}, []string{"Poll.Queues is empty", "SQSBATCH_QUEUE_URL"}},
		{"empty queue", map[string]string{"SQSBATCH_QUEUE_URL": "a,,b"}, handler.PollConfig{}, []string{"SQSBATCH_QUEUE_URL", `"a,,b"`, "commas"}},
		{"all in one go", map[string]string{"SQSBATCH_WAIT": "30s", "SQSBATCH_VISIBILITY": "1s", "SQSBATCH_ON_PERMANENT": "burn", "SQSBATCH_HEALTH_ADDR": "nope"},
			handler.PollConfig{Queues: []string{"a"}, Prefetch: -2}, []string{
				"SQSBATCH_WAIT", "SQSBATCH_VISIBILITY", `SQSBATCH_ON_PERMANENT is "burn"`, `SQSBATCH_HEALTH_ADDR is "nope": must be HOST:PORT`, "Prefetch is -2"}},
		{"a comma too many", map[string]string{"SQSBATCH_QUEUE_URL": "a,"}, handler.PollConfig{}, []string{"item 2 of 2 is empty"}},
		{"twice", nil, handler.PollConfig{Queues: []string{"a", "b", "a"}}, []string{"names a queue twice", "as a and as a"}},
		{"twice, in two ways", map[string]string{"SQSBATCH_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/1/a, arn:aws:sqs:eu-west-1:1:a"},
			handler.PollConfig{}, []string{"names a queue twice", "arn:aws:sqs:eu-west-1:1:a"}},
		{"no ARN of a queue", map[string]string{"SQSBATCH_QUEUE_URL": "arn:aws:sns:eu-west-1:1:a"}, handler.PollConfig{}, []string{"is not a queue's ARN"}},
		{"misspelt queue", map[string]string{"SQSBATCH_QUEUES_URL": "a"}, handler.PollConfig{}, []string{"is SQSBATCH_QUEUE_URL meant?"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			err := handler.Poll(context.Background(), batch.HandlerFunc(byBody), handler.Config{SQS: client, Poll: test.cfg})
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if test.env["SQSBATCH_QUEUE_URL"] != "" && strings.Contains(err.Error(), "Poll.Queues is empty") {
				t.Errorf("error %q says that no queue is named", err)
			}
		})
	}
	for _, h := range []batch.Handler{nil, batch.HandlerFunc(nil), handler.MessageFunc(nil), batch.JSON[string](nil)} {
		if err := handler.Poll(context.Background(), h, handler.Config{SQS: client, Poll: handler.PollConfig{Queues: []string{"a"}}}); err == nil || !strings.Contains(err.Error(), "nil") {
			t.Errorf("Poll without a handler: %v", err)
		}
	}
}

// What the environment says reaches the poller.
func TestPollsEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"SQSBATCH_QUEUE_URL": " a , b ", "SQSBATCH_WAIT": "3s", "SQSBATCH_PREFETCH": "0", "SQSBATCH_VISIBILITY": "40s", "SQSBATCH_RECORD_TIMEOUT": "36s",
		"SQSBATCH_DRAIN_LIMIT": "2s", "SQSBATCH_CONCURRENCY": "2",
	} {
		t.Setenv(name, value)
	}
	synctest.Test(t, func(t *testing.T) {
		server, client := queues(t, "a", "b")
		var given atomic.Int64
		h := batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			d, _ := ctx.Deadline()
			given.Store(int64(d.Sub(r.ReceivedAt)))
			<-ctx.Done()
			return ctx.Err()
		})
		var stopped time.Time
		err := polled(t, h, handler.Config{SQS: client, Logger: (&logbook{}).logger()}, func() {
			time.Sleep(10 * time.Second)
			send(t, client, server.QueueURL("b"), "1", "2", "3")
			time.Sleep(10 * time.Second)
			stopped = time.Now()
		})
		if took := time.Since(stopped); err != nil || took < 2*time.Second || took > 3*time.Second {
			t.Errorf("the stop took %v, want 2 s; error %v", took, err)
		}
		if given := time.Duration(given.Load()); given != 36*time.Second {
			t.Errorf("a record was given %v, want 36 s", given)
		}
		if n := len(server.Events(sqs.Received)); n != 2 {
			t.Errorf("%d were received, want the 2 that have slots", n)
		}
		for _, c := range server.Calls("ReceiveMessage") {
			if c.Messages == 0 && c.Error == "" && c.Ended.Sub(c.Began) > 3*time.Second {
				t.Errorf("a receive waited %v, want 3 s", c.Ended.Sub(c.Began))
			}
		}
	})
}
