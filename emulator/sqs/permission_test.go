package sqs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
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

// The form of the policy is the service's: one action or account is a string,
// more are a list.
func TestPermissionsAreInThePolicy(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		arn := b.server.QueueARN("orders")
		one := `{"Sid":"one","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111111111111:root"},"Action":"SQS:SendMessage","Resource":"` + arn + `"}`
		many := `{"Sid":"many","Effect":"Allow","Principal":{"AWS":["arn:aws:iam::111111111111:root","arn:aws:iam::222222222222:root"]},"Action":["SQS:ReceiveMessage","SQS:*"],"Resource":"` + arn + `"}`
		policy := func(statements ...string) string {
			return `{"Version":"2008-10-17","Id":"` + arn + `/SQSDefaultPolicy","Statement":[` + strings.Join(statements, ",") + `]}`
		}
		if err := b.permit(queue, "one", []string{"111111111111"}, []string{"SendMessage"}); err != nil {
			b.Fatal(err)
		}
		if err := b.permit(queue, "many", []string{"111111111111", "222222222222"}, []string{"ReceiveMessage", "*"}); err != nil {
			b.Fatal(err)
		}
		b.wantCode(b.permit(queue, "one", []string{"222222222222"}, []string{"SendMessage"}), "InvalidParameterValue")
		if got := b.attributes(queue)["Policy"]; got != policy(one, many) {
			b.Errorf("policy %s\n  want %s", got, policy(one, many))
		}
		if err := b.forbid(queue, "one"); err != nil {
			b.Fatal(err)
		}
		if got := b.attributes(queue)["Policy"]; got != policy(many) {
			b.Errorf("policy %s\n  want %s", got, policy(many))
		}
		b.wantCode(b.forbid(queue, "one"), "InvalidParameterValue")
		if err := b.forbid(queue, "many"); err != nil {
			b.Fatal(err)
		}
		if got, ok := b.attributes(queue)["Policy"]; ok {
			b.Errorf("policy %s without permissions", got)
		}
		b.wantCode(b.forbid(queue, "many"), "InvalidParameterValue")
	})
}

func TestPermissionsLeaveOtherStatementsAlone(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders", "Policy", `{"Version":"2012-10-17","Statement":{"Sid":"mine","Effect":"Deny","Principal":"*","Action":"sqs:*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}}`)
		if err := b.permit(queue, "theirs", []string{"111111111111"}, []string{"GetQueueUrl"}); err != nil {
			b.Fatal(err)
		}
		if err := b.forbid(queue, "theirs"); err != nil {
			b.Fatal(err)
		}
		want := `{"Version":"2012-10-17","Statement":[{"Sid":"mine","Effect":"Deny","Principal":"*","Action":"sqs:*","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`
		if got := b.attributes(queue)["Policy"]; got != want {
			b.Errorf("policy %s\n  want %s", got, want)
		}
	})
}

func TestAddPermissionRefuses(t *testing.T) {
	virtual(t, func(b *bench) {
		queue := b.queue("orders")
		account, action := []string{"111111111111"}, []string{"SendMessage"}
		accounts := func(n int) (ids []string) {
			for i := range n {
				ids = append(ids, fmt.Sprintf("%012d", i))
			}
			return ids
		}
		for name, tc := range map[string]struct {
			label             string
			accounts, actions []string
			code              string
		}{
			"no label":        {"", account, action, "MissingParameter"},
			"label's letters": {"a b", account, action, "InvalidParameterValue"},
			"label of 81":     {strings.Repeat("a", 81), account, action, "InvalidParameterValue"},
			"no action":       {"a", account, []string{}, "MissingParameter"},
			"unknown action":  {"a", account, []string{"Explode"}, "InvalidParameterValue"},
			"eight actions":   {"a", account, strings.Fields(strings.Repeat("SendMessage ", 8)), "OverLimit"},
			"no account":      {"a", []string{}, action, "MissingParameter"},
			"short account":   {"a", []string{"11111111111"}, action, "InvalidParameterValue"},
			"51 accounts":     {"a", accounts(51), action, "OverLimit"},
		} {
			err := b.permit(queue, tc.label, tc.accounts, tc.actions)
			var failure smithy.APIError
			if !errors.As(err, &failure) || failure.ErrorCode() != tc.code {
				b.Errorf("%s: %v, want %s", name, err, tc.code)
			}
		}
		if err := b.permit(queue, strings.Repeat("a", 80), accounts(50), strings.Fields(strings.Repeat("SendMessage ", 7))); err != nil {
			b.Error(err)
		}
		wantType[*types.OverLimit](b, b.permit(queue, "b", account, action)) // the 51st principal of the policy
		wantType[*types.QueueDoesNotExist](b, b.permit(aws.String("none"), "a", account, action))
	})
}

func TestPolicyQuotas(t *testing.T) {
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	conditions := func(n int) string {
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf(`"aws:key%d":"v"`, i))
		}
		return `{"Statement":{"Condition":{"StringEquals":{` + strings.Join(keys, ",") + `}}}}`
	}
	for name, tc := range map[string]struct {
		policy string
		good   bool
	}{
		"8192 bytes":         {`{"Id":"` + strings.Repeat("a", 8183) + `"}`, true},
		"8193 bytes":         {`{"Id":"` + strings.Repeat("a", 8184) + `"}`, false},
		"20 statements":      {`{"Statement":` + list(20, "{}") + `}`, true},
		"21 statements":      {`{"Statement":` + list(21, "{}") + `}`, false},
		"7 actions":          {`{"Statement":[{"Action":` + list(7, `"a"`) + `}]}`, true},
		"8 actions":          {`{"Statement":[{"NotAction":` + list(8, `"a"`) + `}]}`, false},
		"50 principals":      {`{"Statement":[{"Principal":{"AWS":` + list(50, `"a"`) + `}}]}`, true},
		"51 principals":      {`{"Statement":[{"Principal":{"AWS":` + list(50, `"a"`) + `}},{"Principal":"*"}]}`, false},
		"10 conditions":      {conditions(10), true},
		"11 conditions":      {conditions(11), false},
		"statement a number": {`{"Statement":1}`, false},
		"statement null":     {`{"Statement":[null]}`, false},
		"action a number":    {`{"Statement":{"Action":1}}`, false},
		"principal an array": {`{"Statement":{"Principal":[1]}}`, false},
		"kind of principal":  {`{"Statement":{"Principal":{"AWS":1}}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(b *bench) {
				_, err := b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{QueueName: aws.String("orders"), Attributes: map[string]string{"Policy": tc.policy}})
				if tc.good && err != nil {
					b.Error(err)
				} else if !tc.good {
					wantType[*types.InvalidAttributeValue](b, err)
				}
			})
		})
	}
}
