package checks

import (
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// shapeChecks are about what the JSON protocol leaves open.
var shapeChecks = []Check{
	check("protocol/empty-body", api("SetQueueAttributes"),
		"SetQueueAttributes and DeleteQueue answer with an empty body.", func(e *env) {
			q := e.queue()
			var a answer
			must(e.SetQueueAttributes(e.ctx, &awssqs.SetQueueAttributesInput{QueueUrl: q.url, Attributes: pairs([]string{"DelaySeconds", "1"})}, recorded(&a)))
			want(e, "body of SetQueueAttributes", string(a.body), "")
			must(e.DeleteQueue(e.ctx, &awssqs.DeleteQueueInput{QueueUrl: q.url}, recorded(&a)))
			want(e, "body of DeleteQueue", string(a.body), "")
		}).recorded(goCloud("2026-03-19", "TestConformanceSNSTopic/TestAs/aws_test")),
	check("protocol/bare-name", pageIdentifiers,
		"QueueUrl may be the queue's bare name.", func(e *env) {
			q := e.queue()
			named := *q
			named.url = &q.name
			named.send("by name")
			want(e, "body", *q.one().Body, "by name")
		}).undocumented().recorded(localStackValidated("test_posting_to_queue_via_queue_name")),
	check("selection/asterisk", api("ReceiveMessage"),
		"The name * means all message attributes.", func(e *env) {
			q := e.queue()
			q.send("a", withAttributes(attributeNames("bar.one", "foo")))
			m := q.one(func(in *awssqs.ReceiveMessageInput) { in.MessageAttributeNames = []string{"*"} })
			want(e, "number of message attributes", len(m.MessageAttributes), 2)
		}).recorded(localStack("2024-04-30", "test_receive_message_message_attribute_names_filters[sqs], all_wildcard_asterisk")),
	check("attributes/capital-booleans", api("CreateQueue"),
		"FifoQueue may be True, and ContentBasedDeduplication True or False, as Python writes them.", func(e *env) {
			for _, value := range []string{"True", "False"} {
				q, err := e.create(e.name()+".fifo", pairs([]string{"FifoQueue", "True", "ContentBasedDeduplication", value}))
				e.must("CreateQueue with ContentBasedDeduplication "+value, err)
				want(e, "a send without deduplication id succeeds", q.trySend("a", inGroup("g")) == nil, value == "True")
			}
		}).recorded(localStack("2025-10-05", "test_fifo_delete_after_visibility_timeout_extended; False: 2024-04-30, test_sqs_fifo_same_dedup_id_different_message_groups")),
}
