package formats

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/subprocess"
	"github.com/sqsbatch/sqsbatch/test/docpage"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// world is a queue with orders, and a process of function with its environment.
type world struct {
	receiver *receiver
	client   *awssqs.Client
	url      string
	binary   string
	env      map[string]string
}

func newWorld(t *testing.T, bodies ...string) *world {
	t.Helper()
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	w := &world{receiver: newReceiver(t), binary: filepath.Join(t.TempDir(), "bootstrap")}
	if out, err := exec.Command("go", "build", "-o", w.binary, "./function").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.env = map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": w.receiver.URL, "OTEL_SERVICE_NAME": "orders",
		"AWS_ENDPOINT_URL_SQS": server.URL(), "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	}
	w.client = server.Client()
	if w.url, err = harness.MakeQueue(t.Context(), w.client, "orders", nil); err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		if _, err := w.client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &w.url, MessageBody: &body}); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// check wants the spans of two records, of which one failed, each above a span
// of the function's own if its handler was called with an order.
func (w *world) check(t *testing.T, others int) {
	t.Helper()
	spans, own := w.receiver.named("process orders"), w.receiver.named("ship")
	if len(spans) != 2+others || len(own) != 2 {
		t.Fatalf("%d spans of sqsbatch, want %d, and %d of the function, want 2", len(spans), 2+others, len(own))
	}
	parents, failed := map[string]bool{}, 0
	for _, s := range spans {
		parents[string(s.SpanId)] = true
		if s.Kind != trace.Span_SPAN_KIND_CONSUMER || attr(s.Attributes, "messaging.system") != "aws_sqs" {
			t.Errorf("a span of kind %v: %v", s.Kind, s.Attributes)
		}
		if s.Status.GetCode() == trace.Status_STATUS_CODE_ERROR {
			failed++
			if attr(s.Attributes, "error.type") != "*errors.errorString" || len(s.Events) != 1 || attr(s.Events[0].Attributes, "exception.message") == "" {
				t.Errorf("a record that failed has %v, events %v", s.Attributes, s.Events)
			}
		}
	}
	if failed != 1 || w.receiver.scopes["github.com/sqsbatch/sqsbatch/telemetry/otel"] == "" {
		t.Errorf("%d spans failed, the schema URLs are %v", failed, w.receiver.scopes)
	}
	for _, s := range own {
		if !parents[string(s.ParentSpanId)] {
			t.Errorf("the function's span has the parent %x", s.ParentSpanId)
		}
	}
	for _, name := range []string{"messaging.process.duration", "messaging.client.consumed.messages", "messaging.client.operation.duration"} {
		if w.receiver.metrics[name] == nil {
			t.Errorf("no metric %s", name)
		}
	}
}

// invoke has a process handle what is in the queue, in one invocation.
func (w *world) invoke(t *testing.T) (result lambda.Result) {
	t.Helper()
	fn, err := lambda.Start(lambda.Function{Timeout: 20 * time.Second, Command: []string{w.binary}, Env: w.env})
	if err != nil {
		t.Fatal(err)
	}
	defer fn.Close()
	ctx, stop := context.WithCancel(t.Context())
	m := lambda.Mapping{Function: fn, SQS: w.client, QueueURL: w.url, BatchSize: 10, Window: time.Second, ReportBatchItemFailures: true,
		Ended: func(e lambda.Ended) { result = e.Result; stop() }}
	if err := m.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return result
}

// The page's function as a process, on Lambda: spans leave before the process is frozen.
func TestAProcessOnLambda(t *testing.T) {
	w := newWorld(t, `{"sku":"a"}`, `{}`)
	w.invoke(t)
	w.check(t, 1) // the batch's
}

// A collector that does not answer costs no record, and no invocation its time.
func TestACollectorThatHangs(t *testing.T) {
	w := newWorld(t, `{"sku":"a"}`)
	w.receiver.delay = 6 * time.Second
	if got := w.invoke(t); got.Error != nil || string(got.Payload) != `{"batchItemFailures":[]}` || got.Duration > 4*time.Second {
		t.Errorf("answered %s, %v after %v", got.Payload, got.Error, got.Duration)
	}
}

// The same process in a container: spans leave before it ends.
func TestAProcessInAContainer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SIGTERM is how a container is stopped")
	}
	w := newWorld(t, `{"sku":"a"}`, `{}`)
	cmd := exec.Command(w.binary)
	cmd.Env = append(os.Environ(), "SQSBATCH_QUEUE_URL="+w.url)
	for name, value := range w.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	process, err := subprocess.Start(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Kill()
	w.untilHandled(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if !process.Stop(ctx) {
		t.Fatal("the process does not end")
	}
	if err := process.Err(); err != nil {
		t.Fatalf("%v: %q", err, process.LastLines())
	}
	w.check(t, 0)
}

// untilHandled waits until nothing is visible in the queue: one order was
// deleted, the other one has failed and waits for its backoff.
func (w *world) untilHandled(t *testing.T) {
	t.Helper()
	err := harness.Until(t.Context(), 30*time.Second, func() error {
		visible, hidden, err := harness.Depth(t.Context(), w.client, w.url)
		if err == nil && (visible != 0 || hidden != 1) {
			err = fmt.Errorf("%d orders are visible, %d are hidden", visible, hidden)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// docs/observability/traces.md shows the end of the function's main as it is.
func TestThePageShowsTheFunction(t *testing.T) {
	page := docpage.Read(t, "../../../docs/observability/traces.md")
	_, code, _ := strings.Cut(docpage.Read(t, "function/main.go"), "\n\ttraces := ")
	code, _, _ = strings.Cut(code, "\n}\n")
	code = "```go\ntraces := " + strings.ReplaceAll(code, "\n\t", "\n") + "\n```\n"
	if !strings.Contains(page, code) {
		t.Errorf("the page does not show this:\n%s", code)
	}
}
