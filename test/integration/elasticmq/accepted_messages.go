package main

import (
	"slices"
	"strings"
)

// acceptedOnMessages are about sending and receiving.
var acceptedOnMessages = []acceptance{
	{
		name: "the digest of message system attributes", operations: sends, what: one("MD5OfMessageSystemAttributes"), theirs: accepts,
		when:          ofMessage(func(m message) bool { return m.Trace != "" }),
		documentation: "API reference, SendMessage: MD5OfMessageSystemAttributes is an MD5 digest of them.",
		right:         emulator,
	},
	{
		name: "sequence numbers of a batch", operations: one("SendMessageBatch"), what: one("SequenceNumber"), theirs: one("none"),
		when:          ofMessage(func(m message) bool { return m.Group != "" }),
		documentation: "API reference, SendMessageBatchResultEntry: SequenceNumber, for FIFO queues only.",
		right:         emulator,
	},
	{
		name: "sequence numbers of what a batch sent", operations: one("ReceiveMessage"), what: one("SequenceNumber"), theirs: one("not told when it was sent"),
		documentation: "API reference, SendMessageBatchResultEntry: SequenceNumber, for FIFO queues only. ElasticMQ gives them to receivers, but not to senders of batches.",
		right:         emulator,
	},
	{
		name: "names of message attributes", operations: sends, what: errorCode, ours: one("InvalidParameterValue"), theirs: accepts,
		when: ofAttribute(func(name, _ string) bool {
			lower := strings.ToLower(name)
			return strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon.") || strings.HasPrefix(name, ".") || strings.Contains(name, " ") ||
				strings.Contains(name, "..") || len(name) > 256
		}),
		diverges:      true,
		documentation: "developer guide, Amazon SQS message attributes: up to 256 characters, no AWS. or Amazon. first, no period first or last or after another.",
		right:         emulator,
	},
	{
		name: "types of message attributes that are too long", operations: sends, what: errorCode, ours: one("InvalidParameterValue"), theirs: accepts,
		when: ofAttribute(func(_, typed string) bool {
			kind, _, _ := strings.Cut(typed, ":")
			return len(kind) > 256
		}),
		diverges:      true,
		documentation: "developer guide, Amazon SQS message attributes: a type with its label is up to 256 bytes long.",
		right:         emulator,
	},
	{
		name: "one entry's wrong attributes fail its batch", operations: one("SendMessageBatch"), what: errorCode, ours: accepts, theirs: one("InvalidParameterValue"),
		when: ofAttribute(func(_, typed string) bool {
			return strings.HasPrefix(typed, ":") || strings.HasPrefix(typed, "Strange:")
		}),
		diverges:      true,
		documentation: "API reference, SendMessageBatch: the result of sending each message is reported individually in the response.",
		right:         emulator,
	},
	{
		name: "one entry without deduplication id fails its batch", operations: one("SendMessageBatch"), what: errorCode, ours: one("InvalidParameterValue"), theirs: accepts,
		when: func(d difference) bool {
			return d.fifo && slices.ContainsFunc(d.operation.Messages, func(m message) bool { return m.Dedup == "" || m.Group == "" })
		},
		diverges:      true,
		documentation: "API reference, SendMessageBatch, does not say it: AWS refuses the whole batch, where its rule is that each entry's result is reported individually.",
		right:         neither,
	},
	{
		name: "the code for an empty body", operations: sends, what: errorCode, ours: one("MissingParameter"), theirs: one("InvalidAttributeValue"),
		when:          ofMessage(func(m message) bool { return m.Body == "" }),
		documentation: "API reference, SendMessage: the minimum size is one character; the code is not documented.",
		right:         neither,
	},
	{
		name: "empty binary attributes", operations: sends, what: errorCode, ours: one("InvalidParameterValue"), theirs: accepts,
		when:          ofAttribute(func(_, typed string) bool { return typed == "Binary:" }),
		diverges:      true,
		documentation: "API reference, SendMessage: Name, type, value and the message body must not be empty or null.",
		right:         emulator,
	},
	{
		name: "the code for message attributes and messages over their bounds", operations: sends, what: errorCode,
		ours: one("InvalidParameterValue"), theirs: one("InvalidAttributeValue"),
		documentation: "API reference, SendMessage, Errors: InvalidAttributeValue is not among them. AWS answers InvalidParameterValue for these.",
		right:         emulator,
		when: ofMessage(func(m message) bool {
			if len(m.Attributes) > 10 || len(m.text()) > 1<<20 {
				return true
			}
			for _, typed := range m.Attributes {
				kind, text, _ := strings.Cut(typed, ":")
				if text == "" || kind == "Number" || len(kind) > 256 {
					return true
				}
			}
			return false
		}),
	},
	{
		name: "the code for characters that are not allowed", operations: sends, what: errorCode,
		ours: []string{"InvalidMessageContents", "InvalidParameterValue"}, theirs: one("InvalidAttributeValue"),
		when: ofMessage(func(m message) bool {
			return strings.ContainsAny(m.Body, "\x01\ufffe") || strings.Contains(m.Attributes["a"], "\x01")
		}),
		documentation: "API reference, SendMessage, Errors: InvalidMessageContents, characters outside the allowed set. In an attribute AWS answers InvalidParameterValue.",
		right:         emulator,
	},
	{
		name: "the code for a batch that is too long", operations: one("SendMessageBatch"), what: errorCode,
		ours: one("BatchRequestTooLong"), theirs: one("InvalidAttributeValue"),
		documentation: "API reference, SendMessageBatch, Errors: BatchRequestTooLong.",
		right:         emulator,
	},
	{
		name: "deduplication by group", operations: sends, what: []string{"MessageId", "SequenceNumber"},
		when: func(d difference) bool {
			return strings.HasPrefix(d.theirs, "that of ") && slices.ContainsFunc(d.earlier, func(o operation) bool {
				return o.Queue == 0 && o.QueueName == "" && o.Attributes["DeduplicationScope"] == "messageGroup"
			})
		},
		diverges:      true,
		documentation: "API reference, CreateQueue: DeduplicationScope messageGroup deduplicates within a message group. ElasticMQ has no such attribute.",
		right:         emulator,
	},
	{
		name: "deduplication of what was deleted, purged or moved away", operations: sends, what: one("MessageId"),
		when: func(d difference) bool {
			return strings.HasPrefix(d.ours, "that of ") && (d.theirs == "new" || sentBefore(d)) && slices.ContainsFunc(d.earlier, func(o operation) bool {
				return slices.Contains([]string{"DeleteMessage", "DeleteMessageBatch", "PurgeQueue"}, o.Name) || o.Attributes["RedrivePolicy"] != ""
			})
		},
		diverges:      true,
		documentation: "developer guide, Using the message deduplication ID: SQS goes on tracking the id after the message is received and deleted.",
		right:         emulator,
	},
	{
		name: "the sequence number of a duplicate", operations: []string{"SendMessage", "SendMessageBatch", "ReceiveMessage"}, what: one("SequenceNumber"),
		when: func(d difference) bool {
			return d.fifo && strings.HasPrefix(d.ours, "that of ") && d.theirs != "none" && d.theirs != "unknown"
		},
		documentation: "API reference, SendMessage: a duplicate is accepted but not delivered; which sequence number is returned is not said. ElasticMQ makes a new one, and gives it to the message that was sent first.",
		right:         neither,
	},
	{
		name: "the order of sequence numbers when there was a duplicate", operations: sends, what: one("SequenceNumber"),
		ours: one("new"), theirs: one("new, but lower than an earlier one"),
		documentation: "developer guide, FIFO queue and message identifiers: SequenceNumber continues to increase for a particular MessageGroupId. ElasticMQ gives a duplicate a number of its own, higher than the next one's.",
		right:         emulator,
	},
	{
		name: "the time of a FIFO queue's dead letters", operations: one("ReceiveMessage"), what: one("SentTimestamp"),
		when:          func(d difference) bool { return d.fifo && d.operation.Queue == 1 },
		documentation: "developer guide, Setting-up dead-letter queue retention: for FIFO queues the enqueue timestamp resets when the message is moved.",
		right:         emulator,
	},
	{
		name: "dead letters among the messages of a receive of few", operations: one("ReceiveMessage"), what: one(pathReceived),
		when: func(d difference) bool {
			return d.operation.Max < maxSent && subset(d.theirs, d.ours) &&
				slices.ContainsFunc(d.earlier, func(o operation) bool { return strings.Contains(o.Attributes["RedrivePolicy"], "maxReceiveCount") }) &&
				slices.ContainsFunc(d.earlier, func(o operation) bool { return o.Name == "ReceiveMessage" && o.Queue == d.operation.Queue })
		},
		diverges:      true,
		documentation: "API reference, ReceiveMessage: MaxNumberOfMessages: never more than this value, but fewer might be returned. ElasticMQ counts what the receive moves to the dead-letter queue among them; the emulator goes on to the next.",
		right:         neither,
	},
	{
		name: "a FIFO queue's new delay", operations: []string{"ReceiveMessage", "GetQueueAttributes"},
		what: []string{pathReceived, "attribute ApproximateNumberOfMessages", "attribute ApproximateNumberOfMessagesDelayed"},
		when: func(d difference) bool {
			return d.fifo && slices.ContainsFunc(d.earlier, func(o operation) bool {
				return o.Name == "SetQueueAttributes" && o.Attributes["DelaySeconds"] != ""
			})
		},
		diverges:      true,
		documentation: "developer guide, Amazon SQS delay queues: for FIFO queues the per-queue delay is retroactive, it affects messages that are in the queue. For ElasticMQ it is not.",
		right:         emulator,
	},
	{
		name: "message attributes by prefix", operations: one("ReceiveMessage"),
		what: []string{"MD5OfMessageAttributes", "attribute colour", "attribute count"}, theirs: accepts,
		when:          func(d difference) bool { return len(d.operation.Names) == 1 && d.operation.Names[0] == "co.*" },
		documentation: "API reference, ReceiveMessage: MessageAttributeNames may name all attributes that start with a prefix, such as bar.*.",
		right:         emulator,
	},
	{
		name: "message system attributes that there are not", operations: one("ReceiveMessage"), what: errorCode,
		ours: one("InvalidAttributeName"), theirs: accepts, diverges: true,
		when:          func(d difference) bool { return d.operation.Token == "Nonsense" },
		documentation: "API reference, ReceiveMessage: lists the names; Errors: InvalidAttributeName is not among them there, but is GetQueueAttributes's for the same mistake.",
		right:         neither,
	},
	{
		name: "numbers of a receive over their bounds", operations: one("ReceiveMessage"), what: errorCode,
		ours: one("InvalidParameterValue"), theirs: one("InvalidAttributeValue"),
		when: func(d difference) bool {
			o := d.operation
			return o.Max < 0 || o.Max > 10 || o.Wait < 0 || o.Wait > 20
		},
		documentation: "API reference, ReceiveMessage, Errors: InvalidAttributeValue is not among them. AWS answers InvalidParameterValue, \"Value … for parameter MaxNumberOfMessages is invalid\".",
		right:         emulator,
	},
	{
		name: "a receive's visibility over its bounds", operations: one("ReceiveMessage"), what: errorCode,
		ours: one("InvalidParameterValue"), theirs: accepts, diverges: true,
		when:          func(d difference) bool { return d.operation.Visibility < 0 || d.operation.Visibility > 43200 },
		documentation: "developer guide, Amazon SQS visibility timeout: 0 seconds to 12 hours.",
		right:         emulator,
	},
}

// sentBefore tells whether theirs is that of an entry before this one in the
// same batch, with the same deduplication id: what was new there is the
// original of those that follow.
func sentBefore(d difference) bool {
	dedup := func(m message) string {
		if m.Dedup != "" {
			return m.Dedup
		}
		return "the body " + m.Body
	}
	entries := d.operation.Messages
	at := slices.IndexFunc(entries, func(m message) bool { return m.ID == d.entry() })
	return at >= 0 && slices.ContainsFunc(entries[:at], func(m message) bool {
		return d.theirs == "that of "+m.Body && dedup(m) == dedup(entries[at])
	})
}

// subset tells whether every message of one receive is in the other.
func subset(some, all string) bool {
	return !slices.ContainsFunc(strings.Split(some, ", "), func(m string) bool {
		return m != "" && !slices.Contains(strings.Split(all, ", "), m)
	})
}
