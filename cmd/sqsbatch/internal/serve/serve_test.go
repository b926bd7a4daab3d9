package serve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/console"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/serve"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runServe runs `sqsbatch sqs` with arguments.
func runServe(ctx context.Context, args []string, tio cli.IO) error {
	tio.Args = append([]string{"sqs"}, args...)
	return cli.Root(tio, serve.Command(tio)).ExecuteContext(ctx)
}

// once runs the command on a free port and ends it as soon as it is ready.
func once(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	var out, side bytes.Buffer
	err = runServe(t.Context(), append([]string{"--addr", "127.0.0.1:0"}, args...), cli.IO{Stdout: show.To(&out), Stderr: show.To(&side), Interrupts: interrupts})
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(out.String(), "127.0.0.1:PORT"), side.String(), err
}

// TestStart: the output of the start, as text and as JSON.
func TestStart(t *testing.T) {
	path := filepath.Join("testdata", "queues.yaml")
	queues := []string{"--queue", "events.fifo,ContentBasedDeduplication=true", "--queue", "late,dead-letter=orders-dead"}
	tests := []struct {
		golden string
		args   []string
	}{
		{"start.txt", append(queues, "--template", path, "--parameter-overrides", "Stage=dev", "Wait=60", "--ui")},
		{"start.json", append(queues, "--template", path, "--parameter-overrides", "Stage=dev", "--output", "json", "--ui=localhost:0")},
		{"empty.txt", []string{"--region", "eu-central-1", "--account", "123456789012"}},
		{"quiet.txt", []string{"--quiet", "--queue", "orders"}},
	}
	if runtime.GOOS == "windows" {
		tests = tests[1:2] // PowerShell sets variables differently
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			out, side, err := once(t, tt.args...)
			if err != nil || side != "" {
				t.Fatalf("%v, standard error %q", err, side)
			}
			golden.Check(t, tt.golden, out)
		})
	}
}

// Warnings of the template go to standard error, with --quiet as well.
func TestWarnings(t *testing.T) {
	out, side, err := once(t, "--quiet", "--template", filepath.Join("testdata", "queues.yaml"))
	if err != nil || out != "" || !strings.Contains(side, "queues.yaml:5: queue Orders is not created: ") || !strings.Contains(side, "parameter Stage has no default") {
		t.Errorf("%v\n%s\n%s", err, out, side)
	}
}

// TestRecord: the recording has the queues, with and without a page, and sqsbatch play reads it.
func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	for _, ui := range []string{"--quiet", "--ui"} {
		_, _, err := once(t, "--queue", "orders", ui, "--record", file)
		golden.OK(t, err)
		text, err := os.ReadFile(file)
		golden.OK(t, err)
		if !strings.Contains(string(text), `"kind":"queues","value":[{"name":"orders"`) {
			t.Errorf("%s: the recording has no queues: %s", ui, text)
		}
		var out bytes.Buffer
		interrupts := make(chan os.Signal, 1)
		interrupts <- os.Interrupt
		tio := cli.IO{Args: []string{"play", file}, Stdout: show.To(&out), Stderr: show.To(io.Discard), Interrupts: interrupts}
		if err := cli.Root(tio, console.Play(tio)).ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "The page is on http://127.0.0.1:") {
			t.Errorf("%s: play ends with %v: %s", ui, err, &out)
		}
	}
	for _, args := range [][]string{{"play"}, {"play", "a", "b"}, {"play", filepath.Join("testdata", "queues.yaml")}, {"play", file + "x"}, {"play", "--ui", "0.0.0.0:0", file}} {
		tio := cli.IO{Args: args, Stdout: show.To(io.Discard), Stderr: show.To(io.Discard)}
		if err := cli.Root(tio, console.Play(tio)).ExecuteContext(t.Context()); err == nil {
			t.Errorf("%q succeeds", args)
		}
	}
}

// TestErrors: each error names the flag, the value and the fix.
func TestErrors(t *testing.T) {
	none := golden.File(t, "none.yaml", "Resources: {F: {Type: AWS::Lambda::Function}}")
	odd := golden.File(t, "odd.yaml", "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 50000}}}")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	golden.OK(t, err)
	defer taken.Close()
	ready := golden.File(t, "ready", "the first's") // of the command that uses the port
	q := func(spec string) []string { return []string{"--queue", spec} }
	tests := []struct {
		name  string
		args  []string
		usage bool
		want  []string
	}{
		{"argument", []string{"orders"}, true, []string{`"orders" is no flag; a queue is --queue orders`}},
		{"no name", q(",DelaySeconds=1"), true, []string{`--queue is ",DelaySeconds=1"; `, "NAME,ATTRIBUTE=VALUE"}},
		{"no attribute", q("orders,60"), true, []string{"orders,60", "NAME,ATTRIBUTE=VALUE"}},
		{"count alone", q("orders,max-receive-count=3"), true, []string{"max-receive-count needs dead-letter=NAME"}},
		{"count", q("orders,dead-letter=dead,max-receive-count=0"), true, []string{`max-receive-count is "0"`, "1 to 1000"}},
		{"two policies", q("orders,dead-letter=dead,RedrivePolicy={}"), true, []string{"both RedrivePolicy and dead-letter"}},
		{"twice", []string{"--queue", "orders", "--queue", "orders,DelaySeconds=1"}, true, []string{"--queue orders,DelaySeconds=1: ", "--queue orders has the same name;"}},
		{"attribute", q("orders,visibilityTimeout=1"), true, []string{"--queue orders,visibilityTimeout=1: ", "visibilityTimeout", "VisibilityTimeout=60"}},
		{"value", q("orders,VisibilityTimeout=1m"), true, []string{"--queue orders,VisibilityTimeout=1m: InvalidAttributeValue", "VisibilityTimeout"}},
		{"name", q("or ders"), true, []string{"--queue or ders: ", "alphanumeric"}},
		{"mixed types", q("orders.fifo,dead-letter=dead"), true, []string{"--queue orders.fifo,dead-letter=dead: ", "same type"}},
		{"region", []string{"--region", "Frankfurt"}, true, []string{`--region is "Frankfurt"`, "eu-central-1"}},
		{"host", []string{"--allow-host", "http://sqs:9324"}, true, []string{"without scheme and port"}},
		{"account", []string{"--account", "1"}, true, []string{`--account is "1"`, "12 digits"}},
		{"output", []string{"--output", "xml"}, true, []string{`--output is "xml"`, "text or json"}},
		{"quiet and verbose", []string{"--quiet", "--verbose"}, true, []string{"--quiet and --verbose"}},
		{"parameters without template", []string{"--parameter-overrides", "A=1"}, true, []string{"--template FILE"}},
		{"parameter", []string{"--template", odd, "--parameter-overrides", "A=1", "=2"}, true, []string{"--parameter-overrides =2", "KEY=VALUE"}},
		{"not loopback", []string{"--addr", "0.0.0.0:0"}, false, []string{"--addr 0.0.0.0:0: ", "not a loopback address"}},
		{"port in use", []string{"--addr", taken.Addr().String(), "--verbose", "--ready-file", ready}, false, []string{"--addr " + taken.Addr().String(), "another sqsbatch sqs", "port 0"}},
		{"no port", []string{"--addr", "localhost"}, false, []string{"--addr localhost: ", "missing port"}},
		{"no template", []string{"--template", "nope.yaml"}, false, []string{"--template: there is no file nope.yaml"}},
		{"no queues", []string{"--template", none}, false, []string{"none.yaml has no queue"}},
		{"template value", []string{"--template", odd}, false, []string{"odd.yaml: queue Q: ", "VisibilityTimeout"}},
		{"unknown parameter", []string{"--template", odd, "--parameter-overrides", "A=1"}, false, []string{"no parameter A"}},
		{"ready file", []string{"--ready-file", filepath.Join(t.TempDir(), "no", "ready")}, false, []string{"--ready-file: "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, side, err := once(t, tt.args...)
			_, usage := errors.AsType[*cli.UsageError](err)
			if err == nil || usage != tt.usage || out != "" || side != "" {
				t.Fatalf("error %v, a usage error: %v\n%s%s", err, !tt.usage, out, side)
			}
			golden.Says(t, "the error", err.Error(), tt.want...)
		})
	}
	if text, err := os.ReadFile(ready); string(text) != "the first's" {
		t.Errorf("ready file %q, %v", text, err)
	}
}

// The SDK works with only the printed variables.
func TestAClientNeedsOnlyWhatIsPrinted(t *testing.T) {
	s := serveTo(t, "--region", "eu-central-1", "--account", "123456789012", "--queue", "orders")
	orders, err := s.client.GetQueueUrl(t.Context(), &awssqs.GetQueueUrlInput{QueueName: aws.String("orders")})
	golden.OK(t, err)
	if !strings.Contains(s.start, *orders.QueueUrl+"\n") || !strings.HasSuffix(*orders.QueueUrl, "/123456789012/orders") {
		t.Errorf("queue URL %s, printed:\n%s", *orders.QueueUrl, s.start)
	}
	if region := s.client.Options().Region; region != "eu-central-1" {
		t.Errorf("region %q", region)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// The command ends at once, also while a client waits, and removes the ready file.
func TestTheEnd(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	lines := session(t, func(client *awssqs.Client, urls string) {
		endpoint, err := os.ReadFile(ready)
		if err != nil || !strings.HasPrefix(urls, strings.TrimSuffix(string(endpoint), "\n")+"/") {
			t.Errorf("ready file %q, %v", endpoint, err)
		}
		queue := urls + "orders"
		if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: aws.String("a body")}); err != nil {
			t.Fatal(err)
		}
		receive := func(ctx context.Context) error {
			_, err := client.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: &queue, WaitTimeSeconds: 20})
			return err
		}
		golden.OK(t, receive(t.Context()))
		waited := make(chan error, 1)
		go func() { waited <- receive(context.Background()) }() // only the server ends it
		t.Cleanup(func() {
			if err := <-waited; err == nil {
				t.Error("the waiting receiver got an answer, want an error")
			}
		})
	}, "--queue", "orders", "--verbose", "--ready-file", ready)
	if len(lines) != 2 || !strings.Contains(lines[0], "sent") || !strings.Contains(lines[1], "received") {
		t.Errorf("events %q", lines)
	}
	if _, err := os.Stat(ready); !os.IsNotExist(err) {
		t.Errorf("the ready file is still there: %v", err)
	}
}

// TestHosts: the host names that requests may have.
func TestHosts(t *testing.T) {
	s := serveTo(t, "--allow-host", "host.docker.internal", "--allow-host", "sqs")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "host.docker.internal:1": 200, "sqs": 200, "evil.example:1": 403} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, os.Getenv("AWS_ENDPOINT_URL_SQS")+"/?Action=ListQueues", http.NoBody)
		golden.OK(t, err)
		r.Host = host
		answer, err := transport.RoundTrip(r)
		golden.OK(t, err)
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != want || want == 403 && !strings.Contains(string(text), "evil.example") {
			t.Errorf("Host %q: %d, want %d: %s %v", host, answer.StatusCode, want, text, err)
		}
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
}
