package dlq_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/cases"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", strconv.Itoa(cases.Of(25, 100)))
	goleak.VerifyTestMain(m)
}

// bench has the queues orders and refunds, their dead-letter queue orders-dead, and the
// same with .fifo; and parked, which is nobody's.
type bench struct {
	*testing.T
	server     *sqs.Server
	client     *awssqs.Client
	journal    string
	interrupts chan os.Signal
}

// virtual runs a test in virtual time.
func virtual(t *testing.T, test func(b *bench)) {
	t.Helper()
	journal := filepath.Join(t.TempDir(), "journal")
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{})
		defer server.Close()
		b := &bench{T: t, server: server, client: server.Client(sqscall.Once), journal: journal, interrupts: make(chan os.Signal, 2)}
		dlq.Use(t, b.client)
		for _, suffix := range []string{"", ".fifo"} {
			b.create("parked"+suffix, map[string]string{})
			b.create("orders-dead"+suffix, map[string]string{"MessageRetentionPeriod": "1209600"})
			for _, name := range []string{"orders", "refunds"} {
				b.create(name+suffix, map[string]string{"RedrivePolicy": fmt.Sprintf(
					`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, server.QueueARN("orders-dead"+suffix))})
			}
		}
		test(b)
	})
}

func (b *bench) create(name string, attributes map[string]string) {
	b.Helper()
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoQueue"] = "true"
	}
	if _, err := b.client.CreateQueue(b.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes}); err != nil {
		b.Fatal(err)
	}
}

// send sends a message to a queue. A group of "" is none.
func (b *bench) send(queue, group, body string, attributes map[string]types.MessageAttributeValue) (id string) {
	b.Helper()
	in := &awssqs.SendMessageInput{QueueUrl: aws.String(b.server.QueueURL(queue)), MessageBody: &body, MessageAttributes: attributes}
	if group != "" {
		in.MessageGroupId = &group
	}
	if strings.HasSuffix(queue, ".fifo") {
		in.MessageDeduplicationId = aws.String(body)
	}
	out, err := b.client.SendMessage(b.Context(), in)
	if err != nil {
		b.Fatal(err)
	}
	return *out.MessageId
}

// buried sends a message to orders-dead as sqsbatch does.
func (b *bench) buried(queue, group, body, reason, source string) (id string) {
	origin := partialfailure.Origin{Reason: reason, MessageID: "m-" + body, Attempts: 1, FailedAt: time.Now().UTC()}
	if source != "" {
		origin.Queue = b.server.QueueARN(source)
	}
	return b.forge(queue, group, body, origin)
}

// forge sends a message that says where it came from.
func (b *bench) forge(queue, group, body string, origin partialfailure.Origin) (id string) {
	value, _ := origin.Value(1000)
	return b.send(queue, group, body, map[string]types.MessageAttributeValue{"sqsbatch": {DataType: aws.String("String"), StringValue: &value}})
}

// bury has n numbered messages buried that came from orders.
func (b *bench) bury(n int) (bodies []string) {
	b.Helper()
	bodies = numbered(0, n)
	for _, body := range bodies {
		b.buried("orders-dead", "", body, "no such customer 17", "orders")
	}
	return bodies
}

func (b *bench) inject(faults ...sqs.Fault) {
	b.Helper()
	if err := b.server.Inject(faults...); err != nil {
		b.Fatal(err)
	}
}

// redriven sends messages to a queue and has SQS move them to its dead-letter queue.
func (b *bench) redriven(queue, group string, bodies ...string) {
	b.Helper()
	for _, body := range bodies {
		b.send(queue, group, body, nil)
	}
	for {
		out, err := b.client.ReceiveMessage(b.Context(), &awssqs.ReceiveMessageInput{
			QueueUrl: aws.String(b.server.QueueURL(queue)), MaxNumberOfMessages: 10, VisibilityTimeout: 1,
		})
		if err != nil {
			b.Fatal(err)
		}
		if len(out.Messages) == 0 {
			if b.depth(queue) == 0 {
				return
			}
			time.Sleep(time.Second)
		}
	}
}

func (b *bench) depth(queue string) (n int) {
	for _, q := range b.server.Snapshot() {
		if q.Name == queue {
			n = len(q.Messages)
		}
	}
	return n
}

// depths checks how many messages orders and orders-dead have.
func (b *bench) depths(sent, left int) {
	b.Helper()
	if s, l := b.depth("orders"), b.depth("orders-dead"); s != sent || l != left {
		b.Errorf("%d sent, %d left; want %d and %d", s, l, sent, left)
	}
}

// drain receives and deletes everything that is visible in a queue, in its order.
func (b *bench) drain(queue string) (messages []types.Message) {
	b.Helper()
	url := aws.String(b.server.QueueURL(queue))
	for {
		out, err := b.client.ReceiveMessage(b.Context(), &awssqs.ReceiveMessageInput{
			QueueUrl: url, MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		})
		if err != nil {
			b.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return messages
		}
		for _, m := range out.Messages {
			messages = append(messages, m)
			if _, err := b.client.DeleteMessage(b.Context(), &awssqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// bodies are those of drain.
func (b *bench) bodies(queue string) (list []string) {
	b.Helper()
	for _, m := range b.drain(queue) {
		list = append(list, *m.Body)
	}
	return list
}

// expect checks the bodies of the messages that are visible in a queue, in any order.
func (b *bench) expect(queue string, want ...string) {
	b.Helper()
	got := b.bodies(queue)
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		b.Errorf("%s has %q, want %q", queue, got, want)
	}
}

type ran struct {
	status         int
	stdout, stderr string
	elapsed        time.Duration
}

func (r ran) String() string { return fmt.Sprintf("status %d\n%s%s", r.status, r.stdout, r.stderr) }

// run runs `sqsbatch dlq` with arguments.
func (b *bench) run(args ...string) ran { return b.runWith(b.Context(), args...) }

func (b *bench) runWith(ctx context.Context, args ...string) ran {
	b.Helper()
	if args[0] == "replay" || args[0] == "move" || args[0] == "import" {
		args = append(args, "--journal", b.journal)
	}
	var stdout, stderr safeBuffer
	began := time.Now()
	tio := cli.IO{Args: append([]string{"dlq"}, args...), Stdin: strings.NewReader(""), Stdout: show.To(&stdout), Stderr: show.To(&stderr), Interrupts: b.interrupts}
	status := cli.Run(ctx, cli.Root(tio, dlq.Command(tio, nil)))
	return ran{status, stdout.String(), stderr.String(), time.Since(began)}
}

// runKilled runs a command, and ends it as a kill does after a time.
func (b *bench) runKilled(after time.Duration, args ...string) ran {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	time.AfterFunc(after, cancel)
	return b.runWith(ctx, args...)
}

// interruptAfter has Ctrl-C come after a time.
func (b *bench) interruptAfter(d time.Duration) {
	time.AfterFunc(d, func() { b.interrupts <- os.Interrupt })
}

// must runs a command that has to end with a status.
func (b *bench) must(status int, args ...string) ran {
	b.Helper()
	r := b.run(args...)
	if r.status != status {
		b.Fatalf("%q: %s", args, r)
	}
	return r
}

// result is the last line of a JSON output.
func (b *bench) result(r ran) (line map[string]any) {
	b.Helper()
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil {
		b.Fatalf("%v in %s", err, r)
	}
	return line
}

func (b *bench) contains(r ran, texts ...string) {
	b.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout+r.stderr, text) {
			b.Errorf("no %q in %s", text, r)
		}
	}
}

// numbered are bodies.
func numbered(from, to int) (list []string) {
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf(`{"n":%d}`, i))
	}
	return list
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
