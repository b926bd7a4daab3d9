package template_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

func queues(t *testing.T, text string, o template.Options) (names []string, all []template.Queue, warnings string, err error) {
	t.Helper()
	tmpl, err := template.Parse([]byte(text))
	ok(t, err)
	st, err := tmpl.Stack(o)
	if err != nil {
		return nil, nil, "", err
	}
	all, found, err := st.Queues()
	for _, q := range all {
		names = append(names, q.Name)
	}
	return names, all, fmt.Sprint(found), err
}

// TestQueuesWithoutAFunction: a template that has queues and no function is
// none for Resolve; Queues reads it, dead-letter queues first.
func TestQueuesWithoutAFunction(t *testing.T) {
	const text = `
Parameters: {Stage: {Type: String, Default: dev}, Free: {Type: String}}
Resources:
  Orders:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub "orders-${Stage}"
      VisibilityTimeout: 60
      RedrivePolicy: {deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}
  Dead: {Type: AWS::SQS::Queue, Properties: {QueueName: dead}}
  Far:
    Type: AWS::SQS::Queue
    Properties: {FifoQueue: true, RedrivePolicy: {deadLetterTargetArn: "arn:aws:sqs:eu-west-1:123456789012:far-dead.fifo", maxReceiveCount: 1}}
  Odd: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref Free}}
`
	names, all, warnings, err := queues(t, text, template.Options{Region: "eu-west-1", AccountID: "123456789012"})
	ok(t, err)
	if want := []string{"dead", "orders-dev", "far-dead.fifo", "Far.fifo"}; !slices.Equal(names, want) {
		t.Errorf("queues %v, want %v", names, want)
	}
	if q := all[1]; q.Attributes["VisibilityTimeout"] != "60" || q.DeadLetterARN != "arn:aws:sqs:eu-west-1:123456789012:dead" || q.MaxReceiveCount != 3 {
		t.Errorf("%+v", q)
	}
	for _, want := range []string{"queue Odd is not created", "parameter Free has no default", "far-dead.fifo is not in the template"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning says %q:\n%s", want, warnings)
		}
	}

	names, _, warnings, err = queues(t, text, template.Options{Parameters: map[string]string{"Free": "free", "Stage": "x"}})
	if err != nil || !slices.Contains(names, "free") || !slices.Contains(names, "orders-x") || strings.Contains(warnings, "Odd") {
		t.Errorf("queues %v, error %v, warnings %s", names, err, warnings)
	}
}

func TestQueuesThatCannotBeRead(t *testing.T) {
	tests := []struct{ name, resources, err string }{
		{"a dead-letter queue", `
  A: {Type: AWS::SQS::Queue, Properties: {RedrivePolicy: {deadLetterTargetArn: !GetAtt B.Arn, maxReceiveCount: 3}}}
  B: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: !ImportValue x}}`, "Fn::ImportValue has no value"},
		{"a condition", `
  A: {Type: AWS::SQS::Queue, Condition: Nope}`, "Conditions has no Nope"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, _, err := queues(t, "Resources:"+tt.resources, template.Options{}); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
	if _, _, _, err := queues(t, "Resources: {}", template.Options{Parameters: map[string]string{"X": "1"}}); err == nil || !strings.Contains(err.Error(), "no parameter X") {
		t.Errorf("error %v", err)
	}
}
