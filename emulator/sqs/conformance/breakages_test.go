package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// always gives a field of an operation a value.
func always(operation, field string, value any) func(*call) {
	return func(c *call) {
		if c.is(operation) {
			c.in[field] = value
		}
	}
}

// ignores answers operations, which then have no effect.
func ignores(operations ...string) func(*call) {
	return func(c *call) {
		if c.is(operations...) {
			c.succeed()
		}
	}
}

// once refuses an operation the second time with the same value of a field.
func once(operation, field, shape, code string) func(*call) {
	used := map[any]bool{}
	return func(c *call) {
		if c.is(operation) {
			if used[c.in[field]] {
				c.refuse(shape, code)
			}
			used[c.in[field]] = true
		}
	}
}

func without(fields ...string) func(c *call) {
	return func(c *call) {
		for _, e := range c.entries() {
			for _, f := range fields {
				delete(e, f)
			}
		}
	}
}

// zeroIsNothing drops fields that are 0.
func zeroIsNothing(c *call) {
	for _, e := range c.entries() {
		for name, value := range e {
			if fmt.Sprint(value) == "0" {
				delete(e, name)
			}
		}
	}
}

// unique sets a field of each message to a unique value, if the message has the field.
func unique(field string) func(*call) {
	n := 0
	return func(c *call) {
		for _, e := range c.entries() {
			if c.is("SendMessage", "SendMessageBatch") && e[field] != nil {
				n++
				e[field] = fmt.Sprint("unique-", n)
			}
		}
	}
}

// countOff changes maxReceiveCount in redrive policies.
func countOff(from, to string) func(*call) {
	return func(c *call) {
		if a := object(c.in, "Attributes"); a["RedrivePolicy"] != nil {
			a["RedrivePolicy"] = strings.Replace(str(a["RedrivePolicy"]), `"maxReceiveCount":`+from+`}`, `"maxReceiveCount":`+to+`}`, 1)
		}
	}
}

// onDead changes the system attributes of dead-lettered messages.
func onDead(do func(attributes map[string]any)) func(*call) {
	return onSystem(func(a map[string]any) {
		if a["DeadLetterQueueSourceArn"] != nil {
			do(a)
		}
	})
}

// breakages returns the ways of being wrong, some with a memory of their own.
func breakages() []breakage {
	n := 0
	return []breakage{
		{name: "nothing is ever refused", after: func(c *call) {
			if c.status == http.StatusBadRequest || c.status == http.StatusNotFound || c.status == http.StatusForbidden {
				c.succeed()
			}
		}, fails: "queues/get-url-unknown queues/create-conflict queues/delete queues/recreate-at-once queues/unknown-* names/too-long " +
			"names/empty names/characters names/fifo-suffix-* names/url-case attributes/unknown-* attributes/type-is-for-ever " +
			"attributes/fifo-only attributes/high-throughput-alone attributes/policy-no-json attributes/bounds-* " +
			"lists/max-results permissions/label permissions/action permissions/seven-actions send/characters send/empty " +
			"send/delay-bounds send/trace-header-type send/system-attributes size/over-1-MiB size/queue-limit size/bytes " +
			"size/attributes-count attributes-of-messages/eleven attributes-of-messages/name-characters " +
			"attributes-of-messages/name-p* attributes-of-messages/empty attributes-of-messages/types attributes-of-messages/value-kinds " +
			"attributes-of-messages/numbers attributes-of-messages/lists receive/*-bounds visibility/change-bounds " +
			"visibility/total-* visibility/no-handle delete/no-handle delete/message-id delete/expired-fifo purge/twice " +
			"delay/fifo-message batch/empty-* batch/too-many-* batch/same-ids-* batch/bad-ids-* batch/ascii-ids batch/size-in-all " +
			"batch/refused-sends-nothing fifo/*-required ids/* redrive-policy/no-* redrive-policy/unknown-target " +
			"redrive-policy/count redrive-policy/same-type redrive-allow/deny-all redrive-allow/by-queue redrive-allow/ten-queues " +
			"redrive-allow/queues-with-by-queue redrive-allow/permission redrive-allow/no-json moves/no-dead-letter-queue " +
			"moves/unknown-* moves/other-type moves/one-at-a-time moves/rate moves/list-unknown moves/list-bounds moves/cancel-*"},
		{name: "errors have no type", after: func(c *call) {
			delete(c.out, "__type")
			c.header.Del("X-Amzn-Query-Error")
		}, fails: "queues/get-url-unknown queues/create-conflict queues/recreate-at-once queues/unknown-* attributes/unknown-* " +
			"attributes/bounds-* send/characters visibility/no-handle delete/no-handle delete/message-id purge/twice " +
			"batch/empty-* batch/too-many-* batch/same-ids-* batch/bad-ids-* batch/size-in-all batch/refused-sends-nothing " +
			"moves/unknown-* moves/list-unknown protocol/error-type protocol/error-header"},
		{name: "errors are the server's", after: func(c *call) {
			if c.status/100 == 4 {
				c.status = http.StatusInternalServerError
			}
		}, fails: "protocol/error-status names/too-long names/empty send/empty size/over-1-MiB attributes-of-messages/eleven " +
			"fifo/*-required ids/* redrive-policy/no-* moves/cancel-unknown"},
		{name: "errors have no words, and answers no headers", after: func(c *call) {
			delete(c.out, "message")
			c.header.Del("Content-Type")
			c.header.Del("X-Amzn-Requestid")
		}, fails: "protocol/error-message protocol/content-type protocol/request-id"},
		{name: "names lose their case", before: func(c *call) {
			for _, field := range []string{"QueueName", "QueueUrl", "QueueNamePrefix"} {
				if name, ok := c.in[field].(string); ok {
					c.in[field] = strings.ToLower(name)
				}
			}
		}, fails: "names/case names/url-case lists/prefix-case"},
		{name: "a queue is created once, and never again", before: once("CreateQueue", "QueueName", "com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists"),
			fails: "queues/create-again queues/recreate-at-once queues/recreate-later"},
		{name: "a queue is purged once, and never again", before: once("PurgeQueue", "QueueUrl", "com.amazonaws.sqs#PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress"),
			fails: "purge/later"},
		{name: "attributes of queues are ignored", before: func(c *call) {
			if a := object(c.in, "Attributes"); a["FifoQueue"] != nil {
				c.in["Attributes"] = map[string]any{"FifoQueue": a["FifoQueue"]}
			} else if a != nil {
				delete(c.in, "Attributes")
			}
			if c.is("SetQueueAttributes") {
				c.succeed()
			}
		}, fails: "attributes/created attributes/set attributes/policy attributes/high-throughput attributes/bounds-* " +
			"queues/create-conflict size/queue-limit long-poll/of-the-queue visibility/hides delay/queue delay/fifo " +
			"deduplication/by-content"},
		{name: "attributes of queues come unasked", before: always("GetQueueAttributes", "AttributeNames", []string{"All"}), fails: "attributes/unknown-get attributes/get-none attributes/get-some"},
		{name: "defaults are others, FIFO is not told, ARNs and times are odd", after: func(c *call) {
			if a := object(c.out, "Attributes"); a != nil {
				a["MaximumMessageSize"] = "262144"
				delete(a, "FifoQueue")
				a["CreatedTimestamp"] = fmt.Sprint(a["CreatedTimestamp"], "000")
				if arn, ok := a["QueueArn"].(string); ok {
					a["QueueArn"] = strings.Replace(arn, ":us-east-1:", "::", 1)
				}
			}
		}, fails: "attributes/defaults attributes/arn attributes/timestamps attributes/fifo-flag"},
		{name: "there are no counts", after: func(c *call) {
			for _, name := range []string{"", "Delayed", "NotVisible"} {
				delete(object(c.out, "Attributes"), "ApproximateNumberOfMessages"+name)
			}
		}, fails: "counts/*"},
		{name: "lists know no prefix", before: without("QueueNamePrefix"), fails: "lists/prefix lists/prefix-case"},
		{name: "lists have one page, and a token", after: func(c *call) {
			if c.is("ListQueues") && c.in["NextToken"] == nil {
				c.out["NextToken"] = "more"
			} else if c.is("ListQueues") {
				c.succeed()
			}
		}, fails: "lists/pages lists/no-token lists/last-page"},
		{name: "tags are ignored", before: func(c *call) {
			if delete(c.in, "tags"); c.is("TagQueue", "UntagQueue") {
				c.succeed()
			}
		}, fails: "queues/unknown-settings tags/at-creation tags/add tags/overwrite tags/case tags/remove"},
		{name: "queues are born with a tag", before: func(c *call) {
			if c.is("CreateQueue") && c.in["tags"] == nil {
				c.in["tags"] = map[string]string{"born": "yes"}
			}
		}, fails: "tags/none tags/add tags/overwrite tags/case tags/remove"},
		{name: "permissions are ignored", before: ignores("AddPermission"), fails: "permissions/add permissions/add-second permissions/remove permissions/label permissions/action " +
			"permissions/seven-actions"},
		{name: "zero is taken for nothing", before: zeroIsNothing, fails: "receive/max-bounds lists/max-results long-poll/zero-is-short visibility/zero-receive visibility/zero " +
			"visibility/group delay/zero-over-queue"},
		{name: "bodies are trimmed", after: onMessage(func(m map[string]any) { m["Body"] = strings.TrimSpace(str(m["Body"])) }), fails: "send/body-intact"},
		{name: "no digests of attributes", after: func(c *call) {
			delete(c.out, "MD5OfMessageAttributes")
			delete(c.out, "MD5OfMessageSystemAttributes")
		}, fails: "digests/system-attributes digests/attributes-String digests/attributes-Number digests/attributes-Binary " +
			"digests/attributes-custom digests/attributes-mixed"},
		{name: "digests where there is nothing to digest", after: func(c *call) {
			c.out["MD5OfMessageAttributes"] = "d41d8cd98f00b204e9800998ecf8427e"
		}, fails: "digests/none"},
		{name: "every message has the same id", after: func(c *call) {
			if c.is("SendMessage") {
				c.out["MessageId"] = "one-for-all"
			}
		}, fails: "send/answer send/ids-differ receive/same-id redrive/after-max"},
		{name: "failed entries are not told", after: func(c *call) { delete(c.out, "Failed") }, fails: "batch/send-partly batch/delete-partly batch/change-partly"},
		{name: "message attributes are lost", before: without("MessageAttributes"), fails: "attributes-of-messages/intact attributes-of-messages/ten attributes-of-messages/name-longest redrive/content " +
			"selection/names selection/prefix selection/all moves/to-destination size/attributes-count"},
		{name: "names of message attributes lose their case", after: onMessage(func(m map[string]any) {
			lower := map[string]any{}
			for name, value := range object(m, "MessageAttributes") {
				lower[strings.ToLower(name)] = value
			}
			m["MessageAttributes"] = lower
		}), fails: "attributes-of-messages/name-case attributes-of-messages/name-longest selection/case selection/all " +
			"selection/dot-asterisk"},
		{name: "message attributes come unasked", before: always("ReceiveMessage", "MessageAttributeNames", []string{"All"}), fails: "selection/none selection/names selection/case selection/prefix"},
		{name: "system attributes come unasked", before: always("ReceiveMessage", "MessageSystemAttributeNames", []string{"All"}), fails: "selection/system-none selection/system-names selection/system-older-name"},
		{name: "system attributes are lost", after: onMessage(func(m map[string]any) { delete(m, "Attributes") }), fails: "system-attributes/* send/trace-header selection/system-names selection/system-older-name fair/group-kept"},
		{name: "every receive is the first", after: onSystem(func(a map[string]any) { a["ApproximateReceiveCount"] = "1" }), fails: "system-attributes/receive-count redrive/receive-count redrive/without-policy"},
		{name: "trace headers are lost", after: onSystem(func(a map[string]any) { delete(a, "AWSTraceHeader") }), fails: "send/trace-header send/trace-http-header* selection/system-names"},
		{name: "nothing is hidden", before: always("ReceiveMessage", "VisibilityTimeout", 0), fails: "visibility/hides visibility/of-the-receive visibility/per-message counts/in-flight groups/locked " +
			"groups/waits-for-all"},
		{name: "visibility timeouts do not change", before: func(c *call) {
			if c.is("ChangeMessageVisibility") {
				c.succeed()
			}
			if c.is("ChangeMessageVisibilityBatch") {
				c.succeed()
				done := []any{}
				for _, e := range c.entries() {
					done = append(done, map[string]any{"Id": e["Id"]})
				}
				c.out["Successful"] = done
			}
		}, fails: "visibility/per-message visibility/extend visibility/shorten visibility/zero visibility/not-kept " +
			"visibility/change-bounds visibility/group batch/change-visibility batch/change-partly groups/order-after-release " +
			"delete/only-that-one delay/only-once receive/new-handle"},
		{name: "a receipt handle deletes once", before: once("DeleteMessage", "ReceiptHandle", "com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid"),
			fails: "delete/twice"},
		{name: "nothing is deleted", before: ignores("DeleteMessage", "DeleteMessageBatch", "PurgeQueue"), fails: "delete/gone delete/latest-handle delete/frees-group purge/everything purge/fifo batch/delete batch/delete-partly " +
			"groups/long-poll groups/waits-for-all fifo/order"},
		{name: "a receive returns ten messages, whatever was asked", before: always("ReceiveMessage", "MaxNumberOfMessages", 10), fails: "receive/one-by-default receive/never-more receive/max-bounds fifo/first-one-group fair/no-lock"},
		{name: "every seventh message is lost", after: func(c *call) {
			if list, _ := c.out["Messages"].([]any); len(list) > 0 {
				c.out["Messages"] = slices.DeleteFunc(list, func(any) bool { n++; return n%7 == 0 })
			}
		}, fails: "receive/every-message batch/send fifo/order"},
		{name: "polls are short", before: always("ReceiveMessage", "WaitTimeSeconds", 0), fails: "long-poll/wakes long-poll/ends-empty long-poll/of-the-queue long-poll/visible-again long-poll/delay-over " +
			"groups/long-poll receive/wait-bounds"},
		{name: "long polls look once, in the end", before: func(c *call) {
			if n, _ := c.in["WaitTimeSeconds"].(json.Number); n == "20" {
				c.in["WaitTimeSeconds"] = 0
				c.pause = 20 * time.Second
			}
		}, fails: "long-poll/wakes long-poll/one-is-enough long-poll/visible-again " +
			"long-poll/delay-over groups/long-poll"},
		{name: "messages come in the opposite order", after: func(c *call) {
			if list, _ := c.out["Messages"].([]any); len(list) > 1 {
				slices.Reverse(list)
			}
		}, fails: "batch/send-order fifo/order fifo/order-of-each-group fifo/several-of-a-group groups/order-after-release " +
			"deduplication/content-differs"},
		{name: "delays are ignored", before: func(c *call) {
			if c.is("SendMessage", "SendMessageBatch") {
				without("DelaySeconds")(c)
			}
			if a := object(c.in, "Attributes"); a != nil {
				a["DelaySeconds"] = "0"
			}
		}, fails: "counts/delayed send/delay-bounds long-poll/delay-over delay/queue delay/message delay/standard-not-retroactive " +
			"delay/fifo delay/fifo-retroactive delay/fifo-message batch/send-settings"},
		{name: "a message's delay is ignored", before: func(c *call) {
			if c.is("SendMessage", "SendMessageBatch") {
				without("DelaySeconds")(c)
			}
		}, fails: "counts/delayed send/delay-bounds long-poll/delay-over delay/message delay/message-over-queue delay/zero-over-queue " +
			"delay/fifo-message batch/send-settings"},
		{name: "messages live forever", before: func(c *call) { delete(object(c.in, "Attributes"), "MessageRetentionPeriod") }, fails: "delete/retention redrive/expiry attributes/created"},
		{name: "groups lock nothing", before: unique("MessageGroupId"), fails: "groups/locked groups/order-after-failure groups/waits-for-all attempts/other-id fifo/first-one-group " +
			"deduplication/of-the-group fair/group-kept"},
		{name: "all groups are one", before: func(c *call) {
			for _, e := range c.entries() {
				if e["MessageGroupId"] != nil {
					e["MessageGroupId"] = "one"
				}
			}
		}, fails: "groups/others-go-on fifo/order-of-each-group attempts/other-groups fair/mixed fair/quiet-first " +
			"redrive-fifo/after-max redrive-fifo/same-ids"},
		{name: "nothing is a duplicate", before: unique("MessageDeduplicationId"), fails: "deduplication/by-id deduplication/id-equals-content deduplication/survives-delete deduplication/in-batches " +
			"deduplication/of-the-* deduplication/window"},
		{name: "content counts, whatever the id", before: func(c *call) {
			if c.is("SendMessage", "SendMessageBatch") {
				without("MessageDeduplicationId")(c)
			}
			if a := object(c.in, "Attributes"); a["FifoQueue"] == "true" {
				a["ContentBasedDeduplication"] = "true"
			}
		}, fails: "deduplication/id-over-content fifo/id-required fifo/sequence"},
		{name: "attempt ids are ignored", before: without("ReceiveRequestAttemptId"), fails: "ids/attempt attempts/same-messages attempts/other-groups attempts/reset-visibility"},
		{name: "redrive policies are ignored", before: func(c *call) {
			delete(object(c.in, "Attributes"), "RedrivePolicy")
		}, fails: "redrive/after-max redrive/content redrive/sources redrive-fifo/after-max redrive-fifo/group-goes-on " +
			"redrive-policy/kept redrive-policy/count redrive-allow/by-queue moves/to-source moves/new-messages"},
		{name: "messages are dead-lettered one receive early", before: countOff("3", "2"), fails: "redrive/after-max redrive/not-before"},
		{name: "dead letters lose their source", after: onSystem(func(a map[string]any) { delete(a, "DeadLetterQueueSourceArn") }), fails: "redrive/source-arn"},
		{name: "dead letters are sent anew", after: onDead(func(a map[string]any) { a["SentTimestamp"] = fmt.Sprint(time.Now().UnixMilli()) }), fails: "redrive/enqueue-time"},
		{name: "dead letters keep their deduplication id", after: onDead(func(a map[string]any) { a["MessageDeduplicationId"] = "own" }), fails: "redrive-fifo/deduplication-id"},
		{name: "tasks know no destination", before: func(c *call) {
			if c.is("StartMessageMoveTask") {
				delete(c.in, "DestinationArn")
			}
		}, fails: "moves/to-destination moves/fifo moves/list moves/unknown-destination moves/other-type"},
		{name: "tasks are not listed", after: func(c *call) { delete(c.out, "Results") }, fails: "moves/list moves/list-unsaid moves/list-latest moves/cancel moves/cancel-completed"},
		{name: "the query protocol is not spoken", before: func(c *call) {
			if c.form {
				c.skip, c.status = true, http.StatusBadRequest
			}
		}, fails: "query/*"},
		{name: "errors quote the request", after: func(c *call) {
			if message := str(c.out["message"]); message != "" {
				c.out["message"] = message + ` Got "x".`
			}
		}, fails: "texts/no-queue texts/batch-id texts/empty-attribute texts/too-large"},
		{name: "nothing is an empty object", after: func(c *call) {
			c.empty = false
		}, fails: "protocol/empty-body"},
	}
}
