package sqs_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (b *bench) permit(queue *string, label string, accounts, actions []string) error {
	_, err := b.AddPermission(b.ctx, &awssqs.AddPermissionInput{
		QueueUrl: queue, Label: &label, AWSAccountIds: accounts, Actions: actions})
	return err
}

func (b *bench) forbid(queue *string, label string) error {
	_, err := b.RemovePermission(b.ctx, &awssqs.RemovePermissionInput{QueueUrl: queue, Label: &label})
	return err
}

func TestPermissionsAreInThePolicy(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "Policy", `{"Version":"2012-10-17","Statement":[{"Sid":"mine", "Effect":"Deny"}]}`)
		accounts, actions := []string{"111111111111", "222222222222"}, []string{"ReceiveMessage", "*"}
		b.ok(b.permit(queue, "theirs", accounts, actions))
		b.wantCode(b.permit(queue, "theirs", accounts, actions), "InvalidParameterValue")
		theirs := `{"Sid":"theirs","Effect":"Allow","Principal":{"AWS":["arn:aws:iam::111111111111:root","arn:aws:iam::222222222222:root"]},` +
			`"Action":["SQS:ReceiveMessage","SQS:*"],"Resource":"` + b.server.QueueARN("orders") + `"}`
		if got, want := b.attributes(queue)["Policy"], `{"Version":"2012-10-17","Statement":[{"Sid":"mine","Effect":"Deny"},`+theirs+`]}`; got != want {
			b.Errorf("policy %s\n  want %s", got, want)
		}
		b.ok(b.forbid(queue, "mine"))
		b.wantCode(b.forbid(queue, "mine"), "InvalidParameterValue")
		b.ok(b.forbid(queue, "theirs"))
		if got, ok := b.attributes(queue)["Policy"]; ok {
			b.Errorf("policy %s without permissions", got)
		}
	})
}

// What AddPermission cannot change without understanding it stays as it is.
func TestPermissionsOfAnotherForm_AreRefused(t *testing.T) {
	virtual(t, func(b *bench) {
		const text = `{"Statement": {"Sid":"mine"}}`
		queue := b.queue("orders", "Policy", text)
		b.wantCode(b.permit(queue, "theirs", []string{"111111111111"}, []string{"SendMessage"}), "InvalidParameterValue")
		b.wantCode(b.forbid(queue, "mine"), "InvalidParameterValue")
		if got := b.attributes(queue)["Policy"]; got != text {
			b.Errorf("policy %s", got)
		}
	})
}

func TestAddPermissionRefuses(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		account, action := []string{"111111111111"}, []string{"SendMessage"}
		for name, tc := range map[string]struct {
			label             string
			accounts, actions []string
			code              string
		}{
			"no label":      {"", account, action, "MissingParameter"},
			"no action":     {"a", account, []string{}, "MissingParameter"},
			"eight actions": {"a", account, strings.Fields(strings.Repeat("SendMessage ", 8)), "OverLimit"},
			"no account":    {"a", []string{}, action, "MissingParameter"},
		} {
			b.Log(name)
			b.wantCode(b.permit(queue, tc.label, tc.accounts, tc.actions), tc.code)
		}
		wantType[*types.QueueDoesNotExist](b, b.permit(aws.String("none"), "a", account, action))
	})
}
