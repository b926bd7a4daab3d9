package longpoll_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// BenchmarkInFlight reports what a record that is being handled takes in memory
// besides its body: on the heap, and as its goroutine's stack, of which Go gives
// 2 KiB and doubles it when the handler needs more. For comparison, the same of a
// goroutine that holds the SDK's message and nothing else. Run each by itself:
// Go keeps what goroutines leave behind.
func BenchmarkInFlight(b *testing.B) {
	for _, impl := range []struct {
		name string
		run  func(client *awssqs.Client, url string, n int, handle func()) (stop func() error, err error)
	}{{"sqsbatch", polled}, {"goroutine", byHand}} {
		b.Run("impl="+impl.name, func(b *testing.B) {
			for b.Loop() {
				const n, body = 5_000, 1_000
				client, url := fullQueue(b, n, strings.Repeat("x", body))
				var handling sync.WaitGroup
				handling.Add(n)
				release := make(chan struct{})
				heap, stacks := inUse()
				stop, err := impl.run(client, url, n, func() {
					handling.Done()
					<-release
				})
				if err != nil {
					b.Fatal(err)
				}
				handling.Wait()
				heapNow, stacksNow := inUse()
				b.ReportMetric((heapNow-heap)/n-body, "heap-B/record")
				b.ReportMetric((stacksNow-stacks)/n, "stack-B/record")
				close(release)
				if err := stop(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fullQueue has n messages, on a server that notes nothing of what it does.
func fullQueue(b *testing.B, n int, body string) (*awssqs.Client, string) {
	server := sqs.New(sqs.Config{History: -1})
	b.Cleanup(func() { _ = server.Close() })
	client := awssqs.New(awssqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL()), HTTPClient: server.HTTPClient(),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	out, err := client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: aws.String("work")})
	if err != nil {
		b.Fatal(err)
	}
	for range n {
		if _, err := client.SendMessage(context.Background(), &awssqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: &body}); err != nil {
			b.Fatal(err)
		}
	}
	return client, *out.QueueUrl
}

func polled(client *awssqs.Client, url string, n int, handle func()) (stop func() error, err error) {
	p := longpoll.New(batch.HandlerFunc(func(context.Context, batch.Record) error {
		handle()
		return nil
	}), longpoll.Config{Queue: url, SQS: client, Engine: runner.Config{Concurrency: n}})
	ran := make(chan error, 1)
	go func() { ran <- p.Run(context.Background()) }()
	return func() error {
		_ = p.Shutdown(context.Background())
		return <-ran
	}, nil
}

// byHand keeps of a message what a handler is given.
func byHand(client *awssqs.Client, url string, n int, handle func()) (stop func() error, err error) {
	var all sync.WaitGroup
	for received := 0; received < n; {
		out, err := client.ReceiveMessage(context.Background(), &awssqs.ReceiveMessageInput{
			QueueUrl: &url, MaxNumberOfMessages: 10, VisibilityTimeout: 600,
			MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
		})
		if err != nil {
			return nil, err
		}
		received += len(out.Messages)
		for i := range out.Messages {
			all.Go(func() {
				m := out.Messages[i]
				handle()
				runtime.KeepAlive(m)
			})
		}
	}
	return func() error { all.Wait(); return nil }, nil
}

// inUse is what is taken after a collection.
func inUse() (heap, stacks float64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc), float64(m.StackInuse)
}
