package sqs_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Cases without a conformance check (queues, names, attributes).
func TestCreateQueue(t *testing.T) {
	virtual(t, func(b *bench) {
		b.queue("existing", "VisibilityTimeout", "60")
		b.queue("existing.fifo")
		for _, tc := range []struct {
			name       string
			attributes map[string]string
			code       string // "" for success
		}{
			{"existing", nil, ""},
			{"existing", map[string]string{"DelaySeconds": "0"}, ""}, // the default
			{"existing", map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}, "QueueAlreadyExists"},
			{"existing.fifo", map[string]string{"FifoQueue": "true"}, ""},
			{"existing.fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"}, "QueueAlreadyExists"},
			{"", nil, "MissingParameter"},
			{"new", map[string]string{"FifoQueue": "false"}, "InvalidAttributeName"},
			{"new", map[string]string{"FifoQueue": "yes"}, "InvalidAttributeValue"},
			{"new", map[string]string{"QueueArn": "arn"}, "InvalidAttributeName"},
		} {
			out, err := b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{QueueName: &tc.name, Attributes: tc.attributes})
			if tc.code != "" {
				b.wantCode(err, tc.code)
			} else if err != nil || *out.QueueUrl != b.server.QueueURL(tc.name) {
				b.Errorf("%s: %v", tc.name, err)
			}
		}
	})
}

func TestAttributeValues(t *testing.T) {
	for name, tc := range map[string]struct{ good, bad []string }{
		"KmsDataKeyReusePeriodSeconds": {[]string{"60", "86400"}, []string{"59", "86401"}},
		"SqsManagedSseEnabled":         {[]string{"true", "false"}, []string{"yes"}},
		"KmsMasterKeyId":               {[]string{"alias/aws/sqs"}, nil},
		"Policy":                       {[]string{`{"Version":"2012-10-17"}`}, []string{"{", "null", "3"}},
		"ContentBasedDeduplication":    {[]string{"true", "false"}, []string{"1"}},
		"DeduplicationScope":           {[]string{"messageGroup", "queue"}, []string{"group"}},
		"RedriveAllowPolicy":           {[]string{`{"redrivePermission":"allowAll"}`}, nil},
	} {
		virtualRun(t, name, func(b *bench) {
			queue := b.queue("orders.fifo")
			for _, value := range tc.good {
				b.ok(b.set(queue, name, value))
				equal(b, name, b.attributes(queue)[name], value)
			}
			for _, value := range tc.bad {
				wantType[*types.InvalidAttributeValue](b, b.set(queue, name, value))
			}
		})
	}
}

func TestSetQueueAttributes(t *testing.T) {
	virtual(t, func(b *bench) {
		standard := b.queue("orders")
		wantType[*types.InvalidAttributeName](b, b.set(standard, "DelaySeconds", "1", "Nope", "1"))
		equal(b, "DelaySeconds after a refused request", b.attributes(standard)["DelaySeconds"], "0")
		created := time.Now()
		time.Sleep(time.Minute)
		b.ok(b.set(standard, "Policy", `{"Version":"2012-10-17"}`, "VisibilityTimeout", "5"))
		got := b.attributes(standard)
		if got["LastModifiedTimestamp"] != fmt.Sprint(time.Now().Unix()) || got["CreatedTimestamp"] != fmt.Sprint(created.Unix()) {
			b.Errorf("timestamps %v", got)
		}
		b.ok(b.set(standard, "Policy", ""))
		if _, ok := b.attributes(standard)["Policy"]; ok {
			b.Error("an empty value did not remove the policy")
		}
		b.send(standard, "a")
		b.one(standard)
		time.Sleep(5 * time.Second)
		b.one(standard)
	})
}

func TestGetQueueAttributes(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		got := slices.Sorted(maps.Keys(b.attributes(queue)))
		want := []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed", "ApproximateNumberOfMessagesNotVisible",
			"CreatedTimestamp", "DelaySeconds", "LastModifiedTimestamp", "MaximumMessageSize", "MessageRetentionPeriod",
			"QueueArn", "ReceiveMessageWaitTimeSeconds", "SqsManagedSseEnabled", "VisibilityTimeout"}
		if !slices.Equal(got, want) {
			b.Errorf("all: %v", got)
		}
		out, err := b.GetQueueAttributes(b.ctx, &awssqs.GetQueueAttributesInput{
			QueueUrl: queue, AttributeNames: []types.QueueAttributeName{"QueueArn", "RedrivePolicy"}})
		if err != nil || len(out.Attributes) != 1 || out.Attributes["QueueArn"] != "arn:aws:sqs:us-east-1:000000000000:orders" {
			b.Errorf("two: %v, %v", out, err)
		}
	})
}

func TestQueueURLs(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		out, err := b.GetQueueUrl(b.ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String("orders")})
		if err != nil || *out.QueueUrl != *queue || *queue != b.server.URL()+"/000000000000/orders" {
			b.Errorf("URL %v, %v", out, err)
		}
		wantType[*types.QueueDoesNotExist](b, errOf(b.GetQueueUrl(b.ctx, &awssqs.GetQueueUrlInput{
			QueueName: aws.String("orders"), QueueOwnerAWSAccountId: aws.String("111111111111")})))
		for url, exists := range map[string]bool{
			"https://sqs.us-east-1.amazonaws.com/000000000000/orders": true,
			"http://localhost:9324/000000000000/orders":               true,
			"https://sqs.us-east-1.amazonaws.com/111111111111/orders": false,
			"http://localhost:9324/000000000000/other":                false,
			"orders": true, // the bare name
			"other":  false,
			"///":    false,
		} {
			if err := b.try(b.ctx, &url, "a"); exists != (err == nil) || !exists && !is[*types.QueueDoesNotExist](err) {
				b.Errorf("%s: error %v", url, err)
			}
		}
	})
}

func TestTagLimits(t *testing.T) {
	virtual(t, func(b *bench) {
		out, err := b.CreateQueue(b.ctx, &awssqs.CreateQueueInput{QueueName: aws.String("orders"), Tags: map[string]string{"team": "ship"}})
		b.ok(err)
		many := map[string]string{}
		for i := range 50 {
			many[fmt.Sprint(i)] = ""
		}
		for _, wrong := range []map[string]string{many, {"": "v"}, {strings.Repeat("k", 129): "v"}, {"k": strings.Repeat("v", 257)}} {
			b.wantCode(errOf(b.TagQueue(b.ctx, &awssqs.TagQueueInput{QueueUrl: out.QueueUrl, Tags: wrong})), "InvalidParameterValue")
		}
		tags, err := b.ListQueueTags(b.ctx, &awssqs.ListQueueTagsInput{QueueUrl: out.QueueUrl})
		if err != nil || !maps.Equal(tags.Tags, map[string]string{"team": "ship"}) {
			b.Errorf("tags %v, %v", tags, err)
		}
	})
}

func TestListQueuesRefusesATokenThatIsNone(t *testing.T) {
	virtual(t, func(b *bench) {
		b.wantCode(errOf(b.ListQueues(b.ctx, &awssqs.ListQueuesInput{NextToken: aws.String("?")})), "InvalidParameterValue")
	})
}

func TestAQueueHasOneKindOfEncryption(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		want := func(managed, key, period string) {
			b.Helper()
			got := b.attributes(queue)
			if got["SqsManagedSseEnabled"] != managed || got["KmsMasterKeyId"] != key || got["KmsDataKeyReusePeriodSeconds"] != period {
				b.Errorf("attributes %v", got)
			}
		}
		want("true", "", "")
		wantType[*types.InvalidAttributeName](b, b.set(queue, "KmsMasterKeyId", "alias/aws/sqs", "SqsManagedSseEnabled", "true"))
		want("true", "", "")
		b.ok(b.set(queue, "KmsMasterKeyId", "alias/aws/sqs"))
		want("false", "alias/aws/sqs", "300")
		wantType[*types.InvalidAttributeName](b, b.set(queue, "SqsManagedSseEnabled", "true"))
		b.ok(b.set(queue, "KmsDataKeyReusePeriodSeconds", "60"))
		want("false", "alias/aws/sqs", "60")
		b.ok(b.set(queue, "KmsMasterKeyId", "", "SqsManagedSseEnabled", "true"))
		want("true", "", "")
	})
}

func (b *bench) permit(queue *string, label string, accounts, actions []string) error {
	return errOf(b.AddPermission(b.ctx, &awssqs.AddPermissionInput{
		QueueUrl: queue, Label: &label, AWSAccountIds: accounts, Actions: actions}))
}

func (b *bench) forbid(queue *string, label string) error {
	return errOf(b.RemovePermission(b.ctx, &awssqs.RemovePermissionInput{QueueUrl: queue, Label: &label}))
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

// AWS writes a string instead of a list of one, as was recorded.
func TestAPermissionOfOneActionForOneAccount_HasNoLists(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		b.ok(b.permit(queue, "theirs", []string{"111111111111"}, []string{"ReceiveMessage"}))
		want := `{"Version":"2008-10-17","Id":"` + b.server.QueueARN("orders") + `/SQSDefaultPolicy","Statement":[{"Sid":"theirs","Effect":"Allow",` +
			`"Principal":{"AWS":"arn:aws:iam::111111111111:root"},"Action":"SQS:ReceiveMessage","Resource":"` + b.server.QueueARN("orders") + `"}]}`
		equal(b, "policy", b.attributes(queue)["Policy"], want)
	})
}

// Lists of one item and the characters that encoding/json escapes for HTML stay as they are.
func TestAddPermission_KeepsTheUsersStatements(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
		const mine = `{"Sid":"<mine> & yours","Effect":"Allow","Principal":{"AWS":["*"]},"Action":["sqs:SendMessage"],"Resource":["*"]}`
		b.ok(b.set(queue, "Policy", `{"Statement":[`+mine+`]}`))
		b.ok(b.permit(queue, "theirs", []string{"111111111111"}, []string{"SendMessage"}))
		if got := b.attributes(queue)["Policy"]; !strings.Contains(got, mine) {
			b.Errorf("policy %s\n  want %s in it", got, mine)
		}
		b.ok(b.forbid(queue, "theirs"))
		equal(b, "policy", b.attributes(queue)["Policy"], `{"Statement":[`+mine+`]}`)
	})
}

// AddPermission does not change a policy that it cannot parse.
func TestPermissionsOfAnotherForm_AreRefused(t *testing.T) {
	virtual(t, func(b *bench) {
		const text = `{"Statement": {"Sid":"mine"}}`
		queue := b.queue("orders", "Policy", text)
		b.wantCode(b.permit(queue, "theirs", []string{"111111111111"}, []string{"SendMessage"}), "InvalidParameterValue")
		b.wantCode(b.forbid(queue, "mine"), "InvalidParameterValue")
		equal(b, "policy", b.attributes(queue)["Policy"], text)
	})
}

func TestAddPermissionRefuses(t *testing.T) {
	withOrders(t, func(b *bench, queue *string) {
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
