package checks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// unique gives the field of each message that has it a value of its own.
func unique(field string) func() (_, _ func(*call)) {
	return func() (_, _ func(*call)) {
		n := 0
		return func(c *call) {
			if c.is("SendMessage", "SendMessageBatch") {
				for _, e := range c.entries() {
					if e[field] != nil {
						n++
						e[field] = fmt.Sprint("unique-", n)
					}
				}
			}
		}, nil
	}
}

func receiveBreakages() []breakage {
	return []breakage{
		{name: "nothing is hidden", fresh: onRequest(func(c *call) {
			if c.is("ReceiveMessage") {
				c.in["VisibilityTimeout"] = 0
			}
		}), fails: "visibility/hides visibility/of-the-receive visibility/per-message counts/in-flight groups/locked " +
			"groups/waits-for-all"},
		{name: "visibility timeouts do not change", fresh: onRequest(func(c *call) {
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
		}), fails: "visibility/per-message visibility/extend visibility/shorten visibility/zero visibility/not-kept " +
			"visibility/change-bounds visibility/group batch/change-visibility batch/change-partly groups/order-after-release " +
			"delete/only-that-one delay/only-once receive/new-handle"},
		{name: "an old receipt handle is refused on standard queues", fresh: func() (_, _ func(*call)) {
			id, latest := map[string]string{}, map[string]string{}
			return func(c *call) {
					handle := text(c.in["ReceiptHandle"])
					if m := id[handle]; c.is("DeleteMessage") && m != "" && latest[m] != handle {
						c.refuse("com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid")
					}
				}, func(c *call) {
					for _, m := range c.messages() {
						id[text(m["ReceiptHandle"])], latest[text(m["MessageId"])] = text(m["MessageId"]), text(m["ReceiptHandle"])
					}
				}
		}, fails: "delete/old-handle"},
		{name: "a receipt handle deletes once", fresh: func() (_, _ func(*call)) {
			used := map[string]bool{}
			return onRequest(func(c *call) {
				if handle := text(c.in["ReceiptHandle"]); c.is("DeleteMessage") && used[handle] {
					c.refuse("com.amazonaws.sqs#ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid")
				} else {
					used[handle] = c.is("DeleteMessage")
				}
			})()
		}, fails: "delete/twice"},
		{name: "nothing is deleted", fresh: onRequest(func(c *call) {
			if c.is("DeleteMessage", "DeleteMessageBatch", "PurgeQueue") {
				c.succeed()
			}
		}), fails: "delete/gone delete/latest-handle delete/frees-group purge/everything purge/fifo batch/delete batch/delete-partly " +
			"groups/long-poll groups/waits-for-all fifo/order"},
		{name: "a receive returns ten messages, whatever was asked", fresh: onRequest(func(c *call) {
			if c.is("ReceiveMessage") {
				c.in["MaxNumberOfMessages"] = 10
			}
		}), fails: "receive/one-by-default receive/never-more receive/max-bounds fifo/first-one-group fair/no-lock"},
		{name: "every seventh message is lost", fresh: func() (_, _ func(*call)) {
			n := 0
			return nil, func(c *call) {
				if list, _ := c.out["Messages"].([]any); len(list) > 0 {
					c.out["Messages"] = slices.DeleteFunc(list, func(any) bool { n++; return n%7 == 0 })
				}
			}
		}, fails: "receive/every-message batch/send fifo/order"},
		{name: "polls are short", fresh: onRequest(func(c *call) {
			if c.is("ReceiveMessage") {
				c.in["WaitTimeSeconds"] = 0
			}
		}), fails: "long-poll/wakes long-poll/ends-empty long-poll/of-the-queue long-poll/visible-again long-poll/delay-over " +
			"groups/long-poll receive/wait-bounds"},
		{name: "long polls look once, in the end", fresh: onRequest(func(c *call) {
			if n, _ := c.in["WaitTimeSeconds"].(json.Number); n == "20" {
				c.in["WaitTimeSeconds"] = 0
				c.pause = 20 * time.Second
			}
		}), fails: "long-poll/wakes long-poll/one-is-enough long-poll/visible-again " +
			"long-poll/delay-over groups/long-poll"},
		{name: "messages come in the opposite order", fresh: onAnswer(func(c *call) {
			if list, _ := c.out["Messages"].([]any); len(list) > 1 {
				slices.Reverse(list)
			}
		}), fails: "batch/send-order fifo/order fifo/order-of-each-group fifo/several-of-a-group groups/order-after-release " +
			"deduplication/content-differs"},
		{name: "delays are ignored", fresh: onRequest(func(c *call) {
			if c.is("SendMessage", "SendMessageBatch") {
				without("DelaySeconds")(c)
			}
			if a := object(c.in, "Attributes"); a != nil {
				a["DelaySeconds"] = "0"
			}
		}), fails: "counts/delayed send/delay-bounds long-poll/delay-over delay/queue delay/message delay/standard-not-retroactive " +
			"delay/fifo delay/fifo-retroactive delay/fifo-message batch/send-settings"},
		{name: "a message's delay is ignored", fresh: onRequest(func(c *call) {
			if c.is("SendMessage", "SendMessageBatch") {
				without("DelaySeconds")(c)
			}
		}), fails: "counts/delayed send/delay-bounds long-poll/delay-over delay/message delay/message-over-queue delay/zero-over-queue " +
			"delay/fifo-message batch/send-settings"},
		{name: "messages live forever", fresh: onRequest(func(c *call) { delete(object(c.in, "Attributes"), "MessageRetentionPeriod") }), fails: "delete/retention redrive/expiry attributes/created"},
		{name: "messages live for half their time", fresh: onRequest(func(c *call) {
			if a := object(c.in, "Attributes"); a["MessageRetentionPeriod"] == "120" {
				a["MessageRetentionPeriod"] = "60"
			}
		}), fails: "redrive-fifo/expiry"},
		{name: "groups lock nothing", fresh: unique("MessageGroupId"), fails: "groups/locked groups/order-after-failure groups/waits-for-all attempts/other-id fifo/first-one-group " +
			"deduplication/of-the-group fair/group-kept"},
		{name: "all groups are one", fresh: onRequest(func(c *call) {
			for _, e := range c.entries() {
				if e["MessageGroupId"] != nil {
					e["MessageGroupId"] = "one"
				}
			}
		}), fails: "groups/others-go-on fifo/order-of-each-group attempts/other-groups fair/mixed fair/quiet-first " +
			"redrive-fifo/after-max redrive-fifo/same-ids"},
		{name: "nothing is a duplicate", fresh: unique("MessageDeduplicationId"), fails: "deduplication/by-id deduplication/id-equals-content deduplication/survives-delete deduplication/in-batches " +
			"deduplication/of-the-* deduplication/window"},
		{name: "content counts, whatever the id", fresh: onRequest(func(c *call) {
			if c.is("SendMessage", "SendMessageBatch") {
				without("MessageDeduplicationId")(c)
			}
			if a := object(c.in, "Attributes"); a["FifoQueue"] == "true" {
				a["ContentBasedDeduplication"] = "true"
			}
		}), fails: "deduplication/id-over-content fifo/id-required fifo/sequence"},
		{name: "attempt ids are ignored", fresh: onRequest(without("ReceiveRequestAttemptId")), fails: "ids/attempt attempts/same-messages attempts/other-groups attempts/reset-visibility"},
	}
}
