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
		{name: "messages are dead-lettered one receive early", fresh: countOff("3", "2"), fails: "redrive/after-max redrive/not-before"},
		{name: "deletes at the last receive come too late", fresh: onRequest(func(c *call) {
			if c.is("DeleteMessage") {
				c.op, c.in["VisibilityTimeout"] = "ChangeMessageVisibility", 0
			}
		}), fails: "redrive/deleted-in-time"},
		{name: "dead letters lose their source", fresh: onSystem(func(a map[string]any) { delete(a, "DeadLetterQueueSourceArn") }), fails: "redrive/source-arn"},
		{name: "dead letters are sent anew", fresh: onDead(func(a map[string]any) { a["SentTimestamp"] = fmt.Sprint(time.Now().UnixMilli()) }), fails: "redrive/enqueue-time"},
		{name: "dead letters keep their deduplication id", fresh: onDead(func(a map[string]any) { a["MessageDeduplicationId"] = "own" }), fails: "redrive-fifo/deduplication-id"},
		{name: "redrive is allowed to none by default", fresh: onRequest(func(c *call) {
			if a := object(c.in, "Attributes"); c.is("CreateQueue") && a["RedriveAllowPolicy"] == nil {
				if a == nil {
					a = map[string]any{}
				}
				a["RedriveAllowPolicy"], c.in["Attributes"] = `{"redrivePermission":"denyAll"}`, a
			}
		}), fails: "redrive-allow/by-default"},
		{name: "tasks know no destination", fresh: onRequest(func(c *call) {
			if c.is("StartMessageMoveTask") {
				delete(c.in, "DestinationArn")
			}
		}), fails: "moves/to-destination moves/fifo moves/list moves/unknown-destination moves/other-type"},
		{name: "tasks are not listed", fresh: onAnswer(func(c *call) { delete(c.out, "Results") }), fails: "moves/list moves/list-unsaid moves/list-latest moves/cancel moves/cancel-completed"},
	}
}
