package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

var root = filepath.Join("..", "..")

// deployed are the templates with a function that users deploy, with their
// samconfig.toml next to them.
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
	ok(t, err)
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

// check returns what the rules find.
func check(t *testing.T, tmpl *template.Template, parameters map[string]string) lint.Result {
	t.Helper()
	st, err := tmpl.Stack(template.Options{Parameters: parameters})
	ok(t, err)
	result, err := lint.Check(st)
	ok(t, err)
	return result
}

// What can be chosen has none of the mistakes.
func TestDeployedTemplates_HaveNoFinding(t *testing.T) {
	for _, dir := range deployed {
		tmpl, err := template.Read(filepath.Join(dir, "template.yaml"))
		ok(t, err)
		for _, parameters := range choices(t, dir) {
			for _, f := range check(t, tmpl, parameters).Findings {
				t.Errorf("with %v: %v", parameters, f)
			}
		}
	}
}

// Each mistake is found when it is made in template.yaml, where it stands.
func TestMistakes_AreFound(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	ok(t, err)
	fifo := map[string]string{"Fifo": "true", "BatchWindow": "5"}
	const (
		failures = "            FunctionResponseTypes: [ReportBatchItemFailures]\n"
		redrive  = "      RedrivePolicy:\n        deadLetterTargetArn: !GetAtt OrdersDeadLetterQueue.Arn\n        maxReceiveCount: !Ref MaxReceiveCount\n"
		filters  = "            FilterCriteria: {Filters: [{Pattern: a}, {Pattern: a}, {Pattern: a}, {Pattern: a}, {Pattern: a}, {Pattern: a}]}\n"
	)
	for _, c := range []struct {
		old, changed string
		parameters   map[string]string
		id, on, want string
	}{
		{failures, "", nil, "SB101", "Orders:", "event Orders of function OrdersFunction has no ReportBatchItemFailures"},
		{"Description: Orders", "Description: Orders", map[string]string{"BatchSize": "11"}, "SB102", "BatchSize: !Ref", "BatchSize of 11 without a window"},
		{"MaximumBatchingWindowInSeconds: !If [IsFifo, !Ref \"AWS::NoValue\", !Ref BatchWindow]", "MaximumBatchingWindowInSeconds: !Ref BatchWindow", fifo, "SB103", "MaximumBatching", "window of 5 seconds on the FIFO queue"},
		{"Description: Orders", "Description: Orders", map[string]string{"Fifo": "true", "BatchSize": "11"}, "SB104", "BatchSize: !Ref", "BatchSize of 11 on the FIFO queue"},
		{`"30": {"0": 180`, `"30": {"0": 29`, map[string]string{"FunctionTimeout": "30"}, "SB105", "VisibilityTimeout: !Find", "29 seconds, less than the function's Timeout of 30"},
		{`"30": {"0": 180`, `"30": {"0": 120`, map[string]string{"FunctionTimeout": "30"}, "SB106", "VisibilityTimeout: !Find", "VisibilityTimeout of 120 seconds; set it to 180"},
		{"      Handler: bootstrap", "      Handler: bootstrap\n      ReservedConcurrentExecutions: 9", nil, "SB109", "MaximumConcurrency: !Ref", "MaximumConcurrency of 10, above the 9"},
		{failures, failures + filters, nil, "SB116", "FilterCriteria", "event Orders has 6 filters: Lambda takes 5"},
		{redrive, "", nil, "SB201", "OrdersQueue:", "no dead-letter queue"},
		{"maxReceiveCount: !Ref MaxReceiveCount", "maxReceiveCount: 4", nil, "SB202", "maxReceiveCount: 4", "maxReceiveCount of 4"},
		{"FifoQueue: !If [IsFifo, true, !Ref \"AWS::NoValue\"]", "FifoQueue: false", map[string]string{"Fifo": "true"}, "SB203", "RedrivePolicy:", "only one is a FIFO queue"},
		{"MessageRetentionPeriod: 1209600", "MessageRetentionPeriod: 345600", nil, "SB204", "MessageRetentionPeriod: 345600\n      SqsManagedSseEnabled: true\n      RedriveAllow", "no longer than messages"},
		{"redrivePermission: byQueue", "redrivePermission: denyAll", nil, "SB205", "RedriveAllowPolicy", "does not take messages of"},
		{"          - !If\n            - IsFifo\n            - !Sub \"arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-orders.fifo\"\n", "          - !If\n            - IsFifo\n            - !Sub \"arn:other\"\n", fifo, "SB205", "RedriveAllowPolicy", "does not take messages of"},
		{"sqs:DeleteMessage, ", "", nil, "SB301", "OrdersFunctionRole:\n    Type", "does not allow sqs:DeleteMessage on the queue"},
		{"Action: sqs:ChangeMessageVisibility", "Action: sqs:GetQueueAttributes", nil, "SB302", "OrdersFunctionRole:\n    Type", "does not allow sqs:ChangeMessageVisibility on the queue"},
		{"Action: sqs:SendMessage\n                Resource: !GetAtt OrdersDeadLetterQueue.Arn", "Action: sqs:SendMessage\n                Resource: !GetAtt OrdersQueue.Arn", nil, "SB303", "OrdersFunctionRole:\n    Type", "does not allow sqs:SendMessage on the dead-letter queue"},
		{"Action: sqs:SendMessage\n                Resource: !GetAtt OrdersDeadLetterQueue.Arn", "Action: sqs:SendMessage\n                Resource: \"*\"", nil, "SB305", "- Sid: DeadLetter", "allows sqs:SendMessage on *, which is not called"},
		{"Action: sqs:ChangeMessageVisibility", "Action: [sqs:ChangeMessageVisibility, sqs:PurgeQueue]", nil, "SB305", "- Sid: Backoff", "allows sqs:PurgeQueue on the queue, which is not called"},
		{"Description: Orders", "Description: Orders", map[string]string{"OldestMessageSeconds": "1410"}, "SB501", "Threshold: !Ref", "OldestMessageAlarm goes off at an age of 1410 seconds"},
	} {
		if !strings.Contains(string(text), c.old) {
			t.Errorf("template.yaml no longer has %q", c.old)
			continue
		}
		changed := strings.Replace(string(text), c.old, c.changed, 1)
		tmpl, err := template.Parse([]byte(changed))
		ok(t, err)
		found := check(t, tmpl, c.parameters).Findings
		i := slices.IndexFunc(found, func(f lint.Finding) bool { return f.ID == c.id && strings.Contains(f.Message, c.want) })
		if i < 0 {
			t.Errorf("%q with %v: found %v, want %s %q", c.changed, c.parameters, found, c.id, c.want)
			continue
		}
		lines := strings.SplitAfter(changed, "\n")
		if at := strings.Join(lines[found[i].Pos.Line-1:], ""); !strings.HasPrefix(strings.TrimLeft(at, " "), c.on) {
			t.Errorf("%s is reported at %q, want %q", c.id, lines[found[i].Pos.Line-1], c.on)
		}
	}
}

// What is known only once the stack is deployed is not judged, nor a role that SAM
// or someone else adds to.
func TestUnknown_IsNotJudged(t *testing.T) {
	tmpl, err := template.Parse([]byte(`
Parameters: {Free: {Type: String}}
Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 60, RedrivePolicy: {deadLetterTargetArn: "arn:aws:sqs:eu-west-1:123456789012:far", maxReceiveCount: 5}}}
  Managed: {Type: AWS::IAM::Role, Properties: {ManagedPolicyArns: [a]}}
  A:
    Type: AWS::Serverless::Function
    Properties:
      Role: !GetAtt Managed.Arn
      Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}}
  B:
    Type: AWS::Serverless::Function
    Properties:
      Role: !ImportValue role
      Timeout: !Ref Free
      Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}}
  C:
    Type: AWS::Serverless::Function
    Properties:
      Role: !ImportValue role
      Events: {E: {Type: SQS, Properties: {Queue: "arn:aws:sqs:eu-west-1:123456789012:far", FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}}
  Alarm: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateAgeOfOldestMessage, Threshold: !Ref Free, Dimensions: [{Name: QueueName, Value: !GetAtt Q.QueueName}]}}
`))
	ok(t, err)
	result := check(t, tmpl, nil)
	if len(result.Findings) > 0 {
		t.Errorf("found %v", result.Findings)
	}
	free := "is not known: parameter Free has no default; give it a value: --parameter-overrides Free=VALUE"
	for want, rules := range map[string][]string{
		"line 15: Timeout " + free:   {"SB105", "SB106"},
		"line 22: Threshold " + free: {"SB501"},
		"line 6: the permissions of function A are not checked: line 5: what the policy a allows is not known": {"SB301", "SB302", "SB303", "SB304", "SB305"},
		"line 17: the permissions of function C are not checked: line 20: Fn::ImportValue has no value":        {"SB301", "SB302", "SB303", "SB304", "SB305"},
		"line 21: queue far is not in the template, and its settings are not checked":                          nil,
	} {
		if i := slices.IndexFunc(result.Unknown, func(u lint.Unknown) bool { return strings.HasPrefix(u.String(), want) && slices.Equal(u.Rules, rules) }); i < 0 {
			t.Errorf("not known: %v, want %s %v", result.Unknown, want, rules)
		}
	}
}
