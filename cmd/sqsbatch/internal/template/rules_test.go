package template_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// findings are the mistakes that cost messages or hold them up, and that neither
// CloudFormation nor cfn-lint sees ("Creating and configuring an Amazon SQS
// event source mapping" in the AWS Lambda Developer Guide; "Using dead-letter
// queues in Amazon SQS").
func findings(d *template.Deployment) []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	f, e, q := d.Function, d.Event, d.Source
	seconds := func(q template.Queue, name string, otherwise int) time.Duration {
		if n, err := strconv.Atoi(q.Attributes[name]); err == nil {
			otherwise = n
		}
		return time.Duration(otherwise) * time.Second
	}
	if got, want := seconds(q, "VisibilityTimeout", 30), 6*f.Timeout+e.Window; got < want {
		add("visibility timeout %v, want 6 x timeout + window, %v", got, want)
	}
	if e.BatchSize > 10 && e.Window < time.Second {
		add("batch size %d without a window", e.BatchSize)
	}
	if q.FIFO && (e.Window > 0 || e.BatchSize > 10) {
		add("FIFO with a window of %v and batch size %d", e.Window, e.BatchSize)
	}
	if !e.ReportBatchItemFailures {
		add("failures are not reported: what fails is deleted")
	}
	if r := f.ReservedConcurrency; r != nil && e.MaximumConcurrency > *r {
		add("maximum concurrency %d is above the reserved %d", e.MaximumConcurrency, *r)
	}
	if q.MaxReceiveCount < 5 {
		add("maxReceiveCount %d", q.MaxReceiveCount)
	}
	dead := slices.IndexFunc(d.Queues, func(other template.Queue) bool { return other.ARN == q.DeadLetterARN })
	if dead < 0 {
		add("no dead-letter queue")
		return found
	}
	letters := d.Queues[dead]
	if keeps := seconds(letters, "MessageRetentionPeriod", 345600); !q.FIFO && keeps <= seconds(q, "MessageRetentionPeriod", 345600) {
		add("dead letters are kept for %v, no longer than messages", keeps)
	}
	if letters.FIFO != q.FIFO {
		add("FIFO queue %v, dead-letter queue %v", q.FIFO, letters.FIFO)
	}
	if allow := letters.Attributes["RedriveAllowPolicy"]; strings.Contains(allow, "denyAll") || strings.Contains(allow, "byQueue") && !strings.Contains(allow, `"`+q.ARN+`"`) {
		add("the dead-letter queue does not take the queue's: %s", allow)
	}
	return found
}

var root = filepath.Join("..", "..", "..", "..")

// deployed are the templates with a function that users deploy, with their
// samconfig.toml beside them.
var deployed = []string{root, filepath.Join(root, "starter", "{{cookiecutter.project_name}}")}

// choices are parameters that a template's Rules let pass: every timeout, window
// and kind of queue, and what each environment of samconfig.toml sets.
func choices(t *testing.T, dir string) []map[string]string {
	t.Helper()
	var all []map[string]string
	for _, fifo := range []string{"true", "false"} {
		for _, timeout := range []string{"3", "10", "30", "60", "300", "900"} {
			for _, window := range []string{"0", "1", "5", "20", "60", "300"} {
				size := "10000"
				if fifo == "true" || window == "0" {
					size = "10"
				}
				all = append(all, map[string]string{"Fifo": fifo, "FunctionTimeout": timeout, "BatchWindow": window, "BatchSize": size})
			}
		}
	}
	config, err := os.ReadFile(filepath.Join(dir, "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	overrides := regexp.MustCompile(`(?m)^parameter_overrides = "(.+)"$`).FindAllSubmatch(config, -1)
	if len(overrides) < 2 {
		t.Fatalf("samconfig.toml sets parameters in %d environments", len(overrides))
	}
	for _, line := range overrides {
		set := map[string]string{}
		for _, pair := range strings.Fields(string(line[1])) {
			name, value, _ := strings.Cut(pair, "=")
			set[name] = value
		}
		all = append(all, set)
	}
	return all
}

// What can be chosen has none of the mistakes.
func TestDeployedTemplatesHaveNoMistake(t *testing.T) {
	for _, dir := range deployed {
		tmpl, err := template.Read(filepath.Join(dir, "template.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, parameters := range choices(t, dir) {
			d, err := tmpl.Resolve(template.Options{Parameters: parameters})
			if err != nil {
				t.Fatalf("%s with %v: %v", dir, parameters, err)
			}
			for _, f := range findings(d) {
				t.Errorf("%s with %v: %s", dir, parameters, f)
			}
		}
	}
}

// Each mistake is found when it is made in template.yaml.
func TestMistakesAreFound(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	fifo := map[string]string{"Fifo": "true", "BatchWindow": "5"}
	for _, c := range []struct {
		old, changed string
		parameters   map[string]string
		want         string
	}{
		{`"30": {"0": 180`, `"30": {"0": 120`, map[string]string{"FunctionTimeout": "30"}, "visibility timeout 2m0s"},
		{"Description: Orders", "Description: Orders", map[string]string{"BatchSize": "11"}, "batch size 11 without a window"},
		{"MaximumBatchingWindowInSeconds: !If [IsFifo, !Ref \"AWS::NoValue\", !Ref BatchWindow]", "MaximumBatchingWindowInSeconds: !Ref BatchWindow", fifo, "FIFO with a window"},
		{"FunctionResponseTypes: [ReportBatchItemFailures]", "Enabled: true", nil, "not reported"},
		{"      Handler: bootstrap", "      Handler: bootstrap\n      ReservedConcurrentExecutions: 9", nil, "maximum concurrency 10 is above the reserved 9"},
		{"maxReceiveCount: !Ref MaxReceiveCount", "maxReceiveCount: 4", nil, "maxReceiveCount 4"},
		{"MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 345600", nil, "no longer than messages"},
		{"redrivePermission: byQueue", "redrivePermission: denyAll", nil, "does not take the queue's"},
		{"          - !If\n            - IsFifo\n            - !Sub \"arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-orders.fifo\"\n", "          - !If\n            - IsFifo\n            - !Sub \"arn:other\"\n", fifo, "does not take the queue's"},
	} {
		if strings.Count(string(text), c.old) < 1 {
			t.Errorf("template.yaml no longer has %q", c.old)
			continue
		}
		tmpl, err := template.Parse([]byte(strings.Replace(string(text), c.old, c.changed, 1)))
		if err != nil {
			t.Fatal(err)
		}
		d, err := tmpl.Resolve(template.Options{Parameters: maps.Clone(c.parameters)})
		if err != nil {
			t.Errorf("%q: %v", c.changed, err)
			continue
		}
		if found := findings(d); !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, c.want) }) {
			t.Errorf("%q with %v: found %q, want %q", c.changed, c.parameters, found, c.want)
		}
	}
}
