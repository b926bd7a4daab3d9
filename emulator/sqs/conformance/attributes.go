package main

import (
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var attributeChecks = []Check{
	check("attributes/defaults", api("CreateQueue"), "A queue created without attributes has the documented defaults.", func(e *env) {
		got := e.queue().attributes()
		for name, value := range map[string]string{
			"VisibilityTimeout": "30", "DelaySeconds": "0", "ReceiveMessageWaitTimeSeconds": "0",
			"MessageRetentionPeriod": "345600", "MaximumMessageSize": "1048576",
		} {
			want(e, name, got[name], value)
		}
	}).recorded(localStack("2025-12-10", "test_set_queue_attributes_default_values[sqs]")),
	check("attributes/created", api("CreateQueue"), "The attributes of CreateQueue are what GetQueueAttributes returns.", func(e *env) {
		given := []string{"VisibilityTimeout", "45", "DelaySeconds", "5", "ReceiveMessageWaitTimeSeconds", "7",
			"MessageRetentionPeriod", "3600", "MaximumMessageSize", "2048", "SqsManagedSseEnabled", "false"}
		got := e.queue(given...).attributes()
		for name, value := range pairs(given) {
			want(e, name, got[name], value)
		}
	}),
	check("attributes/set", api("SetQueueAttributes"), "SetQueueAttributes changes the attributes that it names, and no others.", func(e *env) {
		q := e.queue("VisibilityTimeout", "45", "DelaySeconds", "5")
		q.set("VisibilityTimeout", "46", "MessageRetentionPeriod", "3601")
		e.eventually("VisibilityTimeout 46 and MessageRetentionPeriod 3601", func() (string, bool) {
			got := q.attributes()
			return got["VisibilityTimeout"] + " and " + got["MessageRetentionPeriod"],
				got["VisibilityTimeout"] == "46" && got["MessageRetentionPeriod"] == "3601"
		})
		want(e, "DelaySeconds, which was not named", q.attributes()["DelaySeconds"], "5")
	}),
	check("attributes/unknown-set", api("SetQueueAttributes"), "SetQueueAttributes with an attribute that does not exist is InvalidAttributeName.", func(e *env) {
		refusedAs[*types.InvalidAttributeName](e, "SetQueueAttributes of Colour", e.queue().trySet("Colour", "red"))
	}),
	check("attributes/unknown-create", api("CreateQueue"), "CreateQueue with an attribute that does not exist is InvalidAttributeName.", func(e *env) {
		refusedAs[*types.InvalidAttributeName](e, "CreateQueue with Colour", errOf(e.create(e.name(), map[string]string{"Colour": "red"})))
	}),
	check("attributes/unknown-get", api("GetQueueAttributes"), "GetQueueAttributes of an attribute that does not exist is InvalidAttributeName.", func(e *env) {
		_, err := e.GetQueueAttributes(e.ctx, &awssqs.GetQueueAttributesInput{
			QueueUrl: e.queue().url, AttributeNames: []types.QueueAttributeName{"Colour"}})
		refusedAs[*types.InvalidAttributeName](e, "GetQueueAttributes of Colour", err)
	}),
	check("attributes/get-none", api("GetQueueAttributes"), "GetQueueAttributes without names returns no attributes.", func(e *env) {
		out := must(e.GetQueueAttributes(e.ctx, &awssqs.GetQueueAttributesInput{QueueUrl: e.queue().url}))
		want(e, "number of attributes", len(out.Attributes), 0)
	}),
	check("attributes/get-some", api("GetQueueAttributes"), "GetQueueAttributes returns the attributes that it names, and no others.", func(e *env) {
		got := e.queue().attributes("VisibilityTimeout", "DelaySeconds")
		if len(got) != 2 || got["VisibilityTimeout"] != "30" || got["DelaySeconds"] != "0" {
			e.fail("want VisibilityTimeout 30 and DelaySeconds 0, got %v", got)
		}
	}),
	check("attributes/arn", api("GetQueueAttributes"), "QueueArn is arn:partition:sqs:region:account:name.", func(e *env) {
		q := e.queue()
		part := strings.Split(q.arn(), ":")
		if part[0] != "arn" || part[1] == "" || part[2] != "sqs" || part[4] == "" || part[5] != q.name {
			e.fail("QueueArn: want arn:…:sqs:…:…:%s, got %s", q.name, strings.Join(part, ":"))
		}
		want(e, "region", part[3], e.Options().Region)
	}),
	check("attributes/timestamps", api("GetQueueAttributes"), "CreatedTimestamp and LastModifiedTimestamp are in seconds since 1970.", func(e *env) {
		q := e.queue()
		for _, name := range []string{"CreatedTimestamp", "LastModifiedTimestamp"} {
			seconds := q.number(types.Message{Attributes: q.attributes()}, name)
			// Clocks differ; units differ by a factor of a thousand.
			if off := time.Since(time.Unix(seconds, 0)).Abs(); off > time.Hour {
				e.fail("%s: want about %d, got %d", name, time.Now().Unix(), seconds)
			}
		}
	}),
	check("attributes/fifo-flag", api("GetQueueAttributes"),
		"A FIFO queue's attribute FifoQueue is true.", func(e *env) { want(e, "FifoQueue", e.fifo().attributes()["FifoQueue"], "true") }),
	check("attributes/type-is-for-ever", api("SetQueueAttributes"), "FifoQueue cannot be changed after a queue was created.", func(e *env) {
		e.refused("SetQueueAttributes with FifoQueue true on a standard queue", e.queue().trySet("FifoQueue", "true"))
		e.refused("SetQueueAttributes with FifoQueue false on a FIFO queue", e.fifo().trySet("FifoQueue", "false"))
	}).recorded(localStack("2024-05-14", "test_set_unsupported_attribute_standard[sqs], test_set_unsupported_attribute_fifo[sqs]")),
	check("attributes/fifo-only", api("CreateQueue"), "Attributes that apply to FIFO queues only are refused for a standard queue.", func(e *env) {
		for name, value := range map[string]string{
			"ContentBasedDeduplication": "true", "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perQueue",
		} {
			e.refused("CreateQueue of a standard queue with "+name, errOf(e.create(e.name(), map[string]string{name: value})))
		}
	}).undocumented(),
	check("attributes/high-throughput", api("CreateQueue"),
		"FifoThroughputLimit perMessageGroupId is allowed together with DeduplicationScope messageGroup.", func(e *env) {
			got := e.fifo("DeduplicationScope", "messageGroup", "FifoThroughputLimit", "perMessageGroupId").attributes()
			want(e, "DeduplicationScope", got["DeduplicationScope"], "messageGroup")
			want(e, "FifoThroughputLimit", got["FifoThroughputLimit"], "perMessageGroupId")
		}),
	check("attributes/high-throughput-alone", api("CreateQueue"),
		"FifoThroughputLimit perMessageGroupId is refused when DeduplicationScope is not messageGroup.", func(e *env) {
			e.refused("CreateQueue with perMessageGroupId and DeduplicationScope queue", errOf(e.create(e.name()+".fifo", map[string]string{
				"FifoQueue": "true", "FifoThroughputLimit": "perMessageGroupId", "DeduplicationScope": "queue"})))
		}),
	check("attributes/policy", api("SetQueueAttributes"), "A queue keeps the policy that it was given.", func(e *env) {
		q := e.queue()
		arn := q.arn()
		principal := "arn:" + strings.Split(arn, ":")[1] + ":iam::" + q.account() + ":root"
		q.set("Policy", `{"Version":"2012-10-17","Statement":[{"Sid":"ConformanceStatement","Effect":"Allow",`+
			`"Principal":{"AWS":"`+principal+`"},"Action":"sqs:SendMessage","Resource":"`+arn+`"}]}`)
		e.eventually("the policy's statement", func() (string, bool) {
			policy := q.attributes()["Policy"]
			return show(policy), strings.Contains(policy, "ConformanceStatement")
		})
	}),
	check("attributes/policy-no-json", api("SetQueueAttributes"), "A policy that is no valid policy is refused.", func(e *env) {
		e.refused("SetQueueAttributes with the policy {", e.queue().trySet("Policy", "{"))
	}).recorded(quoted("2025-04-15", "hashicorp/terraform-provider-aws/pull/42209")),
	check("attributes/capital-booleans", api("CreateQueue"),
		"FifoQueue may be True, and ContentBasedDeduplication True or False, as Python writes them.", func(e *env) {
			for _, value := range []string{"True", "False"} {
				q, err := e.create(e.name()+".fifo", pairs([]string{"FifoQueue", "True", "ContentBasedDeduplication", value}))
				e.must("CreateQueue with ContentBasedDeduplication "+value, err)
				want(e, "a send without deduplication id succeeds", q.trySend("a", inGroup("g")) == nil, value == "True")
			}
		}).recorded(localStack("2025-10-05", "test_fifo_delete_after_visibility_timeout_extended; False: 2024-04-30, test_sqs_fifo_same_dedup_id_different_message_groups")),
}

// attributeBounds has a check for each attribute that is a number: the bounds are accepted,
// a number beyond them is not.
func attributeBounds() []Check {
	var all []Check
	for _, a := range []struct{ name, low, high, below, above string }{
		{"VisibilityTimeout", "0", "43200", "-1", "43201"},
		{"DelaySeconds", "0", "900", "-1", "901"},
		{"ReceiveMessageWaitTimeSeconds", "0", "20", "-1", "21"},
		{"MessageRetentionPeriod", "60", "1209600", "59", "1209601"},
		{"MaximumMessageSize", "1024", "1048576", "1023", "1048577"},
	} {
		all = append(all, check("attributes/bounds-"+a.name, api("SetQueueAttributes"),
			a.name+" is an integer from "+a.low+" to "+a.high+"; anything else is InvalidAttributeValue.", func(e *env) {
				q := e.queue()
				for _, value := range []string{a.low, a.high} {
					e.must(a.name+" "+value, q.trySet(a.name, value))
				}
				for _, value := range []string{a.below, a.above, "many"} {
					refusedAs[*types.InvalidAttributeValue](e, a.name+" "+value, q.trySet(a.name, value))
				}
				_, err := e.create(e.name(), map[string]string{a.name: a.above})
				refusedAs[*types.InvalidAttributeValue](e, "CreateQueue with "+a.name+" "+a.above, err)
			}))
	}
	return all
}

var countChecks = []Check{
	check("counts/visible", api("GetQueueAttributes"), "ApproximateNumberOfMessages counts what can be received.", func(e *env) {
		q := e.filled("a", "a", "a")
		q.counts(3, 0, 0)
	}),
	check("counts/in-flight", api("GetQueueAttributes"),
		"ApproximateNumberOfMessagesNotVisible counts what was received and is neither deleted nor visible again.", func(e *env) {
			q := e.filled("a", "a", "a")
			m := q.take(2)
			q.counts(1, 2, 0)
			q.delete(m[0])
			q.counts(1, 1, 0)
			q.hide(m[1], 0)
			q.counts(2, 0, 0)
		}),
	check("counts/delayed", api("GetQueueAttributes"), "ApproximateNumberOfMessagesDelayed counts what was sent with a delay that is not over.", func(e *env) {
		q := e.filled("now")
		q.send("later", delayed(900))
		q.counts(1, 0, 1)
	}),
	check("counts/empty", api("GetQueueAttributes"), "All includes the three counts, also of an empty queue.", func(e *env) {
		got := e.queue().attributes()
		for _, name := range []string{"", "Delayed", "NotVisible"} {
			want(e, "ApproximateNumberOfMessages"+name, got["ApproximateNumberOfMessages"+name], "0")
		}
	}),
}
