package serve_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
)

// The SDK works with the printed variables; the queues are as the flags say.
func TestAClientNeedsOnlyWhatIsPrinted(t *testing.T) {
	p := begin(t, "--addr", "127.0.0.1:0", "--region", "eu-central-1", "--account", "123456789012",
		"--queue", "orders,VisibilityTimeout=0,dead-letter=dead,max-receive-count=2", "--queue", "orders.fifo")
	client, ctx := p.client(), t.Context()
	orders, err := client.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String("orders")})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.start, *orders.QueueUrl+" ") || !strings.HasSuffix(*orders.QueueUrl, "/123456789012/orders") {
		t.Errorf("queue URL %s, printed:\n%s", *orders.QueueUrl, p.start)
	}
	if _, err := client.SendMessage(ctx, &awssqs.SendMessageInput{QueueUrl: orders.QueueUrl, MessageBody: aws.String("a")}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 1, 0} { // the third receive finds it dead-lettered
		got, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: orders.QueueUrl})
		if err != nil || len(got.Messages) != want {
			t.Fatalf("%+v, %v; want %d messages", got, err, want)
		}
	}
	dead := strings.TrimSuffix(*orders.QueueUrl, "orders") + "dead"
	got, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl:                    &dead,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameDeadLetterQueueSourceArn},
	})
	if err != nil || len(got.Messages) != 1 ||
		got.Messages[0].Attributes["DeadLetterQueueSourceArn"] != "arn:aws:sqs:eu-central-1:123456789012:orders" {
		t.Errorf("dead-letter queue: %+v, %v", got, err)
	}
	fifo := *orders.QueueUrl + ".fifo"
	sent, err := client.SendMessage(ctx, &awssqs.SendMessageInput{
		QueueUrl: &fifo, MessageBody: aws.String("a"), MessageGroupId: aws.String("g"), MessageDeduplicationId: aws.String("d"),
	})
	if err != nil || sent.SequenceNumber == nil {
		t.Errorf("FIFO: %+v, %v", sent, err)
	}
}

// TestASignalEndsIt: at once and with status 0, also while a client waits.
func TestASignalEndsIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signals that a test could send")
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			ready := filepath.Join(t.TempDir(), "ready")
			p := begin(t, "--addr", "127.0.0.1:0", "--queue", "orders", "--verbose", "--ready-file", ready)
			client := p.client()
			if endpoint, err := os.ReadFile(ready); err != nil || string(endpoint) != os.Getenv("AWS_ENDPOINT_URL_SQS")+"\n" {
				t.Errorf("ready file %q, %v", endpoint, err)
			}
			queue := os.Getenv("AWS_ENDPOINT_URL_SQS") + "/000000000000/orders"
			if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: aws.String("a body")}); err != nil {
				t.Fatal(err)
			}
			receive := func() error {
				_, err := client.ReceiveMessage(t.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &queue, WaitTimeSeconds: 20})
				return err
			}
			if err := receive(); err != nil {
				t.Fatal(err)
			}
			waited := make(chan error, 1)
			go func() { waited <- receive() }()
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			rest, status := p.end()
			if status != 0 || p.stderr.Len() > 0 {
				t.Errorf("exit status %d, standard error %q", status, p.stderr)
			}
			if err := <-waited; err == nil {
				t.Error("the waiting receiver got an answer, want an error")
			}
			if lines := strings.Count(rest, "\n"); lines != 2 || !strings.Contains(rest, "sent") || !strings.Contains(rest, "received") {
				t.Errorf("events:\n%s", rest)
			}
			if _, err := os.Stat(ready); !os.IsNotExist(err) {
				t.Errorf("the ready file is still there: %v", err)
			}
		})
	}
}

// A second command on the same port says so and leaves the first as it is.
func TestAPortInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ready := filepath.Join(t.TempDir(), "ready")
	if err := os.WriteFile(ready, []byte("the first's"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, "--addr", taken.Addr().String(), "--verbose", "--ready-file", ready)
	out, status := p.end()
	message := p.stderr.String()
	if status != 1 || out != "" || strings.Count(message, "\n") != 1 {
		t.Errorf("exit status %d, output %q, %q", status, out, message)
	}
	golden.Says(t, "the output", message, "sqsbatch sqs: --addr "+taken.Addr().String(), "another sqsbatch sqs", "port 0")
	if text, err := os.ReadFile(ready); string(text) != "the first's" {
		t.Errorf("ready file %q, %v", text, err)
	}
}
