package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

// check returns what the rules say about a template.
func check(t testing.TB, text string, o template.Options) lint.Result {
	t.Helper()
	tmpl, err := template.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	st, err := tmpl.Stack(o)
	ok(t, err)
	result, err := lint.Check(st)
	ok(t, err)
	return result
}

func checkText(t testing.TB, text string) lint.Result {
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

// A function with one queue, and what each case adds.
func deployedWith(queue, function, event, more string) string {
	return `Parameters: {Free: {Type: String}}
Conditions:
  Open: !Equals [!Ref Free, a]
  Yes: !Equals [a, a]
Resources:
  Q:
    Type: AWS::SQS::Queue
    Properties:
      RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}
` + queue + `
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Policies: [{SQSPollerPolicy: {QueueName: !GetAtt Q.QueueName}}, {SQSSendMessagePolicy: {QueueName: !GetAtt D.QueueName}}]
` + function + `
      Events:
        E:
          Type: SQS
          Properties:
            Queue: !GetAtt Q.Arn
            FunctionResponseTypes: [ReportBatchItemFailures]
            MetricsConfig: {Metrics: [EventCount]}
` + event + "\n" + more
}

// ok fails the test if err is not nil.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What is sure is found, and what is not known is said: never guessed.
func TestCheck_Cases(t *testing.T) {
	alarms := func(queue, more string) string {
		return strings.Replace(`  A: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateAgeOfOldestMessage, Threshold: 1410, Dimensions: [{Name: QueueName, Value: !GetAtt %.QueueName}]}}
  B: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateNumberOfMessagesVisible, Dimensions: [{Name: QueueName, Value: !GetAtt D.QueueName}]}}
  C: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateAgeOfOldestMessage, Dimensions: [{Name: QueueName, Value: !GetAtt Q.QueueName}]}}
`, "%", queue, 1) + more
	}
	const other = "  O: {Type: AWS::SQS::Queue}\n"
	for name, c := range map[string]struct{ queue, function, event, more, want string }{
		"clean":                        {},
		"a name by a parameter":        {queue: "      QueueName: !Sub '${Free}-q'"},
		"a name by a parameter, short": {queue: "      QueueName: !Sub '${Free}-q'\n      VisibilityTimeout: 1", want: "SB105 error Q"},
		"maxReceiveCount of 1": {queue: "  R: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 1, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 1}}}",
			want: "SB202 warning R"},
		"a queue whose condition is open": {queue: "      VisibilityTimeout: 60", more: "  X: {Type: AWS::SQS::Queue, Condition: Open}",
			want: "? X line 25: X is not checked, since it is not known whether it is created: line 3: parameter Free has no default; give it a value: --parameter-overrides Free=VALUE"},
		"a macro": {more: "  'Fn::ForEach::Queues': [N, [a], {'${N}': {Type: AWS::SQS::Queue}}]",
			want: "? Fn::ForEach::Queues line 25: Fn::ForEach::Queues is not checked: it has no Type, or is expanded when the stack is deployed"},
		"a filter that may be absent":                                    {event: "            FilterCriteria: {Filters: [!If [Yes, !Ref AWS::NoValue, {Pattern: '{}'}], !If [Yes, {Pattern: '{}'}, !Ref AWS::NoValue]]}"},
		"a dead-letter queue of the function's, with one of the queue's": {function: "      DeadLetterQueue: {Type: SQS, TargetArn: !GetAtt D.Arn}"},
		"sum of two mappings": {function: "      ReservedConcurrentExecutions: 10", event: "            ScalingConfig: {MaximumConcurrency: 6}\n        G: {Type: SQS, Properties: {Queue: !GetAtt Q2.Arn, ScalingConfig: {MaximumConcurrency: 5}, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}",
			more: "  Q2: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}",
			want: "SB302 warning F\nSB109 warning F"},
		"a pipe polls":            {more: "  P: {Type: AWS::Pipes::Pipe, Properties: {Source: !GetAtt O.Arn}}\n  O: {Type: AWS::SQS::Queue}"},
		"others poll":             {more: "  O: {Type: AWS::SQS::Queue}", want: "SB215 note O"},
		"perMessageGroupId alone": {queue: "      FifoQueue: true\n      FifoThroughputLimit: perMessageGroupId", want: "SB203 error Q\nSB209 error Q"},
		"delay beyond retention":  {queue: "      DelaySeconds: 100\n      MessageRetentionPeriod: 60", want: "SB216 error Q\nSB207 warning Q"},
		"AWS's key and a topic": {queue: "      KmsMasterKeyId: alias/aws/sqs", more: "  S: {Type: AWS::SNS::Subscription, Properties: {Protocol: sqs, Endpoint: !GetAtt Q.Arn}}",
			want: "SB306 error Q"},
		"a key elsewhere and a bucket": {queue: "      KmsMasterKeyId: arn:aws:kms:eu-west-1:123456789012:key/1", function: "      Environment: {Variables: {A: b}}", more: "  B: {Type: AWS::S3::Bucket, Properties: {NotificationConfiguration: {QueueConfigurations: [{Event: e, Queue: !GetAtt Q.Arn}]}}}",
			want: "SB304 warning F\n? Q line 10: the policy of the key of queue Q is not in the template: whether s3.amazonaws.com may use it is not known"},
		"a policy that is not known": {function: "      AutoPublishAlias: live", more: "  G: {Type: AWS::Serverless::Function, Properties: {Policies: [!Ref Free], Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}}}}",
			want: "? G line 25: the permissions of function G are not checked: parameter Free has no default; give it a value: --parameter-overrides Free=VALUE"},
		"an alarm whose queue is not known": {more: "  A: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: m, Dimensions: [{Name: QueueName, Value: !Ref Free}]}}"},
		"an alarm of an expression": {more: "  A: {Type: AWS::CloudWatch::Alarm, Properties: {Metrics: [{MetricStat: {Metric: {MetricName: ApproximateAgeOfOldestMessage, Dimensions: [{Name: QueueName, Value: !GetAtt Q.QueueName}]}}}]}}",
			want: "SB503 warning D"},
		"a mapping of a stream": {more: "  T: {Type: AWS::DynamoDB::Table}\n  M: {Type: AWS::Lambda::EventSourceMapping, Properties: {EventSourceArn: !GetAtt T.StreamArn, FunctionName: !Ref F}}"},
		"a mapping of what is not known": {more: "  M: {Type: AWS::Lambda::EventSourceMapping, Properties: {EventSourceArn: !Ref Free, FunctionName: !Ref F}}",
			want: "? M line 25: mapping M is not checked, since its source is not known: parameter Free has no default; give it a value: --parameter-overrides Free=VALUE"},
		"a mapping to an alias": {more: "  L: {Type: AWS::Lambda::Alias, Properties: {FunctionName: !Ref F}}\n  M: {Type: AWS::Lambda::EventSourceMapping, Properties: {EventSourceArn: !GetAtt Q.Arn, FunctionName: !Ref L, MetricsConfig: {Metrics: [EventCount]}}}",
			want: "SB101 error M"},
		"a mapping to a function elsewhere": {more: "  M: {Type: AWS::Lambda::EventSourceMapping, Properties: {EventSourceArn: !GetAtt Q.Arn, FunctionName: far, MetricsConfig: {Metrics: [EventCount]}}}",
			want: "? M line 25: mapping M has no ReportBatchItemFailures, and its function, which may have SQSBATCH_DELETE_SUCCEEDED=true, is not in the template\n" +
				"? M line 25: the function of mapping M is not in the template, and its settings are not checked"},
		"a wait of more than 12 hours": {queue: "      VisibilityTimeout: 32700\n  R: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 32700, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 2}}}",
			function: "      Timeout: 5400\n      CapacityProviderConfig: {A: b}\n      Environment: {Variables: {SQSBATCH_OUTAGE: 7h}}",
			event:    "        G: {Type: SQS, Properties: {Queue: !GetAtt R.Arn, MaximumBatchingWindowInSeconds: 300, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}",
			want:     "SB202 warning R\nSB207 warning R\nSB302 warning F"},
		"a connector": {more: "  G: {Type: AWS::Serverless::Function, Connectors: {C: {Properties: {Destination: {Id: Q}, Permissions: [Read]}}}, Properties: {Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}}}}",
			want: "? F line 12: the permissions of function F are not checked: the connectors of G add permissions\n" +
				"? G line 25: the permissions of function G are not checked: the connectors of G add permissions"},
		"a queue policy that names the role": {more: "  G: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt R.Arn, Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}}}}\n" +
			"  R: {Type: AWS::IAM::Role}\n  P: {Type: AWS::SQS::QueuePolicy, Properties: {PolicyDocument: {Statement: [{Effect: Allow, Principal: {AWS: !GetAtt R.Arn}, Action: 'sqs:*'}, {Effect: Deny, Principal: '*', Condition: {Bool: {'aws:SecureTransport': false}}}]}}}",
			want: "? G line 25: the permissions of function G are not checked: the policy of a queue names the role"},
		"a queue by a parameter": {event: "        G: {Type: SQS, Properties: {Queue: !Ref Free, BatchSize: 11, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}",
			want: "SB102 error F\n? F line 24: whether event G polls a FIFO queue is not known\n" +
				"? F line 24: the queue of event G is not known, and its settings are not checked: parameter Free has no default; give it a value: --parameter-overrides Free=VALUE"},
		"a paused function": {function: "      ReservedConcurrentExecutions: 0", event: "            ScalingConfig: {MaximumConcurrency: 5}"},
		"a dead-letter queue that names a queue elsewhere": {more: "  X: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: !GetAtt Y.Arn, maxReceiveCount: 5}}}\n  Y: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600, RedriveAllowPolicy: {redrivePermission: byQueue, sourceQueueArns: ['arn:aws:sqs:eu-west-1:123456789012:x']}}}",
			want: "? Y line 26: whether dead-letter queue Y takes messages of X is not known: the queue gets its name when the stack is deployed"},
		"a dead-letter queue that names the queue": {more: "  X: {Type: AWS::SQS::Queue, Properties: {QueueName: x, ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: !GetAtt Y.Arn, maxReceiveCount: 5}}}\n  Y: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600, RedriveAllowPolicy: {redrivePermission: byQueue, sourceQueueArns: ['arn:aws:sqs:eu-west-1:123456789012:x']}}}"},
		"retries in another language":              {queue: "      VisibilityTimeout: 7200\n      MessageRetentionPeriod: 25200", function: "      Runtime: python3.14\n      Timeout: 900", want: "SB207 warning Q"},
		"retries in another language, in time":     {queue: "      VisibilityTimeout: 7200\n      MessageRetentionPeriod: 30000", function: "      Runtime: python3.14\n      Timeout: 900"},
		"time to start a record":                   {function: "      Timeout: 5\n      Environment: {Variables: {SQSBATCH_MIN_REMAINING: 3999ms, SQSBATCH_RESERVE: 1s}}"},
		"no time to start a record":                {function: "      Timeout: 5\n      Environment: {Variables: {SQSBATCH_MIN_REMAINING: 4s, SQSBATCH_RESERVE: 1s}}", want: "SB114 error F"},
		"a destination of failures in place of a dead-letter queue": {more: "  R: {Type: AWS::SQS::Queue}\n  G:\n    Type: AWS::Serverless::Function\n    Properties:\n      Runtime: python3.14\n      EventInvokeConfig: {DestinationConfig: {OnFailure: {Destination: !GetAtt D.Arn}}}\n" +
			"      Events: {E: {Type: SQS, Properties: {Queue: !GetAtt R.Arn, FunctionResponseTypes: [ReportBatchItemFailures], MetricsConfig: {Metrics: [EventCount]}}}}",
			want: "SB201 warning R\nSB111 warning G"},
		"backoff of seconds":      {function: "      Environment: {Variables: {SQSBATCH_BACKOFF: constant}}", want: "SB207 note Q"},
		"public with a condition": {more: "  P: {Type: AWS::SQS::QueuePolicy, Properties: {PolicyDocument: {Statement: {Effect: Deny, Principal: '*', Condition: {Bool: {'aws:SecureTransport': false}}}}}}"},

		// Settings of public templates that looked like mistakes.
		"an alarm on the age of dead letters":           {more: alarms("D", "")},
		"an alarm on a queue without dead letters":      {more: alarms("O", "  O: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20}}")},
		"an alarm on a queue without retries":           {more: alarms("O", "  O: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 1}}}"), want: "SB202 warning O"},
		"an alarm on a queue that others poll":          {more: alarms("O", "  O: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}"), want: "SB501 note A"},
		"an alarm on the queue":                         {more: alarms("Q", ""), want: "SB501 warning A"},
		"dead letters of a subscription":                {more: other + "  S: {Type: AWS::SNS::Subscription, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt O.Arn}}}"},
		"dead letters of a function":                    {more: other + "  G: {Type: AWS::Lambda::Function, Properties: {DeadLetterConfig: {TargetArn: !GetAtt O.Arn}}}"},
		"dead letters of a function of SAM's":           {more: other + "  G: {Type: AWS::Serverless::Function, Properties: {DeadLetterQueue: {Type: SQS, TargetArn: !GetAtt O.Arn}}}"},
		"dead letters of a schedule":                    {more: other + "  G: {Type: AWS::Serverless::Function, Properties: {Events: {E: {Type: ScheduleV2, Properties: {DeadLetterConfig: {Arn: !GetAtt O.Arn}}}}}}"},
		"dead letters of a rule":                        {more: other + "  R: {Type: AWS::Events::Rule, Properties: {Targets: [{Arn: a, DeadLetterConfig: {Arn: !GetAtt O.Arn}}]}}"},
		"failures of a stream":                          {more: other + "  M: {Type: AWS::Lambda::EventSourceMapping, Properties: {EventSourceArn: 'arn:aws:kinesis:eu-west-1:123456789012:stream/s', DestinationConfig: {OnFailure: {Destination: !GetAtt O.Arn}}}}"},
		"dead letters of another template":              {more: "  FailedDLQ: {Type: AWS::SQS::Queue}\n  O: {Type: AWS::SQS::Queue, Properties: {QueueName: orders-dead-letters}}"},
		"a destination of successes":                    {more: other + "  M: {Type: AWS::Lambda::EventInvokeConfig, Properties: {DestinationConfig: {OnSuccess: {Destination: !GetAtt O.Arn}}}}", want: "SB215 note O"},
		"dead letters that are handled":                 {more: other + "  S: {Type: AWS::SNS::Subscription, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt O.Arn}}}", event: "        G: {Type: SQS, Properties: {Queue: !GetAtt O.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}", want: "SB302 warning F"},
		"both queues keep messages as long as they can": {queue: "      MessageRetentionPeriod: 1209600"},
		"the source keeps messages as long as it can":   {more: "  O: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600, ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: !GetAtt P.Arn, maxReceiveCount: 5}}}\n  P: {Type: AWS::SQS::Queue}", want: "SB204 warning P"},
		"another language":                              {function: "      Runtime: python3.14", event: "        G: {Type: SQS, Properties: {Queue: !GetAtt O.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}", more: "  O: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}"},
		"no filter and no metrics":                      {event: "        G: {Type: SQS, Properties: {Queue: !GetAtt O.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}", more: "  O: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}", want: "SB302 warning F"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := summary(t, deployedWith(c.queue, c.function, c.event, c.more)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// What CDK writes: JSON, mappings and policies as resources of their own.
func TestCheck_CDK(t *testing.T) {
	const text = `{"Resources": {
  "Queue": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 18, "RedrivePolicy": {"deadLetterTargetArn": {"Fn::GetAtt": ["Dead", "Arn"]}, "maxReceiveCount": 3}}},
  "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"MessageRetentionPeriod": 1209600}},
  "Role": {"Type": "AWS::IAM::Role", "Properties": {"ManagedPolicyArns": [{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]]}]}},
  "Policy": {"Type": "AWS::IAM::Policy", "Properties": {"Roles": [{"Ref": "Role"}], "PolicyDocument": {"Statement": [
    {"Effect": "Allow", "Action": ["sqs:ReceiveMessage", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes"], "Resource": {"Fn::GetAtt": ["Queue", "Arn"]}}]}}},
  "Function": {"Type": "AWS::Lambda::Function", "Properties": {"Role": {"Fn::GetAtt": ["Role", "Arn"]}}},
  "Mapping": {"Type": "AWS::Lambda::EventSourceMapping", "Properties": {"EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]}, "FunctionName": {"Ref": "Function"}}}
}}`
	const want = "SB202 warning Queue\nSB303 warning Role\nSB101 error Mapping"
	if got := summary(t, text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The region and the account of a dead-letter queue are compared only if those of the stack are
// given.
func TestDeadLetterQueue_Elsewhere(t *testing.T) {
	text := deployedWith("", "", "", "  X: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: 'arn:aws:sqs:eu-west-1:123456789012:dead', maxReceiveCount: 5}}}")
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
	f := find(t, deployedWith("", "", "", "  O: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600, RedrivePolicy: {deadLetterTargetArn: !GetAtt P.Arn, maxReceiveCount: 5}}}\n  P: {Type: AWS::SQS::Queue}"), "SB204")
	if f.Fix == nil || f.Fix.Says != "add MessageRetentionPeriod: 1209600" {
		t.Errorf("%+v", f.Fix)
	}
}

// What grants of CDK contain besides the calls is no excess, nor are permissions in capitals and those for
// batches. What changes a queue is.
func TestGrants_OfCDK(t *testing.T) {
	role := func(actions string) string {
		return strings.Replace(`Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 18, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
  R:
    Type: AWS::IAM::Role
    Properties:
      ManagedPolicyArns: [arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]
      Policies:
        - PolicyDocument:
            Statement:
              - {Effect: Allow, Action: [sqs:ReceiveMessage, ACTIONS, sqs:DeleteMessage], Resource: !GetAtt Q.Arn}
              - {Effect: Allow, Action: [sqs:SendMessage, sqs:GetQueueAttributes, sqs:GetQueueUrl], Resource: !GetAtt D.Arn}
  F: {Type: AWS::Serverless::Function, Properties: {Role: !GetAtt R.Arn, Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}}}}
`, "ACTIONS", actions, 1)
	}
	const grants = "SQS:ChangeMessageVisibility, sqs:GetQueueUrl, sqs:GetQueueAttributes, sqs:DeleteMessageBatch"
	if got := summary(t, role(grants)); got != "" {
		t.Errorf("got %s", got)
	}
	f := find(t, role(grants+", sqs:PurgeQueue"), "SB305")
	if f.Severity != lint.Note || f.Message != "R allows sqs:PurgeQueue on the queue, which is not called by the toolkit" {
		t.Errorf("got %s %s", f.Severity, f)
	}
}

// Messages name resources as the file does: names that depend on the stack's are not in it.
func TestMessages_NameWhatIsInTheFile(t *testing.T) {
	const sub = "QueueName: !Sub '${AWS::StackName}-%'"
	text := deployedWith("      "+strings.Replace(sub, "%", "q", 1)+"\n      VisibilityTimeout: 5\n      FifoThroughputLimit: perMessageGroupId",
		"      Environment: {Variables: {SQSBATCH_MAX_RECEIVE_COUNT: 3, SQSBATCH_BACKOFF: constant}}\n      Timeout: 3", "",
		"  X: {Type: AWS::SQS::Queue, Properties: {"+strings.Replace(sub, "%", "x", 1)+", DelaySeconds: 90, RedrivePolicy: {deadLetterTargetArn: !GetAtt Y.Arn, maxReceiveCount: 1}}}\n"+
			"  Y: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true, "+strings.Replace(sub, "%", "y.fifo", 1)+", SqsManagedSseEnabled: false, RedriveAllowPolicy: {redrivePermission: byQueue, sourceQueueArns: ['arn:aws:sqs:eu-west-1:123456789012:z']}}}\n"+
			"  G: {Type: AWS::Serverless::Function, Properties: {Events: {E: {Type: SQS, Properties: {Queue: !GetAtt X.Arn}}}}}\n"+
			"  A: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateAgeOfOldestMessage, Threshold: 60, Dimensions: [{Name: QueueName, Value: !GetAtt Q.QueueName}]}}\n")
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
	result := checkText(t, `
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
`)
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

// What can be chosen has none of the mistakes, and everything is known.
func TestDeployedTemplates_HaveNoFinding(t *testing.T) {
	for _, dir := range deployed {
		text, err := os.ReadFile(filepath.Join(dir, "template.yaml"))
		ok(t, err)
		for _, parameters := range choices(t, dir) {
			if result := check(t, string(text), template.Options{Parameters: parameters}); len(result.Findings) > 0 || len(result.Unknown) > 0 {
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
