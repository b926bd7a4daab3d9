package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The comparison of roles finds what it is for, both ways.
func TestWrongRolesAreFound(t *testing.T) {
	lambda, ecs, kubernetes := deployedRoles[0], deployedRoles[1], deployedRoles[2]
	for _, c := range []struct {
		role         deployedRole
		old, changed string
		want         string
	}{
		{lambda, "sqs:DeleteMessage, ", "", "sqs:DeleteMessage is called on the queue and not allowed"},
		{lambda, "Action: sqs:ChangeMessageVisibility", "Action: sqs:PurgeQueue", "sqs:ChangeMessageVisibility is called on the queue and not allowed"},
		{lambda, "Action: sqs:ChangeMessageVisibility", "Action: [sqs:ChangeMessageVisibility, sqs:PurgeQueue]", "sqs:PurgeQueue is allowed on queue and not called"},
		{lambda, "Action: sqs:SendMessage\n                Resource: !GetAtt OrdersDeadLetterQueue.Arn", "Action: sqs:SendMessage\n                Resource: \"*\"", "sqs:SendMessage is allowed on * and not called"},
		{lambda, "Action: [logs:CreateLogStream", "Action: [logs:CreateLogGroup, logs:CreateLogStream", "logs:CreateLogGroup is allowed on log and not called"},
		{lambda, "      Role: !GetAtt OrdersFunctionRole.Arn\n", "", "SAM gives OrdersFunction policies of its own"},
		{lambda, "                Effect: Allow\n                Action: sqs:SendMessage", "                Effect: Deny\n                Action: sqs:SendMessage", "no plain permission"},
		{ecs, "sqs:ReceiveMessage, ", "", "sqs:ReceiveMessage is called on the queue and not allowed"},
		{ecs, "  TaskRole:\n    Type: AWS::IAM::Role\n    Properties:\n", "  TaskRole:\n    Type: AWS::IAM::Role\n    Properties:\n      ManagedPolicyArns: [x]\n", "TaskRole has managed policies"},
		{kubernetes, "sqs:GetQueueAttributes]", "sqs:GetQueueAttributes, sqs:SendMessage]", "sqs:SendMessage is allowed on queue and not called"},
		{kubernetes, "kms:Decrypt, ", "", "kms:Decrypt is called on the key and not allowed"},
	} {
		text, err := os.ReadFile(c.role.file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), c.old) != 1 {
			t.Errorf("%s no longer has one %q", c.role.file, c.old)
			continue
		}
		wrong := filepath.Join(t.TempDir(), "template.yaml")
		if err := os.WriteFile(wrong, []byte(strings.Replace(string(text), c.old, c.changed, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		found := c.role.differences(load(t, wrong), c.role.want(t))
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s with %q for %q: found %q, want %q", c.role.file, c.changed, c.old, found, c.want)
		}
	}
}
