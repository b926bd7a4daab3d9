package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/lint"
	"github.com/sqsbatch/sqsbatch/internal/template"
)

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

// What is sure is found, and what is not known is said: never guessed.
func TestCheck_Cases(t *testing.T) {
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
	} {
		t.Run(name, func(t *testing.T) {
			text := deployedWith(c.queue, c.function, c.event, c.more)
			if got := summary(t, text); got != c.want {
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
	tmpl, err := template.Parse([]byte(text))
	ok(t, err)
	for _, c := range []struct {
		region, account string
		want            bool
	}{{"", "", false}, {"eu-west-1", "", false}, {"eu-west-1", "123456789012", false}, {"us-east-1", "", true}, {"", "000000000001", true}} {
		st, err := tmpl.Stack(template.Options{Region: c.region, AccountID: c.account})
		ok(t, err)
		result, err := lint.Check(st)
		if err != nil || (len(result.Findings) > 0) != c.want || c.want && result.Findings[0].ID != "SB203" {
			t.Errorf("%+v: %v, %v", c, result.Findings, err)
		}
	}
}
