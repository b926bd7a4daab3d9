package rules_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

// parse parses a template or manifests.
func parse(data []byte) (*template.Template, error) {
	if t, err := template.ParseManifest(data); t != nil || err != nil {
		return t, err
	}
	return template.Parse(data)
}

// stack is a template or a manifest as lint reads it.
func stack(t testing.TB, text string, o template.Options) *template.Stack {
	t.Helper()
	tmpl, err := parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	st, err := tmpl.Stack(o)
	golden.OK(t, err)
	return st
}

// check returns what the rules say about a template.
func check(t testing.TB, text string, o template.Options) rules.Result {
	t.Helper()
	result, err := rules.Check(stack(t, text, o))
	golden.OK(t, err)
	return result
}

func checkText(t testing.TB, text string) rules.Result {
	t.Helper()
	return check(t, text, template.Options{})
}

// summary is what the rules say, in one line each.
func summary(t *testing.T, text string) string {
	t.Helper()
	var lines []string
	result := checkText(t, text)
	for _, f := range result.Findings {
		lines = append(lines, fmt.Sprintf("%s %s %s", f.ID, f.Severity, f.Resource))
	}
	for _, u := range result.Unknown {
		lines = append(lines, fmt.Sprintf("? %s %s", u.Resource, u))
	}
	return strings.Join(lines, "\n")
}

// A deployed is what a case adds to a function with one queue.
type deployed struct{ Name, Queue, Function, Event, More, Want string }

func (d deployed) text(t *testing.T) string {
	indent := func(text string, n int) string {
		if text == "" {
			return ""
		}
		space := strings.Repeat(" ", n)
		return space + strings.ReplaceAll(text, "\n", "\n"+space)
	}
	return strings.NewReplacer("QUEUE", indent(d.Queue, 6), "FUNCTION", indent(d.Function, 6), "EVENT", indent(d.Event, 8), "MORE", indent(d.More, 2)).
		Replace(read(t, "deployed.yaml"))
}

// read reads a file of testdata.
func read(t testing.TB, name string) string {
	t.Helper()
	return strings.ReplaceAll(docpage.Read(t, filepath.Join("testdata", name)), "\r\n", "\n") // as git may write it
}

// What is sure is found, and what is not known is said: never guessed.
func TestCheck_Cases(t *testing.T) {
	var cases []deployed
	golden.OK(t, yaml.Unmarshal([]byte(read(t, "cases.yaml")), &cases))
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			if got := summary(t, c.text(t)); got != c.Want {
				t.Errorf("got\n%s\nwant\n%s", got, c.Want)
			}
		})
	}
}

// What CDK writes: JSON, mappings and policies as resources of their own.
func TestCheck_CDK(t *testing.T) {
	const want = "SB202 warning Queue\nSB303 warning Role\nSB101 error Mapping"
	if got := summary(t, read(t, "cdk.json")); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Outside of the commercial regions ARNs have another partition.
func TestARNs_HaveThePartitionOfTheRegion(t *testing.T) {
	text := deployed{More: `G: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt R.Arn, Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}}}}
R:
  Type: AWS::IAM::Role
  Properties:
    Policies:
      - PolicyDocument:
          Statement:
            - {Effect: Allow, Action: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ChangeMessageVisibility'], Resource: 'arn:aws-us-gov:sqs:us-gov-west-1:123456789012:Q'}
            - {Effect: Allow, Action: 'sqs:SendMessage', Resource: 'arn:aws-us-gov:sqs:us-gov-west-1:123456789012:D'}`}.text(t)
	if found := check(t, text, template.Options{Region: "us-gov-west-1", AccountID: "123456789012"}).Findings; len(found) > 0 {
		t.Error(found)
	}
	if found := check(t, text, template.Options{Region: "us-east-1", AccountID: "123456789012"}).Findings; len(found) == 0 {
		t.Error("permissions on queues of another partition are taken for those on the template's")
	}
}

// The region and the account of a dead-letter queue are compared only if those of the stack are
// given.
func TestDeadLetterQueue_Elsewhere(t *testing.T) {
	text := deployed{More: "X: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: 'arn:aws:sqs:eu-west-1:123456789012:dead', maxReceiveCount: 5}}}"}.text(t)
	for _, c := range []struct {
		region, account string
		want            bool
	}{{"", "", false}, {"eu-west-1", "", false}, {"eu-west-1", "123456789012", false}, {"us-east-1", "", true}, {"", "000000000001", true}} {
		found := check(t, text, template.Options{Region: c.region, AccountID: c.account}).Findings
		if (len(found) > 0) != c.want || c.want && found[0].ID != "SB203" {
			t.Errorf("%+v: %v", c, found)
		}
	}
}

// A dead-letter queue can always be given 14 days.
func TestShortRetention_HasAFix(t *testing.T) {
	f := find(t, deployed{More: "O: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600, RedrivePolicy: {deadLetterTargetArn: !GetAtt P.Arn, maxReceiveCount: 5}}}\nP: {Type: AWS::SQS::Queue}"}.text(t), "SB204")
	if f.Fix == nil || f.Fix.Says != "add MessageRetentionPeriod: 1209600" {
		t.Errorf("%+v", f.Fix)
	}
}

// What grants of CDK contain besides the calls is no excess, nor are permissions in capitals and those for
// batches. What changes a queue is.
func TestGrants_OfCDK(t *testing.T) {
	role := func(actions string) string { return strings.Replace(read(t, "grants.yaml"), "ACTIONS", actions, 1) }
	const grants = "SQS:ChangeMessageVisibility, sqs:GetQueueUrl, sqs:GetQueueAttributes, sqs:DeleteMessageBatch"
	if got := summary(t, role(grants)); got != "" {
		t.Errorf("got %s", got)
	}
	f := find(t, role(grants+", sqs:PurgeQueue"), "SB305")
	if f.Severity != rules.Note || f.Message != "R allows sqs:PurgeQueue on the queue, which is not called by the toolkit" {
		t.Errorf("got %s %s", f.Severity, f)
	}
}

// Messages name resources as the file does: names that depend on the stack's are not in it.
func TestMessages_NameWhatIsInTheFile(t *testing.T) {
	const sub = "QueueName: !Sub '${AWS::StackName}-%'"
	text := deployed{
		Queue:    strings.Replace(sub, "%", "q", 1) + "\nVisibilityTimeout: 5\nFifoThroughputLimit: perMessageGroupId",
		Function: "Environment: {Variables: {SQSBATCH_MAX_RECEIVE_COUNT: 3, SQSBATCH_BACKOFF: exponential}}\nTimeout: 3",
		More: "X: {Type: AWS::SQS::Queue, Properties: {" + strings.Replace(sub, "%", "x", 1) + ", DelaySeconds: 90, RedrivePolicy: {deadLetterTargetArn: !GetAtt Y.Arn, maxReceiveCount: 1}}}\n" +
			"Y: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true, " + strings.Replace(sub, "%", "y.fifo", 1) + ", SqsManagedSseEnabled: false, RedriveAllowPolicy: {redrivePermission: byQueue, sourceQueueArns: ['arn:aws:sqs:eu-west-1:123456789012:z']}}}\n" +
			"G: {Type: AWS::Serverless::Function, Properties: {Events: {E: {Type: SQS, Properties: {Queue: !GetAtt X.Arn}}}}}\n" +
			"A: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateAgeOfOldestMessage, Threshold: 60, Dimensions: [{Name: QueueName, Value: !GetAtt Q.QueueName}]}}\n",
	}.text(t)
	result := checkText(t, text)
	ids := map[string]bool{}
	for _, f := range result.Findings {
		ids[f.ID] = true
		if strings.Contains(f.Message, "local") || strings.Contains(f.Message, "000000000000") {
			t.Errorf("%s %s", f.ID, f)
		}
	}
	for _, id := range []string{"SB106", "SB119", "SB202", "SB203", "SB205", "SB207", "SB214", "SB216", "SB501", "SB502", "SB503"} {
		if !ids[id] {
			t.Errorf("no %s in %v", id, result.Findings)
		}
	}
	if f := find(t, text, "SB205"); f.Message != "dead-letter queue Y does not take messages of X: its RedriveAllowPolicy does not name it" {
		t.Error(f.Message)
	}
}

// Aliases that multiply in a resource that is not about queues do not keep the queues from being checked.
func TestCheck_AliasesElsewhere(t *testing.T) {
	var text strings.Builder
	text.WriteString("Metadata:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 8 {
		fmt.Fprintf(&text, "  a%d: &a%d [*a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d, *a%[3]d]\n", i+1, i+1, i)
	}
	text.WriteString("Resources:\n  T: {Type: AWS::SNS::Topic, Properties: {Subscription: [], Other: *a8}}\n  Q: {Type: AWS::SQS::Queue}\n")
	if got := summary(t, text.String()); got != "SB215 note Q" {
		t.Errorf("got %s", got)
	}
}

// What is known only once the stack is deployed is not judged, nor a role that SAM
// or someone else adds to.
func TestUnknown_IsNotJudged(t *testing.T) {
	result := checkText(t, read(t, "unknown.yaml"))
	if len(result.Findings) > 0 {
		t.Errorf("found %v", result.Findings)
	}
	free := "is not known: parameter Free has no default; give it a value: --parameter-overrides Free=VALUE"
	for want, ids := range map[string][]string{
		"line 15: Timeout " + free:   {"SB105", "SB106"},
		"line 22: Threshold " + free: {"SB501"},
		"line 5: not all permissions of Managed are known: what the policy a allows is not known":       {"SB301", "SB302", "SB303", "SB305"},
		"line 17: the permissions of function C are not checked: line 20: Fn::ImportValue has no value": {"SB301", "SB302", "SB303", "SB304", "SB305", "SB307"},
		"line 21: queue far is not in the template, and its settings are not checked":                   nil,
	} {
		if i := slices.IndexFunc(result.Unknown, func(u rules.Unknown) bool { return strings.HasPrefix(u.String(), want) && slices.Equal(u.Rules, ids) }); i < 0 {
			t.Errorf("not known: %v, want %s %v", result.Unknown, want, ids)
		}
	}
}

var root = filepath.Join("..", "..", "..", "..")

// ours are the templates with a function that users deploy, with their samconfig.toml next to
// them.
var ours = []string{root, filepath.Join(root, "starter", "{{cookiecutter.project_name}}")}

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
	config := docpage.Read(t, filepath.Join(dir, "samconfig.toml"))
	overrides := regexp.MustCompile(`(?m)^parameter_overrides = "(.+)"$`).FindAllStringSubmatch(config, -1)
	if len(overrides) < 2 {
		t.Fatalf("samconfig.toml sets parameters in %d environments", len(overrides))
	}
	for _, line := range overrides {
		set := map[string]string{}
		for _, pair := range strings.Fields(line[1]) {
			name, value, _ := strings.Cut(pair, "=")
			set[name] = value
		}
		all = append(all, set)
	}
	return all
}

// What can be chosen has none of the mistakes, and everything is known.
func TestDeployedTemplates_HaveNoFinding(t *testing.T) {
	for _, dir := range ours {
		text := docpage.Read(t, filepath.Join(dir, "template.yaml"))
		for _, parameters := range choices(t, dir) {
			if result := check(t, text, template.Options{Parameters: parameters}); len(result.Findings) > 0 || len(result.Unknown) > 0 {
				t.Errorf("with %v: %v; not known: %v", parameters, result.Findings, result.Unknown)
			}
		}
	}
}

// Aliases that multiply take no more memory than their text.
func TestCheck_AliasBomb(t *testing.T) {
	text := []byte(bomb(40))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	checked(t, text)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<30 {
		t.Errorf("%d MB were allocated", grown>>20)
	}
}

// A queue of the examples with a finding, and what is before it.
const short = `Resources:
  Q:
    Type: AWS::SQS::Queue%s
    Properties:%s
      VisibilityTimeout: 30%s
      RedrivePolicy: {deadLetterTargetArn: "arn:aws:sqs:eu-west-1:123456789012:far", maxReceiveCount: 5}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 10
      Role: !ImportValue role
      Events:
        E:
          Type: SQS
          Properties:
            Queue: !GetAtt Q.Arn
            FunctionResponseTypes: [ReportBatchItemFailures]
            MetricsConfig: {Metrics: [EventCount]}
`

// A suppression is in the metadata of the resource or the template, or in a comment on the
// line or above it. It has a reason, and something to suppress.
func TestSuppressions(t *testing.T) {
	metadata := func(ignore string) string {
		return "\n    Metadata: {sqsbatch: {ignore: {" + ignore + "}}}"
	}
	for name, c := range map[string]struct {
		text       string
		suppressed string // "ID reason"
		found      string // "ID line", in the order of the file
	}{
		"nothing":                  {fmt.Sprintf(short, "", "", ""), "", "SB106 5"},
		"metadata":                 {fmt.Sprintf(short, metadata("SB106: why not"), "", ""), "SB106 why not", ""},
		"metadata of the template": {"Metadata: {sqsbatch: {ignore: {SB106: why not}}}\n" + fmt.Sprintf(short, "", "", ""), "SB106 why not", ""},
		"metadata elsewhere":       {strings.Replace(fmt.Sprintf(short, "", "", ""), "    Type: AWS::Serverless", "    Metadata: {sqsbatch: {ignore: {SB106: why}}}\n    Type: AWS::Serverless", 1), "", "SB106 5, SB001 8"},
		"on the line":              {fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB106 why not"), "SB106 why not", ""},
		"above":                    {fmt.Sprintf(short, "", "\n      # sqsbatch:ignore SB106 why not", ""), "SB106 why not", ""},
		"above another comment":    {fmt.Sprintf(short, "", "\n      # sqsbatch:ignore SB106 why not\n      # Half a minute.", ""), "SB106 why not", ""},
		"too far":                  {fmt.Sprintf(short, "", "\n      # sqsbatch:ignore SB106 why not\n", ""), "", "SB001 5, SB106 7"},
		"no reason":                {fmt.Sprintf(short, metadata(`SB106: ""`), "", ""), "", "SB002 4, SB106 6"},
		"no reason in a comment":   {fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB106"), "", "SB106 5, SB002 5"},
		"no such rule":             {fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB999 why"), "", "SB106 5, SB002 5"},
		"no rule":                  {fmt.Sprintf(short, "", "", " # sqsbatch:ignore"), "", "SB106 5, SB002 5"},
		"another rule":             {fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB105 why"), "", "SB106 5, SB001 5"},
		"in a text":                {fmt.Sprintf(short, "", "\n      Tags: [{Key: a, Value: 'x # sqsbatch:ignore SB106 why'}]", ""), "", "SB106 6"},
		"before the template":      {"# sqsbatch:ignore SB999 why\n" + fmt.Sprintf(short, "", "", ""), "", "SB002 1, SB106 6"},
		"in a block":               {"Description: |\n  # sqsbatch:ignore SB106 why\n" + fmt.Sprintf(short, "", "", ""), "", "SB106 7"},
	} {
		t.Run(name, func(t *testing.T) {
			result := checkText(t, c.text)
			var suppressed, found []string
			for _, s := range result.Suppressed {
				suppressed = append(suppressed, s.ID+" "+s.Reason)
				if s.By.Line == 0 {
					t.Errorf("%v has no place", s)
				}
			}
			for _, f := range result.Findings {
				found = append(found, fmt.Sprint(f.ID, " ", f.Pos.Line))
			}
			if got := strings.Join(found, ", "); strings.Join(suppressed, ", ") != c.suppressed || got != c.found {
				t.Errorf("suppressed %v, want %s; found %s, want %s\n%s", suppressed, c.suppressed, got, c.found, c.text)
			}
		})
	}
}

// A suppression of a rule that could not be checked is not reported as without effect.
func TestSuppressions_OfWhatIsNotKnown(t *testing.T) {
	text := "Parameters: {T: {Type: Number}}\n" + strings.Replace(fmt.Sprintf(short, "", "", " # sqsbatch:ignore SB106 why"), "Timeout: 10", "Timeout: !Ref T", 1)
	if result := checkText(t, text); len(result.Findings) > 0 || len(result.Suppressed) > 0 {
		t.Errorf("%+v", result)
	}
}
