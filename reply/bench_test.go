package reply_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/reply"
)

// Calls one after another over emulator/sqs on loopback, compared with what the two queues
// take by themselves: an echo by hand, with SendMessage and ReceiveMessage. p99 is of a run,
// so give it some thousand rounds: go test -run '^$' -bench Call -benchtime 5000x ./reply
func BenchmarkCall(b *testing.B) {
	b.Run("reply", func(b *testing.B) {
		client, url := benchServer(b, "requests")
		h := reply.Handler(quote, reply.HandlerConfig{SQS: client})
		ctx, cancel := context.WithCancel(b.Context())
		served := make(chan error)
		go func() {
			served <- handler.Poll(ctx, h, handler.Config{SQS: client, Logger: slog.New(slog.DiscardHandler), Poll: handler.PollConfig{Queues: []string{url}}})
		}()
		c, err := reply.NewClient(client, reply.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Open(b.Context()); err != nil {
			b.Fatal(err)
		}
		rounds(b, func(i int) {
			id := fmt.Sprint(i)
			if q, err := reply.Call[Quote](b.Context(), c, url, Request{ID: id}); err != nil || q.For != id {
				b.Fatal(q, err)
			}
		})
		if err := c.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		cancel()
		<-served
	})
	b.Run("by hand", func(b *testing.B) {
		client, requests := benchServer(b, "requests")
		out, err := client.CreateQueue(b.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("answers")})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan bool)
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				for _, m := range receive(ctx, client, requests) {
					send(b, client, *out.QueueUrl, *m.Body)
				}
			}
		}()
		rounds(b, func(i int) {
			send(b, client, requests, fmt.Sprint(i))
			if got := receive(b.Context(), client, *out.QueueUrl); len(got) != 1 || *got[0].Body != fmt.Sprint(i) {
				b.Fatal(got)
			}
		})
		cancel()
		<-done
	})
}

// rounds makes the rounds of a benchmark, and reports their median and p99.
func rounds(b *testing.B, round func(i int)) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		round(i)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1e3, "p99-ms")
}

func benchServer(b *testing.B, name string) (client *awssqs.Client, url string) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	client = awssqs.New(awssqs.Options{BaseEndpoint: aws.String(server.URL()), Region: "us-east-1", Credentials: aws.AnonymousCredentials{}})
	if _, err := client.CreateQueue(b.Context(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
		b.Fatal(err)
	}
	return client, server.QueueURL(name)
}

// receive receives and deletes.
func receive(ctx context.Context, client *awssqs.Client, url string) []types.Message {
	out, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 10, WaitTimeSeconds: 20})
	if err != nil {
		return nil
	}
	for _, m := range out.Messages {
		_, _ = client.DeleteMessage(ctx, &awssqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
	}
	return out.Messages
}

func send(b *testing.B, client *awssqs.Client, url, body string) {
	if _, err := client.SendMessage(b.Context(), &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body}); err != nil {
		b.Error(err)
	}
}
