package main

import (
	"slices"
	"strings"
)

// acceptedOnQueues are about queues, their attributes, lists and tags.
var acceptedOnQueues = []acceptance{
	{
		name: "queue attributes that ElasticMQ does not return", operations: one("GetQueueAttributes"),
		what: []string{"attribute MaximumMessageSize", "attribute MessageRetentionPeriod", "attribute SqsManagedSseEnabled",
			"attribute DeduplicationScope", "attribute FifoThroughputLimit", "attribute Policy", "attribute RedriveAllowPolicy",
			"attribute KmsDataKeyReusePeriodSeconds"},
		theirs:        accepts,
		documentation: "API reference, GetQueueAttributes: All returns all values; these are among them, with the defaults of SetQueueAttributes.",
		right:         emulator,
	},
	{
		name: "queue attributes that ElasticMQ does not let set", operations: one("SetQueueAttributes"), what: errorCode,
		ours: []string{"", "InvalidAttributeValue", "InvalidParameterValue"}, theirs: one("InvalidAttributeName"),
		when: setsAny("KmsDataKeyReusePeriodSeconds", "RedriveAllowPolicy", "SqsManagedSseEnabled", "DeduplicationScope",
			"FifoThroughputLimit", "MaximumMessageSize", "MessageRetentionPeriod", "Policy", "ContentBasedDeduplication"),
		diverges:      true,
		documentation: "API reference, SetQueueAttributes: lists them, with their values.",
		right:         emulator,
	},
	{
		name: "values of queue attributes that ElasticMQ does not check", operations: sets, what: errorCode,
		ours: []string{"InvalidAttributeValue", "InvalidParameterValue"}, theirs: accepts,
		when: setsAny("ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit", "KmsDataKeyReusePeriodSeconds",
			"MaximumMessageSize", "MessageRetentionPeriod", "Policy", "RedriveAllowPolicy", "SqsManagedSseEnabled"),
		diverges:      true,
		documentation: "API reference, SetQueueAttributes: gives the bounds of each; Errors: InvalidAttributeValue, a queue attribute value is invalid.",
		right:         emulator,
	},
	{
		name: "times of queues over their bounds", operations: sets, what: errorCode,
		ours: one("InvalidAttributeValue"), theirs: accepts,
		when: func(d difference) bool {
			return outside(0, 900, "DelaySeconds")(d) || outside(0, 43200, "VisibilityTimeout")(d) || outside(0, 20, "ReceiveMessageWaitTimeSeconds")(d)
		},
		diverges:      true,
		documentation: "API reference, SetQueueAttributes: DelaySeconds 0 to 900, VisibilityTimeout 0 to 43,200, ReceiveMessageWaitTimeSeconds 0 to 20; Errors: InvalidAttributeValue.",
		right:         emulator,
	},
	{
		name: "times of queues that are no numbers", operations: sets, what: errorCode,
		ours: one("InvalidAttributeValue"), theirs: []string{"InvalidParameterValue", notInProtocol500},
		when:          noNumber("DelaySeconds", "VisibilityTimeout", "ReceiveMessageWaitTimeSeconds"),
		documentation: "API reference, SetQueueAttributes, Errors: InvalidAttributeValue, a queue attribute value is invalid.",
		right:         emulator,
	},
	{
		name: "FifoQueue false", operations: sets, what: errorCode,
		ours: []string{"InvalidAttributeName", "InvalidAttributeValue"}, theirs: accepts,
		when:          func(d difference) bool { return d.operation.Attributes["FifoQueue"] == "false" },
		diverges:      true,
		documentation: "API reference, CreateQueue: FifoQueue: valid values are true and false; if you don't specify it, a standard queue is created. You can't change it for an existing queue. In practice AWS answers \"Unknown Attribute FifoQueue\" to false.",
		right:         emulator,
	},
	{
		name: "attributes that are not a queue's to set", operations: one("CreateQueue"), what: errorCode,
		ours: one("InvalidAttributeName"), theirs: accepts,
		when:          setsAny("QueueArn", "DeduplicationScope", "ContentBasedDeduplication", "Nonsense"),
		diverges:      true,
		documentation: "API reference, CreateQueue: QueueArn is not among its attributes, and those of FIFO queues apply to FIFO queues only; Errors: InvalidAttributeName.",
		right:         emulator,
	},
	{
		name: "redrive policies that are wrong", operations: sets, what: errorCode,
		ours: one("InvalidParameterValue"), theirs: []string{"", "InvalidAttributeValue", "QueueDoesNotExist", notInProtocol500},
		when:          setsAny("RedrivePolicy"),
		diverges:      true,
		documentation: "API reference, SetQueueAttributes: RedrivePolicy has deadLetterTargetArn and maxReceiveCount, 1 to 1,000. The code for a policy that is wrong is not documented; AWS answers InvalidParameterValue, \"Value … for parameter RedrivePolicy is invalid. Reason: Dead letter target does not exist.\"",
		right:         emulator,
	},
	{
		name: "a redrive policy that is empty removes it", operations: sets, what: errorCode,
		ours: accepts, theirs: one("InvalidAttributeValue"),
		when: func(d difference) bool {
			return d.operation.Attributes["RedrivePolicy"] == "" && setsAny("RedrivePolicy")(d)
		},
		diverges:      true,
		documentation: "not documented in the API reference; it is how AWS's own tools remove one (CloudFormation, AWS::SQS::Queue RedrivePolicy).",
		right:         emulator,
	},
	{
		name: "names of queues that are wrong", operations: one("CreateQueue"), what: errorCode,
		ours: one("InvalidParameterValue"), theirs: one("InvalidAttributeName"),
		when:          func(d difference) bool { return d.operation.QueueName != "" },
		documentation: "API reference, CreateQueue: up to 80 alphanumeric characters, hyphens and underscores, .fifo at the end of a FIFO queue's. InvalidAttributeName is about attributes; AWS answers InvalidParameterValue, \"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length\".",
		right:         emulator,
	},
	{
		name: "a name of a queue that was just deleted", operations: one("CreateQueue"), what: errorCode,
		ours: one("QueueDeletedRecently"), theirs: accepts, diverges: true,
		documentation: "API reference, CreateQueue, Errors: QueueDeletedRecently, you must wait 60 seconds after deleting a queue.",
		right:         emulator,
	},
	{
		name: "two purges within a minute", operations: one("PurgeQueue"), what: errorCode,
		ours: one("PurgeQueueInProgress"), theirs: accepts, diverges: true,
		documentation: "API reference, PurgeQueue, Errors: PurgeQueueInProgress, within 60 seconds of another.",
		right:         emulator,
	},
	{
		name: "names of attributes that there are not", operations: one("GetQueueAttributes"), what: errorCode,
		ours: one("InvalidAttributeName"), theirs: accepts,
		when: func(d difference) bool {
			return slices.ContainsFunc(d.operation.Names, func(name string) bool { return name == "Nonsense" || name == "ContentBasedDeduplication" })
		},
		documentation: "API reference, GetQueueAttributes, Errors: InvalidAttributeName, the specified attribute doesn't exist.",
		right:         emulator,
	},
	{
		name: "pages of lists", operations: []string{"ListQueues", "ListDeadLetterSourceQueues"}, what: errorCode,
		ours: one("InvalidParameterValue"), theirs: accepts,
		when: func(d difference) bool {
			return d.operation.Max < 0 || d.operation.Max > 1000 || d.operation.Token != ""
		},
		documentation: "API reference, ListQueues: MaxResults is 1 to 1,000.",
		right:         emulator,
	},
	{
		name: "lists are given in pages", operations: one("ListQueues"), what: []string{"NextToken", "listing"},
		when:          func(d difference) bool { return d.operation.Max > 0 },
		documentation: "API reference, ListQueues: MaxResults is the number of results in the response, NextToken is for the next.",
		right:         emulator,
	},
	{
		name: "dead-letter sources of a queue that there is not", operations: one("ListDeadLetterSourceQueues"), what: errorCode,
		ours: one("QueueDoesNotExist"), theirs: accepts,
		documentation: "API reference, ListDeadLetterSourceQueues, Errors: QueueDoesNotExist.",
		right:         emulator,
	},
	{
		name: "tags that are wrong", operations: one("TagQueue"), what: errorCode,
		ours: one("InvalidParameterValue"), theirs: accepts,
		when: func(d difference) bool {
			for key, text := range d.operation.Tags {
				if key == "" || len(key) > 128 || len(text) > 256 || strings.HasPrefix(key, "aws:") {
					return true
				}
			}
			return len(d.operation.Tags) > 50
		},
		diverges:      true,
		documentation: "developer guide, Amazon SQS queue quotas: keys of 1 to 128 characters, values of up to 256, up to 50 tags; aws: is reserved.",
		right:         emulator,
	},
	{
		name: "no attributes to set", operations: one("SetQueueAttributes"), what: errorCode, ours: one("MissingParameter"), theirs: accepts,
		when:          func(d difference) bool { return len(d.operation.Attributes) == 0 },
		documentation: "API reference, SetQueueAttributes: Attributes is required. Whether an empty map is one is not said.",
		right:         neither,
	},
	{
		name: "no tags to set or remove", operations: []string{"TagQueue", "UntagQueue"}, what: errorCode,
		ours: one("MissingParameter"), theirs: accepts,
		when:          func(d difference) bool { return len(d.operation.Tags) == 0 && len(d.operation.Names) == 0 },
		documentation: "API reference, TagQueue and UntagQueue: Tags and TagKeys are required. Whether an empty list is one is not said.",
		right:         neither,
	},
}

// notInProtocol500 is what an answer is called that is plain text.
const notInProtocol500 = notInProtocol + "500"
