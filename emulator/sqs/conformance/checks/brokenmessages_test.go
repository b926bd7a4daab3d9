package checks_test

import (
	"fmt"
	"strings"
)

// without removes fields of requests.
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

func messageBreakages() []breakage {
	return []breakage{
		{name: "zero is taken for nothing", fresh: onRequest(zeroIsNothing), fails: "receive/max-bounds lists/max-results long-poll/zero-is-short visibility/zero-receive visibility/zero " +
			"visibility/group delay/zero-over-queue"},
		{name: "bodies are trimmed", fresh: onMessage(func(m map[string]any) { m["Body"] = strings.TrimSpace(text(m["Body"])) }), fails: "send/body-intact"},
		{name: "no digests of bodies", fresh: onAnswer(func(c *call) {
			delete(c.out, "MD5OfMessageBody")
			for _, m := range c.messages() {
				delete(m, "MD5OfBody")
			}
		}), fails: "digests/body-sent digests/body-received"},
		{name: "no digests of attributes", fresh: onAnswer(func(c *call) {
			delete(c.out, "MD5OfMessageAttributes")
			delete(c.out, "MD5OfMessageSystemAttributes")
		}), fails: "digests/system-attributes digests/attributes-String digests/attributes-Number digests/attributes-Binary " +
			"digests/attributes-custom digests/attributes-mixed"},
		{name: "digests where there is nothing to digest", fresh: onAnswer(func(c *call) {
			c.out["MD5OfMessageAttributes"] = "d41d8cd98f00b204e9800998ecf8427e"
		}), fails: "digests/none"},
		{name: "every message has the same id", fresh: onAnswer(func(c *call) {
			if c.is("SendMessage") {
				c.out["MessageId"] = "one-for-all"
			}
		}), fails: "send/answer send/ids-differ receive/same-id redrive/after-max"},
		{name: "failed entries are not told", fresh: onAnswer(func(c *call) { delete(c.out, "Failed") }), fails: "batch/send-partly batch/delete-partly batch/change-partly"},
		{name: "the limit is 256 KiB", fresh: onRequest(func(c *call) {
			n := 0
			for _, e := range c.entries() {
				n += len(text(e["MessageBody"]))
			}
			if n > 256<<10 {
				c.refuse("com.amazonaws.sqs#BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong")
			}
		}), fails: "size/1-MiB batch/size-in-all"},
		{name: "message attributes are lost", fresh: onRequest(without("MessageAttributes")), fails: "attributes-of-messages/intact attributes-of-messages/ten attributes-of-messages/name-longest redrive/content " +
			"selection/names selection/prefix selection/all moves/to-destination size/attributes-count"},
		{name: "names of message attributes lose their case", fresh: onMessage(func(m map[string]any) {
			lower := map[string]any{}
			for name, value := range object(m, "MessageAttributes") {
				lower[strings.ToLower(name)] = value
			}
			m["MessageAttributes"] = lower
		}), fails: "attributes-of-messages/name-case attributes-of-messages/name-longest selection/case selection/all " +
			"selection/dot-asterisk"},
		{name: "message attributes come unasked", fresh: onRequest(func(c *call) {
			if c.is("ReceiveMessage") {
				c.in["MessageAttributeNames"] = []string{"All"}
			}
		}), fails: "selection/none selection/names selection/case selection/prefix"},
		{name: "system attributes come unasked", fresh: onRequest(func(c *call) {
			if c.is("ReceiveMessage") {
				c.in["MessageSystemAttributeNames"] = []string{"All"}
			}
		}), fails: "selection/system-none selection/system-names selection/system-older-name"},
		{name: "system attributes are lost", fresh: onMessage(func(m map[string]any) { delete(m, "Attributes") }), fails: "system-attributes/* send/trace-header selection/system-names selection/system-older-name fair/group-kept"},
		{name: "every receive is the first", fresh: onSystem(func(a map[string]any) { a["ApproximateReceiveCount"] = "1" }), fails: "system-attributes/receive-count redrive/receive-count redrive/without-policy"},
		{name: "trace headers are lost", fresh: onSystem(func(a map[string]any) { delete(a, "AWSTraceHeader") }), fails: "send/trace-header send/trace-http-header* selection/system-names"},
	}
}
