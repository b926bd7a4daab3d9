package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A permission that is not known silences only what depends on it.
func TestRole_IsKnownInPart(t *testing.T) {
	const text = `Resources:
  Q: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 180, RedrivePolicy: {deadLetterTargetArn: !GetAtt D.Arn, maxReceiveCount: 5}}}
  D: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
  F:
    Type: AWS::Serverless::Function
    Properties:
      Policies:
      - Statement:
        - {Effect: Allow, Action: 'sqs:*', Resource: '*'}
      - %s
      Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}}
`
	without := strings.Replace(text, "sqs:*', Resource: '*'", "sqs:SendMessage', Resource: !GetAtt Q.Arn", 1)
	for name, tt := range map[string]struct {
		text, policy   string
		found, unknown []string // of SB302, SB303 and SB305
	}{
		"an action of another service": {without, "Statement: [{Effect: Allow, Action: 'dynamodb:*', Resource: !ImportValue t}]", []string{"SB302", "SB303", "SB305"}, []string{"SB305"}},
		"a queue of another stack":     {without, "Statement: [{Effect: Allow, Action: 'sqs:SendMessage', Resource: !ImportValue t}]", []string{"SB302", "SB305"}, []string{"SB303", "SB305"}},
		"an action by an import":       {without, "Statement: [{Effect: Allow, Action: [!ImportValue a, 'sqs:ChangeMessageVisibility'], Resource: !GetAtt Q.Arn}]", []string{"SB303", "SB305"}, []string{"SB305"}},
		"a condition":                  {without, "Statement: [{Effect: Allow, Action: 'sqs:SendMessage', Resource: '*', Condition: {}}]", []string{"SB302", "SB305"}, []string{"SB303", "SB305"}},
		"a whole policy":               {without, "!ImportValue p", []string{"SB305"}, []string{"SB302", "SB303", "SB305"}},
		"all is allowed otherwise":     {text, "!ImportValue p", []string{"SB305"}, []string{"SB305"}},
		"a policy of another service":  {without, "SQSSendMessagePolicy: {QueueName: !ImportValue q}", []string{"SB302", "SB305"}, []string{"SB303", "SB305"}},
		"something is denied":          {text, "Statement: [{Effect: Deny, Action: 'sqs:SendMessage', Resource: '*'}]", nil, []string{"SB302", "SB303", "SB305"}},
	} {
		result := checkText(t, fmt.Sprintf(tt.text, tt.policy))
		var found, unknown []string
		judged := []string{"SB302", "SB303", "SB305"}
		for _, f := range result.Findings {
			if slices.Contains(judged, f.ID) && !slices.Contains(found, f.ID) {
				found = append(found, f.ID)
			}
		}
		for _, u := range result.Unknown {
			for _, id := range u.Rules {
				if slices.Contains(judged, id) {
					unknown = append(unknown, id)
				}
			}
		}
		slices.Sort(found)
		if !slices.Equal(found, tt.found) || !slices.Equal(unknown, tt.unknown) {
			t.Errorf("%s: found %q, want %q; not known %q, want %q\n%v", name, found, tt.found, unknown, tt.unknown, result.Unknown)
		}
	}
}
