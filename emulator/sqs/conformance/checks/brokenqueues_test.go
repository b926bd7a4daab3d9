package checks_test

import (
	"fmt"
	"net/http"
	"strings"
)

func serviceBreakages() []breakage {
	return []breakage{
		{name: "nothing is ever refused", fresh: onAnswer(func(c *call) {
			if c.status == http.StatusBadRequest || c.status == http.StatusNotFound || c.status == http.StatusForbidden {
				c.succeed()
			}
		}), fails: "queues/get-url-unknown queues/create-conflict queues/delete queues/recreate-at-once queues/unknown-* names/too-long " +
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
		{name: "errors have no type", fresh: onAnswer(func(c *call) {
			delete(c.out, "__type")
			c.header.Del("X-Amzn-Query-Error")
		}), fails: "queues/get-url-unknown queues/create-conflict queues/recreate-at-once queues/unknown-* attributes/unknown-* " +
			"attributes/bounds-* send/characters visibility/no-handle delete/no-handle delete/message-id purge/twice " +
			"batch/empty-* batch/too-many-* batch/same-ids-* batch/bad-ids-* batch/size-in-all batch/refused-sends-nothing " +
			"moves/unknown-* moves/list-unknown protocol/error-type protocol/error-header"},
		{name: "errors are the server's", fresh: onAnswer(func(c *call) {
			if c.status/100 == 4 {
				c.status = http.StatusInternalServerError
			}
		}), fails: "protocol/error-status names/too-long names/empty send/empty size/over-1-MiB attributes-of-messages/eleven " +
			"fifo/*-required ids/* redrive-policy/no-* moves/cancel-unknown"},
		{name: "errors have no words, and answers no headers", fresh: onAnswer(func(c *call) {
			delete(c.out, "message")
			c.header.Del("Content-Type")
			c.header.Del("X-Amzn-Requestid")
		}), fails: "protocol/error-message protocol/content-type protocol/request-id"},
	}
}

func queueBreakages() []breakage {
	return []breakage{
		{name: "URLs have no account", fresh: onAnswer(func(c *call) {
			if url := text(c.out["QueueUrl"]); c.is("CreateQueue") && url != "" {
				c.out["QueueUrl"] = strings.Replace(url, "/000000000000/", "/queue/", 1)
			}
		}), fails: "queues/url"},
		{name: "a queue has two URLs", fresh: onAnswer(func(c *call) {
			if url := text(c.out["QueueUrl"]); c.is("GetQueueUrl") && url != "" {
				c.out["QueueUrl"] = url + "/"
			}
		}), fails: "queues/get-url"},
		{name: "names lose their case", fresh: onRequest(func(c *call) {
			for _, field := range []string{"QueueName", "QueueUrl", "QueueNamePrefix"} {
				if name, ok := c.in[field].(string); ok {
					c.in[field] = strings.ToLower(name)
				}
			}
		}), fails: "names/case names/url-case lists/prefix-case"},
		{name: "names may have 75 characters", fresh: onRequest(func(c *call) {
			if len(text(c.in["QueueName"])) > 75 {
				c.refuse("com.amazon.coral.service#InvalidParameterValueException", "InvalidParameterValue")
			}
		}), fails: "names/longest names/fifo-suffix-counts"},
		{name: "a queue is created once, and never again", fresh: func() (_, _ func(*call)) {
			known := map[string]bool{}
			return func(c *call) {
				if name := text(c.in["QueueName"]); c.is("CreateQueue") {
					if known[name] {
						c.refuse("com.amazonaws.sqs#QueueNameExists", "QueueAlreadyExists")
					}
					known[name] = true
				}
			}, nil
		}, fails: "queues/create-again queues/recreate-at-once queues/recreate-later"},
		{name: "a queue is purged once, and never again", fresh: func() (_, _ func(*call)) {
			known := map[string]bool{}
			return func(c *call) {
				if c.is("PurgeQueue") {
					if known[text(c.in["QueueUrl"])] {
						c.refuse("com.amazonaws.sqs#PurgeQueueInProgress", "AWS.SimpleQueueService.PurgeQueueInProgress")
					}
					known[text(c.in["QueueUrl"])] = true
				}
			}, nil
		}, fails: "purge/later"},
		{name: "attributes of queues are ignored", fresh: onRequest(func(c *call) {
			if a := object(c.in, "Attributes"); a["FifoQueue"] != nil {
				c.in["Attributes"] = map[string]any{"FifoQueue": a["FifoQueue"]}
			} else if a != nil {
				delete(c.in, "Attributes")
			}
			if c.is("SetQueueAttributes") {
				c.succeed()
			}
		}), fails: "attributes/created attributes/set attributes/policy attributes/high-throughput attributes/bounds-* " +
			"queues/create-conflict size/queue-limit long-poll/of-the-queue visibility/hides delay/queue delay/fifo " +
			"deduplication/by-content"},
		{name: "attributes of queues come unasked", fresh: onRequest(func(c *call) {
			if c.is("GetQueueAttributes") {
				c.in["AttributeNames"] = []string{"All"}
			}
		}), fails: "attributes/unknown-get attributes/get-none attributes/get-some"},
		{name: "defaults are others, FIFO is not told, ARNs and times are odd", fresh: onAnswer(func(c *call) {
			if a := object(c.out, "Attributes"); a != nil {
				a["MaximumMessageSize"] = "262144"
				delete(a, "FifoQueue")
				a["CreatedTimestamp"] = fmt.Sprint(a["CreatedTimestamp"], "000")
				if arn, ok := a["QueueArn"].(string); ok {
					a["QueueArn"] = strings.Replace(arn, ":us-east-1:", "::", 1)
				}
			}
		}), fails: "attributes/defaults attributes/arn attributes/timestamps attributes/fifo-flag"},
		{name: "there are no counts", fresh: onAnswer(func(c *call) {
			for _, name := range []string{"", "Delayed", "NotVisible"} {
				delete(object(c.out, "Attributes"), "ApproximateNumberOfMessages"+name)
			}
		}), fails: "counts/*"},
		{name: "lists know no prefix", fresh: onRequest(without("QueueNamePrefix")), fails: "lists/prefix lists/prefix-case"},
		{name: "lists have one page, and a token", fresh: onAnswer(func(c *call) {
			if c.is("ListQueues") && c.in["NextToken"] == nil {
				c.out["NextToken"] = "more"
			} else if c.is("ListQueues") {
				c.succeed()
			}
		}), fails: "lists/pages lists/no-token lists/last-page"},
		{name: "tags are ignored", fresh: onRequest(func(c *call) {
			if delete(c.in, "tags"); c.is("TagQueue", "UntagQueue") {
				c.succeed()
			}
		}), fails: "queues/unknown-settings tags/at-creation tags/add tags/overwrite tags/case tags/remove"},
		{name: "queues are born with a tag", fresh: onRequest(func(c *call) {
			if c.is("CreateQueue") && c.in["tags"] == nil {
				c.in["tags"] = map[string]string{"born": "yes"}
			}
		}), fails: "tags/none tags/add tags/overwrite tags/case tags/remove"},
		{name: "permissions are ignored", fresh: onRequest(func(c *call) {
			if c.is("AddPermission") {
				c.succeed()
			}
		}), fails: "permissions/add permissions/add-second permissions/remove permissions/label permissions/action " +
			"permissions/seven-actions"},
	}
}
