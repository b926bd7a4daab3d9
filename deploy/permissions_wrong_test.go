package deploy_test

import (
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
		{lambda, "sqs:DeleteMessage, ", "", "SB301 OrdersFunctionRole does not allow sqs:DeleteMessage on the queue"},
		{lambda, "Action: sqs:ChangeMessageVisibility", "Action: sqs:PurgeQueue", "SB302 OrdersFunctionRole does not allow sqs:ChangeMessageVisibility on the queue"},
		{lambda, "Action: sqs:ChangeMessageVisibility", "Action: [sqs:ChangeMessageVisibility, sqs:PurgeQueue]", "SB305 OrdersFunctionRole allows sqs:PurgeQueue on the queue"},
		{lambda, "Action: sqs:SendMessage\n                Resource: !GetAtt OrdersDeadLetterQueue.Arn", "Action: sqs:SendMessage\n                Resource: \"*\"", "SB305 OrdersFunctionRole allows sqs:SendMessage on *"},
		{lambda, "Action: [logs:CreateLogStream", "Action: [logs:CreateLogGroup, logs:CreateLogStream", "SB305 OrdersFunctionRole allows logs:CreateLogGroup on the log"},
		{lambda, "      Role: !GetAtt OrdersFunctionRole.Arn\n", "", "SAM gives OrdersFunction policies of its own"},
		{lambda, "                Effect: Allow\n                Action: sqs:SendMessage", "                Effect: Deny\n                Action: sqs:SendMessage", "no plain permission"},
		{ecs, "sqs:ReceiveMessage, ", "", "SB301 TaskRole does not allow sqs:ReceiveMessage on the queue"},
		{ecs, "  TaskRole:\n    Type: AWS::IAM::Role\n    Properties:\n", "  TaskRole:\n    Type: AWS::IAM::Role\n    Properties:\n      ManagedPolicyArns: [x]\n", "TaskRole has managed policies"},
		{ecs, "Resources:\n", "Resources:\n  More: {Type: AWS::IAM::Policy}\n", "there is also the policy More"},
		{kubernetes, "Resources:\n", "Resources:\n  More: {Type: AWS::IAM::Role}\n", "there is also More"},
		{kubernetes, "            Statement:\n", "            Statement:\n              - {Effect: Allow, Action: s3:GetObject, Resource: b}\n", "8 permissions, want 7"},
		{kubernetes, "sqs:GetQueueAttributes]", "sqs:GetQueueAttributes, sqs:SendMessage]", "SB305 Role allows sqs:SendMessage on the queue"},
		{kubernetes, "kms:Decrypt, ", "", "SB304 Role does not allow kms:Decrypt on the key"},
	} {
		before := text(t, c.role.file)
		if strings.Count(before, c.old) != 1 {
			t.Errorf("%s no longer has one %q", c.role.file, c.old)
			continue
		}
		found := c.role.wrong(t, strings.Replace(before, c.old, c.changed, 1))
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s with %q for %q: found %q, want %q", c.role.file, c.changed, c.old, found, c.want)
		}
	}
}
