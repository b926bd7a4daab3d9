package checks_test

import (
	"fmt"
	"strings"
	"time"
)

// countOff changes maxReceiveCount in redrive policies.
func countOff(from, to string) func() (_, _ func(*call)) {
	return onRequest(func(c *call) {
		if a := object(c.in, "Attributes"); a["RedrivePolicy"] != nil {
			a["RedrivePolicy"] = strings.Replace(text(a["RedrivePolicy"]), `"maxReceiveCount":`+from+`}`, `"maxReceiveCount":`+to+`}`, 1)
		}
	})
}

// onDead changes the system attributes of dead-lettered messages.
func onDead(do func(attributes map[string]any)) func() (_, _ func(*call)) {
	return onSystem(func(a map[string]any) {
		if a["DeadLetterQueueSourceArn"] != nil {
			do(a)
		}
	})
}

func deadLetterBreakages() []breakage {
	return []breakage{
		{name: "redrive policies are ignored", fresh: onRequest(func(c *call) {
			delete(object(c.in, "Attributes"), "RedrivePolicy")
		}), fails: "redrive/after-max redrive/content redrive/sources redrive-fifo/after-max redrive-fifo/group-goes-on " +
			"redrive-policy/kept redrive-policy/count redrive-allow/by-queue moves/to-source moves/new-messages"},
		{name: "messages are dead-lettered one receive late", fresh: countOff("3", "4"), fails: "redrive/after-max"},
		{name: "messages are dead-lettered one receive early", fresh: countOff("3", "2"), fails: "redrive/after-max redrive/not-before"},
		{name: "deletes at the last receive come too late", fresh: onRequest(func(c *call) {
			if c.is("DeleteMessage") {
				c.op, c.in["VisibilityTimeout"] = "ChangeMessageVisibility", 0
			}
		}), fails: "redrive/deleted-in-time"},
		{name: "dead letters lose their source", fresh: onSystem(func(a map[string]any) { delete(a, "DeadLetterQueueSourceArn") }), fails: "redrive/source-arn"},
		{name: "dead letters are counted anew", fresh: onDead(func(a map[string]any) { a["ApproximateReceiveCount"] = "1" }), fails: "redrive/receive-count"},
		{name: "dead letters are sent anew", fresh: onDead(func(a map[string]any) { a["SentTimestamp"] = fmt.Sprint(time.Now().UnixMilli()) }), fails: "redrive/enqueue-time"},
		{name: "dead letters keep their deduplication id", fresh: onDead(func(a map[string]any) { a["MessageDeduplicationId"] = "own" }), fails: "redrive-fifo/deduplication-id"},
		{name: "dead letters lose their group", fresh: onDead(func(a map[string]any) { delete(a, "MessageGroupId") }), fails: "redrive-fifo/after-max"},
		{name: "messages are dropped at the sixth receive", fresh: onAnswer(func(c *call) {
			for _, m := range c.messages() {
				if object(m, "Attributes")["ApproximateReceiveCount"] == "6" {
					delete(c.out, "Messages")
				}
			}
		}), fails: "redrive/without-policy"},
		{name: "no queue is a dead-letter queue to another's eyes", fresh: onAnswer(func(c *call) {
			if c.is("ListDeadLetterSourceQueues") && c.status == 200 {
				c.out["queueUrls"] = []any{}
			}
		}), fails: "redrive/sources"},
		{name: "redrive is allowed to none by default", fresh: onRequest(func(c *call) {
			if a := object(c.in, "Attributes"); c.is("CreateQueue") && a["RedriveAllowPolicy"] == nil {
				if a == nil {
					a = map[string]any{}
				}
				a["RedriveAllowPolicy"], c.in["Attributes"] = `{"redrivePermission":"denyAll"}`, a
			}
		}), fails: "redrive-allow/by-default"},
		{name: "tasks do nothing", fresh: onRequest(func(c *call) {
			if c.is("StartMessageMoveTask") {
				c.succeed()
				c.out["TaskHandle"] = "task"
			}
		}), fails: "moves/to-source moves/to-destination moves/new-messages moves/fifo moves/list moves/list-unsaid moves/list-latest " +
			"moves/cancel moves/no-dead-letter-queue moves/other-type moves/one-at-a-time moves/rate"},
		{name: "tasks know no destination", fresh: onRequest(func(c *call) {
			if c.is("StartMessageMoveTask") {
				delete(c.in, "DestinationArn")
			}
		}), fails: "moves/to-destination moves/fifo moves/list moves/unknown-destination moves/other-type"},
		{name: "tasks know no rate", fresh: onRequest(without("MaxNumberOfMessagesPerSecond")), fails: "moves/list moves/list-latest moves/rate"},
		{name: "tasks keep handle, destination and rate for ever", fresh: onAnswer(func(c *call) {
			list, _ := c.out["Results"].([]any)
			for _, r := range list {
				task := r.(map[string]any)
				task["TaskHandle"], task["DestinationArn"] = "task", "arn:aws:sqs:us-east-1:000000000000:somewhere"
			}
		}), fails: "moves/list moves/list-unsaid moves/cancel"},
		{name: "tasks are not listed", fresh: onAnswer(func(c *call) { delete(c.out, "Results") }), fails: "moves/list moves/list-unsaid moves/list-latest moves/cancel moves/cancel-completed"},
		{name: "tasks are not cancelled", fresh: onRequest(func(c *call) {
			if c.is("CancelMessageMoveTask") {
				c.succeed()
				c.out["ApproximateNumberOfMessagesMoved"] = 0
			}
		}), fails: "moves/cancel moves/cancel-unknown moves/cancel-completed"},
		{name: "moved messages are the old ones", fresh: func() (_, _ func(*call)) {
			known := map[string]string{} // ids by body
			return nil, func(c *call) {
				for _, m := range c.messages() {
					if id, ok := known[text(m["Body"])]; ok && m["Body"] == "poison" {
						m["MessageId"] = id
					} else {
						known[text(m["Body"])] = text(m["MessageId"])
					}
				}
			}
		}, fails: "moves/new-messages"},
	}
}
