package main

import (
	"fmt"
	"strings"
)

// attributeLimits are values of queue attributes, for SetQueueAttributes and
// for CreateQueue of one more queue.
func attributeLimits() []limit {
	var all []limit
	value := func(on kind, name, text string) {
		all = append(all,
			call(on, operation{Name: "SetQueueAttributes", Attributes: map[string]string{name: text}}),
			limit{on, func(g *generator) []operation {
				return []operation{g.another(map[string]string{name: text})}
			}})
	}
	for _, bounds := range []struct {
		name      string
		low, high int
	}{
		{"DelaySeconds", 0, 900},
		{"MaximumMessageSize", 1024, 1 << 20},
		{"MessageRetentionPeriod", 60, 1209600},
		{"VisibilityTimeout", 0, 43200},
		{"KmsDataKeyReusePeriodSeconds", 60, 86400},
	} {
		for _, n := range []int{bounds.low - 1, bounds.low, bounds.high, bounds.high + 1} {
			value(everywhere, bounds.name, fmt.Sprint(n))
		}
		value(everywhere, bounds.name, "many")
	}
	for _, text := range []string{"-1", "0", "x"} {
		value(everywhere, "ReceiveMessageWaitTimeSeconds", text)
	}
	all = append(all, limit{everywhere, func(g *generator) []operation {
		g.over = true // where it is taken, receives would wait for so long
		return []operation{{Name: "SetQueueAttributes", Attributes: map[string]string{"ReceiveMessageWaitTimeSeconds": "21"}}}
	}}, limit{everywhere, func(g *generator) []operation {
		return []operation{g.another(map[string]string{"ReceiveMessageWaitTimeSeconds": "21"})}
	}})
	value(everywhere, "Nonsense", "1")
	value(everywhere, "QueueArn", "arn")
	value(everywhere, "Policy", "{")
	value(everywhere, "Policy", "")
	value(everywhere, "SqsManagedSseEnabled", "perhaps")
	value(everywhere, "SqsManagedSseEnabled", "false")
	value(everywhere, "FifoQueue", "false")
	value(onStandard, "ContentBasedDeduplication", "true")
	value(onStandard, "DeduplicationScope", "queue")
	value(onFIFO, "ContentBasedDeduplication", "perhaps")
	value(onFIFO, "DeduplicationScope", "perhaps")
	value(onFIFO, "FifoThroughputLimit", "perhaps")
	value(onFIFO, "FifoThroughputLimit", "perMessageGroupId")
	for _, text := range []string{"", "x", "{}", `{"deadLetterTargetArn":"{arn:1}"}`, `{"maxReceiveCount":3}`,
		`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:none","maxReceiveCount":3}`, `{"deadLetterTargetArn":"none","maxReceiveCount":3}`} {
		value(everywhere, "RedrivePolicy", text)
	}
	for _, count := range []string{"0", "1", "1000", "1001", `"5"`, `"x"`, "2.5"} {
		value(onDeadLetters, "RedrivePolicy", `{"deadLetterTargetArn":"{arn:1}","maxReceiveCount":`+count+`}`)
	}
	for _, text := range []string{"x", `{"redrivePermission":"allowAll"}`, `{"redrivePermission":"denyAll"}`, `{"redrivePermission":"some"}`,
		`{"redrivePermission":"byQueue"}`, `{"redrivePermission":"byQueue","sourceQueueArns":["{arn:0}"]}`,
		`{"redrivePermission":"allowAll","sourceQueueArns":["{arn:0}"]}`} {
		value(everywhere, "RedriveAllowPolicy", text)
	}
	return append(all, call(everywhere, operation{Name: "SetQueueAttributes", Attributes: map[string]string{}}),
		call(everywhere, operation{Name: "GetQueueAttributes", Names: []string{"Nonsense"}}),
		call(everywhere, operation{Name: "GetQueueAttributes"}),
		call(onStandard, operation{Name: "GetQueueAttributes", Names: []string{"ContentBasedDeduplication"}}),
		call(onStandard, operation{Name: "GetQueueAttributes", Names: []string{"FifoQueue"}}))
}

// another creates a queue beside the sequence's own.
func (g *generator) another(attributes map[string]string) operation {
	o := operation{Name: "CreateQueue", QueueName: "{prefix}-x", Attributes: attributes}
	if g.fifo {
		o.QueueName += ".fifo"
		if _, given := attributes["FifoQueue"]; !given {
			o.Attributes = with(attributes, "FifoQueue", "true")
		}
	}
	return o
}

// queueLimits are about queues, their names and their tags.
func queueLimits() []limit {
	create := func(name string, attributes map[string]string) limit {
		return call(everywhere, operation{Name: "CreateQueue", QueueName: name, Attributes: attributes})
	}
	tags := map[string]string{}
	for i := range 51 {
		tags[fmt.Sprint("t", i)] = "v"
	}
	tag := func(tags map[string]string) limit { return call(everywhere, operation{Name: "TagQueue", Tags: tags}) }
	fifo := map[string]string{"FifoQueue": "true"}
	all := []limit{
		create("{prefix:80}", nil),
		create("{prefix:81}", nil),
		create("{prefix}.a", nil),
		create("{prefix} a", nil),
		create("{prefix}/a", nil),
		create("{prefix}-a.fifo", nil),
		create("{prefix}-a", fifo),
		create("{prefix:81}.fifo", fifo),
		{everywhere, func(g *generator) []operation { // idempotent
			return []operation{g.another(map[string]string{"DelaySeconds": "3"}), g.another(map[string]string{"DelaySeconds": "3"}), g.another(map[string]string{})}
		}},
		{everywhere, func(g *generator) []operation {
			return []operation{g.another(map[string]string{"DelaySeconds": "3"}), g.another(map[string]string{"DelaySeconds": "4"})}
		}},
		{everywhere, func(g *generator) []operation { // gone, and back too soon
			again := operation{Name: "CreateQueue", Attributes: map[string]string{}}
			if g.fifo {
				again.Attributes["FifoQueue"] = "true"
			}
			return []operation{{Name: "DeleteQueue"}, {Name: "GetQueueUrl"}, {Name: "GetQueueAttributes", Names: []string{"All"}}, again}
		}},
		{everywhere, func(*generator) []operation { return []operation{{Name: "PurgeQueue"}, {Name: "PurgeQueue"}} }},
		call(onDeadLetters, operation{Name: "DeleteQueue", Queue: 1}),
		call(everywhere, operation{Name: "GetQueueUrl", QueueName: "{prefix}-none"}),
		call(everywhere, operation{Name: "GetQueueUrl", QueueName: "a b"}),
		{everywhere, func(g *generator) []operation {
			return []operation{g.another(map[string]string{}), {Name: "ListQueues", Max: 1}}
		}},
		call(everywhere, operation{Name: "ListQueues", Max: 1000}),
		call(everywhere, operation{Name: "ListQueues", Max: 1001}),
		call(everywhere, operation{Name: "ListQueues", Max: -1}),
		call(everywhere, operation{Name: "ListQueues", Max: 1, Token: "garbage"}),
		call(everywhere, operation{Name: "ListDeadLetterSourceQueues", Max: 1001}),
		call(everywhere, operation{Name: "ListDeadLetterSourceQueues", Queue: 1}),
		tag(tags),
		tag(map[string]string{}),
		tag(map[string]string{"": "v"}),
		tag(map[string]string{strings.Repeat("k", 128): strings.Repeat("v", 256)}),
		tag(map[string]string{strings.Repeat("k", 129): "v"}),
		tag(map[string]string{"k": strings.Repeat("v", 257)}),
		tag(map[string]string{"aws:k": "v"}),
		call(everywhere, operation{Name: "UntagQueue", Names: []string{}}),
		call(everywhere, operation{Name: "UntagQueue", Names: []string{"none"}}),
	}
	for _, o := range []operation{
		{Name: "DeleteQueue"}, {Name: "GetQueueAttributes", Names: []string{"All"}}, {Name: "SetQueueAttributes", Attributes: map[string]string{"DelaySeconds": "1"}},
		{Name: "ListQueueTags"}, {Name: "TagQueue", Tags: map[string]string{"a": "b"}}, {Name: "UntagQueue", Names: []string{"a"}},
		{Name: "PurgeQueue"}, {Name: "ListDeadLetterSourceQueues"},
		{Name: "SendMessage", Messages: []message{{Body: "b", Group: "g", Dedup: "d"}}},
		{Name: "SendMessageBatch", Messages: []message{{ID: "e", Body: "b", Group: "g", Dedup: "d"}}},
	} {
		o.NoQueue = true
		all = append(all, call(everywhere, o))
	}
	return all
}
