package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// What is to be reached.
const (
	mostRatio  = 1.3
	mostMemory = 128 << 20
	manyOf100  = 100_000
	counting   = 20_000
	largeOnes  = 2_000
)

// A course is a server on which the tool and the bare loop move messages, each time from a
// new queue to another one.
type course struct {
	*scene
	endpoint string // of the tool
	queues   int    // made so far
}

// measure compares the tool with the bare loop, counts its requests, and reads its memory in three
// cases.
func measure(ctx context.Context, o replayOptions) error {
	server, err := harness.StartSQS(ctx, o.program)
	if err != nil {
		return err
	}
	c := &course{scene: newScene(o, server.URL), endpoint: server.URL}
	return errors.Join(must.Run(func() { c.requests(ctx) }), must.Run(func() { c.compare(ctx) }),
		must.Run(func() { c.memory(ctx, "2,000 of 512 KiB, replayed", largeOnes, 512<<10, true) }),
		must.Run(func() { c.memory(ctx, "100,000 of 100 bytes, none selected", manyOf100, 100, false) }), server.Stop())
}

// requests counts the tool's calls for each message, when all are replayed and when none is.
func (c *course) requests(ctx context.Context) {
	p := must.Get(newProxy(c.url))
	defer p.close()
	counted := *c
	counted.endpoint = p.url
	for _, all := range []bool{true, false} {
		p.arm(nil)
		counted.lap(ctx, true, counting, 100, all)
		fmt.Printf("requests for each of %d messages, replayed %v:", counting, all)
		for _, op := range slices.Sorted(maps.Keys(p.calls)) {
			fmt.Printf(" %s %.3f", op, float64(p.calls[op])/counting)
		}
		fmt.Println()
	}
	c.queues = counted.queues
}

func (c *course) compare(ctx context.Context) {
	var tools, bares []float64
	var most int64
	for n := range c.rounds {
		for turn := range 2 {
			isTool := turn == n%2
			took, memory := c.lap(ctx, isTool, manyOf100, 100, true)
			name := "bare loop"
			if isTool {
				name, most = "replay", max(most, memory)
				tools = append(tools, took.Seconds())
			} else {
				bares = append(bares, took.Seconds())
			}
			fmt.Printf("%-9s  %6.2f s  %7.0f messages/s  peak %4d MiB\n", name, took.Seconds(), manyOf100/took.Seconds(), memory>>20)
		}
	}
	slices.Sort(tools)
	slices.Sort(bares)
	ratio := tools[len(tools)/2] / bares[len(bares)/2]
	fmt.Printf("replay / bare loop, medians: %.2f (at most %.1f)\n", ratio, mostRatio)
	if ratio > mostRatio || most > mostMemory {
		must.Failf("the ratio is %.2f, the peak memory %d MiB", ratio, most>>20)
	}
}

// memory reads the peak of one run of the tool.
func (c *course) memory(ctx context.Context, what string, messages, size int, all bool) {
	took, memory := c.lap(ctx, true, messages, size, all)
	fmt.Printf("%s: %.2f s, peak %d MiB (at most %d)\n", what, took.Seconds(), memory>>20, mostMemory>>20)
	if memory > mostMemory {
		must.Failf("%s: the peak memory is %d MiB", what, memory>>20)
	}
}

// lap fills a new queue and has the tool, or the bare loop, move it to another one.
func (c *course) lap(ctx context.Context, isTool bool, messages, size int, all bool) (took time.Duration, memory int64) {
	c.queues++
	from, to := fmt.Sprint("dead-", c.queues), fmt.Sprint("orders-", c.queues)
	must.Get2(harness.MakeQueues(ctx, c.client, to, from, 3))
	must.Do(c.sendCopies(ctx, from, messages, size))
	cmd := exec.CommandContext(ctx, os.Args[0], bareLoop, c.url, *c.queueURL(from), *c.queueURL(to))
	if isTool {
		args := []string{"replay", from, "--endpoint-url", c.endpoint, "--journal", fmt.Sprintf("%s/%s.journal", c.dir, from), "--by", "send", "--yes"}
		if !all {
			args = append(args, "--where", ".body.n < 0")
		}
		cmd = tool(ctx, c.program, args...).cmd
	}
	began := time.Now()
	if err := cmd.Run(); err != nil {
		must.Failf("%s: %w: %v", strings.Join(cmd.Args[:2], " "), err, cmd.Stdout)
	}
	took = time.Since(began)
	full := to
	if !all {
		full = from
	}
	visible, hidden := must.Get2(c.counts(ctx, full))
	if !isTool { // an answer that the SDK loses hides messages, and the loop does not wait for them
		_, left := must.Get2(c.counts(ctx, from))
		if visible += left; left > 0 {
			fmt.Printf("the bare loop left %d messages hidden\n", left)
		}
	}
	if visible != messages || hidden != 0 {
		must.Failf("%s has %d visible messages and %d hidden ones, want %d", full, visible, hidden, messages)
	}
	must.Get(c.client.PurgeQueue(ctx, &awssqs.PurgeQueueInput{QueueUrl: c.queueURL(full)}))
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return took, usage.Maxrss << 10 // KiB, on Linux
}

// sendCopies sends messages of a size.
func (c *course) sendCopies(ctx context.Context, queue string, messages, size int) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(workers)
	most := min(10, (1<<20)/size)
	for first := 0; first < messages; first += most {
		calls.Go(func() error {
			in := &awssqs.SendMessageBatchInput{QueueUrl: c.queueURL(queue)}
			for n := first; n < min(first+most, messages); n++ {
				head := fmt.Sprintf(`{"n":%d,"text":"`, n)
				body := head + strings.Repeat("x", size-len(head)-2) + `"}`
				in.Entries = append(in.Entries, types.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(n - first)), MessageBody: &body})
			}
			out, err := c.client.SendMessageBatch(ctx, in)
			if err == nil && len(out.Failed) > 0 {
				err = fmt.Errorf("%s was not sent: %s", aws.ToString(out.Failed[0].Id), aws.ToString(out.Failed[0].Message))
			}
			return err
		})
	}
	return calls.Wait()
}

// bareLoop is the argument with which this program runs as the opponent: what one writes by
// hand. It keeps no journal, holds nothing, and looks at no error of an entry.
const bareLoop = "bare"

const bareLoops = 16 // the tool's --parallel

func runBare(ctx context.Context, url, from, to string) error {
	client := harness.SQSClient(url, func(o *awssqs.Options) {
		o.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = bareLoops })
	})
	loops, ctx := errgroup.WithContext(ctx)
	for range bareLoops {
		loops.Go(func() error {
			for {
				n, err := moveTen(ctx, client, &from, &to)
				if err != nil || n == 0 {
					return err
				}
			}
		})
	}
	return loops.Wait()
}

// moveTen waits for messages as long as the tool does, so that both find the end alike.
func moveTen(ctx context.Context, client *awssqs.Client, from, to *string) (n int, err error) {
	out, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: from, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 120,
		MessageAttributeNames: []string{"All"}, MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	})
	if err != nil || len(out.Messages) == 0 {
		return 0, err
	}
	send := &awssqs.SendMessageBatchInput{QueueUrl: to}
	remove := &awssqs.DeleteMessageBatchInput{QueueUrl: from}
	for i, m := range out.Messages {
		id := aws.String(strconv.Itoa(i))
		send.Entries = append(send.Entries, types.SendMessageBatchRequestEntry{Id: id, MessageBody: m.Body, MessageAttributes: m.MessageAttributes})
		remove.Entries = append(remove.Entries, types.DeleteMessageBatchRequestEntry{Id: id, ReceiptHandle: m.ReceiptHandle})
	}
	sent, err := client.SendMessageBatch(ctx, send)
	if err == nil && len(sent.Failed) > 0 {
		err = fmt.Errorf("%s was not sent", aws.ToString(sent.Failed[0].Id))
	}
	if err != nil {
		return 0, err
	}
	_, err = client.DeleteMessageBatch(ctx, remove)
	return len(out.Messages), err
}
