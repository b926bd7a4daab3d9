package template_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var file = filepath.Join("testdata", "full.yaml")

// read reads a file of testdata.
func read(t testing.TB, name string) string {
	t.Helper()
	return docpage.Read(t, filepath.Join("testdata", name))
}

func at(line, col int) template.Pos { return template.Pos{File: file, Line: line, Col: col} }

func resolve(t *testing.T, o template.Options) *template.Deployment {
	t.Helper()
	tmpl, err := template.Read(file)
	golden.OK(t, err)
	d, err := tmpl.Resolve(o)
	golden.OK(t, err)
	return d
}

func TestFullTemplate(t *testing.T) {
	d := resolve(t, template.Options{Endpoint: "http://127.0.0.1:9324/"})
	f := d.Function
	if f.LogicalID != "Worker" || f.Name != "Worker" || f.Timeout != 20*time.Second || f.MemoryMB != 256 ||
		f.LogLevel != "WARN" ||
		f.CodeDir != filepath.Join("testdata", "cmd", "worker") || f.ReservedConcurrency != nil {
		t.Errorf("function: %+v", f)
	}
	env := map[string]string{
		"STAGE": "dev", "SHARED": "own",
		"DLQ":     "http://127.0.0.1:9324/000000000000/dev-dead",
		"DLQ_ARN": "arn:aws:sqs:us-east-1:000000000000:dev-dead",
		"TABLE":   "Table", "LITERAL": "${keep} Orders", "MIXED": "x/dev-local-dev", "PART": "sqs",
		"NUMBER": "42", "YES": "true",
	}
	if !maps.Equal(f.Environment, env) {
		t.Errorf("environment:\n got %q\nwant %q", f.Environment, env)
	}
	want := template.Event{
		Name: "Orders", QueueARN: "arn:aws:sqs:us-east-1:000000000000:Orders", BatchSize: 50,
		Window: 5 * time.Second, ReportBatchItemFailures: true, MaximumConcurrency: 7, Enabled: true,
		Filters: []template.Filter{{Pattern: `{"body": {"stage": ["dev"]}}`, Pos: at(88, 28)}, {Pattern: `{"body": ["plain"]}`, Pos: at(89, 59)}},
		Pos:     at(78, 9), Properties: d.Event.Properties,
	}
	if !reflect.DeepEqual(d.Event, want) {
		t.Errorf("event:\n got %+v\nwant %+v", d.Event, want)
	}
	if s := d.Queue; s.Name != "Orders" || s.URL != "http://127.0.0.1:9324/000000000000/Orders" || s.FIFO ||
		s.MaxReceiveCount != 5 || s.DeadLetterARN != env["DLQ_ARN"] {
		t.Errorf("source: %+v", s)
	}
	attributes := map[string]string{
		"VisibilityTimeout": "125",
		"RedrivePolicy":     `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dev-dead","maxReceiveCount":"5"}`,
	}
	if !maps.Equal(d.Queue.Attributes, attributes) {
		t.Errorf("attributes: %q", d.Queue.Attributes)
	}
	if len(d.Queues) != 2 || d.Queues[0].Name != "dev-dead" || d.Queues[1].Name != "Orders" {
		t.Fatalf("queues: %+v", d.Queues)
	}
	if got := d.Queues[0].Attributes["RedriveAllowPolicy"]; got !=
		`{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:orders"]}` {
		t.Errorf("RedriveAllowPolicy: %s", got)
	}
	all := fmt.Sprint(d.Findings)
	for _, w := range []string{file + ":68: environment variable STREAM is not set: Table.StreamArn is known only", "SECRET is not set", "--parameter-overrides Secret=VALUE", "SELF is not set"} {
		if !strings.Contains(all, w) {
			t.Errorf("no warning says %q: %s", w, all)
		}
	}
}

func TestParameterOverrides(t *testing.T) {
	d := resolve(t, template.Options{Parameters: map[string]string{
		"Fifo": "true", "FunctionTimeout": "10", "Stage": "x", "Secret": "s", "Levels": "A,DEBUG",
	}})
	if d.Queue.Name != "Orders.fifo" || !d.Queue.FIFO || d.Queue.Attributes["FifoQueue"] != "true" ||
		d.Queue.Attributes["VisibilityTimeout"] != "65" || d.Event.BatchSize != 10 {
		t.Errorf("source %+v, event %+v", d.Queue, d.Event)
	}
	if d.Function.Environment["SECRET"] != "s" || d.Function.LogLevel != "DEBUG" || d.Function.Timeout != 10*time.Second {
		t.Errorf("function: %+v", d.Function)
	}
	if got := d.Queue.DeadLetterARN; !strings.HasSuffix(got, ":x-dead.fifo") {
		t.Errorf("dead-letter queue: %s", got)
	}
}

func TestChoice(t *testing.T) {
	tests := []struct {
		name           string
		o              template.Options
		function, from string
		err            string
	}{
		{name: "none chosen", err: "several functions with an SQS event: A, B"},
		{name: "logical id", o: template.Options{Function: "B"}, function: "B", from: "far.fifo"},
		{name: "name", o: template.Options{Function: "a-name"}, function: "a-name", from: "Q"},
		{name: "queue", o: template.Options{Function: "A", Queue: "other"}, function: "a-name", from: "other"},
		{name: "queue's id", o: template.Options{Function: "A", Queue: "R"}, function: "a-name", from: "other"},
		{name: "wrong queue", o: template.Options{Function: "A", Queue: "x"}, err: "A has no event on a queue x; its queues are Q, other"},
		{name: "wrong function", o: template.Options{Function: "C"}, err: "no function C with an SQS event; it has A, B"},
		{name: "wrong parameter", o: template.Options{Parameters: map[string]string{"P": ""}}, err: "no parameter P"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := parse(t, read(t, "two.yaml")).Resolve(tt.o)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			golden.OK(t, err)
			if d.Function.Name != tt.function || d.Queue.Name != tt.from {
				t.Errorf("got %s from %s", d.Function.Name, d.Queue.Name)
			}
		})
	}
}

func TestQueueElsewhere(t *testing.T) {
	d := resolveText(t, read(t, "two.yaml"), template.Options{Function: "B"})
	if s := d.Queue; !s.FIFO || s.Attributes["VisibilityTimeout"] != "42" || s.ARN != "arn:aws:sqs:us-east-1:000000000000:far.fifo" {
		t.Errorf("source: %+v", s)
	}
	if len(d.Queues) != 3 || len(d.Findings) != 1 || !strings.HasPrefix(d.Findings[0].String(), "line 11: queue far.fifo is not in the template") {
		t.Errorf("queues %v, findings %v", d.Queues, d.Findings)
	}
}

func TestNoFunction(t *testing.T) {
	_, err := parse(t, "Resources: {Q: {Type: AWS::SQS::Queue}}").Resolve(template.Options{})
	if choice, is := errors.AsType[*template.ChoiceError](err); !is || len(choice.Candidates) != 0 {
		t.Fatalf("error %v", err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	if _, err := template.Find(dir); !errors.Is(err, template.ErrNotFound) {
		t.Fatalf("error %v", err)
	}
	sub := filepath.Join(dir, "sub")
	golden.OK(t, os.Mkdir(sub, 0o755))
	for _, name := range []string{"template.yml", "template.yaml"} {
		want := filepath.Join(dir, name)
		golden.OK(t, os.WriteFile(want, nil, 0o600))
		if got, err := template.Find(sub, dir); got != want || err != nil {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

// parse reads a template.
func parse(t *testing.T, text string) *template.Template {
	t.Helper()
	tmpl, err := template.Parse([]byte(text))
	golden.OK(t, err)
	return tmpl
}

// resolveText reads a template and what it deploys.
func resolveText(t *testing.T, text string, o template.Options) *template.Deployment {
	t.Helper()
	d, err := parse(t, text).Resolve(o)
	golden.OK(t, err)
	return d
}

// FuzzResolve: whatever the file holds, there is a deployment or an error, and
// a deployment is complete. So are the queues by themselves.
func FuzzResolve(f *testing.F) {
	f.Add([]byte(read(f, "full.yaml")))
	f.Add([]byte(read(f, "two.yaml")))
	f.Add([]byte(function("Timeout: !If [C, 1, 2]", "FifoQueue: true")))
	f.Add([]byte("Resources: &r {F: {Type: AWS::Serverless::Function, Properties: {Events: {E: *r}}}}"))
	f.Add([]byte("Resources: {Q: &a [*a]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tmpl, err := template.Parse(data)
		if err != nil {
			return
		}
		st, err := tmpl.Stack(template.Options{})
		golden.OK(t, err)
		queues, _, err := st.Queues()
		for _, q := range queues {
			if err == nil && (q.ARN == "" || q.Attributes == nil) {
				t.Errorf("%+v", q)
			}
		}
		d, err := tmpl.Resolve(template.Options{Function: "F"})
		if err != nil {
			return
		}
		if d.Function.Timeout <= 0 || d.Queue.Name == "" || d.Queue.ARN != d.Event.QueueARN {
			t.Errorf("%+v", d)
		}
	})
}
