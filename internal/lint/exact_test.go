package lint_test

import (
	"fmt"
	"strings"
	"testing"
)

// Settings of public templates that looked like mistakes, and are none.
func TestCheck_WhatIsNoMistake(t *testing.T) {
	const alarm = "  A: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateAgeOfOldestMessage, Threshold: 60, Dimensions: [{Name: QueueName, Value: !GetAtt %.QueueName}]}}\n" +
		"  B: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateNumberOfMessagesVisible, Dimensions: [{Name: QueueName, Value: !GetAtt D.QueueName}]}}\n" +
		"  C: {Type: AWS::CloudWatch::Alarm, Properties: {MetricName: ApproximateAgeOfOldestMessage, Dimensions: [{Name: QueueName, Value: !GetAtt Q.QueueName}]}}\n"
	on := func(queue, more string) string { return strings.Replace(alarm, "%", queue, 1) + more }
	const other = "  O: {Type: AWS::SQS::Queue}\n"
	for name, c := range map[string]struct{ queue, function, event, more, want string }{
		"an alarm on the age of dead letters":           {more: on("D", "")},
		"an alarm on a queue without dead letters":      {more: on("O", "  O: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20}}")},
		"an alarm on a queue without retries":           {more: on("O", "  O: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 1}}}"), want: "SB202 warning O"},
		"an alarm on a queue that others poll":          {more: on("O", "  O: {Type: AWS::SQS::Queue, Properties: {ReceiveMessageWaitTimeSeconds: 20, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}"), want: "SB501 note A"},
		"an alarm on the queue":                         {more: on("Q", ""), want: "SB501 warning A"},
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
	if got := summary(t, role(grants+", sqs:PurgeQueue")); got != "SB305 note R" {
		t.Errorf("got %s", got)
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

// Whether records are lost depends on what the function returns.
func TestUnreported_SaysWhen(t *testing.T) {
	f := find(t, example(t, "SB101", "bad"), "SB101")
	const want = "if the function returns batchItemFailures, as the toolkit does, Lambda ignores them and deletes those records with the rest of the batch"
	if !strings.Contains(f.Message, want) || !strings.Contains(f.Why, "returns an error instead, nothing is deleted") {
		t.Errorf("%s: %s", f.Message, f.Why)
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

// ok fails the test if err is not nil.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
