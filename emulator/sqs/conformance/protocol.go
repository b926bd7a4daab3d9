package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// noQueue is the HTTP answer to a call for a queue that does not exist.
func noQueue(e *env) (answer, map[string]any) {
	var a answer
	_, err := e.GetQueueUrl(e.ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String(e.name())}, recorded(&a))
	e.refused("GetQueueUrl of a queue that does not exist", err)
	var body map[string]any
	if err := json.Unmarshal(a.body, &body); err != nil {
		e.fail("the error's body: want a JSON object, got %s", show(string(a.body)))
	}
	return a, body
}

var protocolChecks = []Check{
	check("protocol/error-type", pageJSON, "An error's body says which it is in __type.", func(e *env) {
		_, body := noQueue(e)
		want(e, "__type", body["__type"], any("com.amazonaws.sqs#QueueDoesNotExist"))
	}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("protocol/error-header", pageJSON, "An error's header x-amzn-query-error has the error's code of the query protocol, and who is to blame.", func(e *env) {
		a, _ := noQueue(e)
		want(e, "x-amzn-query-error", a.header.Get("X-Amzn-Query-Error"), "AWS.SimpleQueueService.NonExistentQueue;Sender")
	}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("protocol/error-status", pageJSON, "A client's error has the HTTP status 400.", func(e *env) {
		a, _ := noQueue(e)
		want(e, "status", a.status, 400)
	}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("protocol/error-message", pageJSON, "An error's body has a message for people.", func(e *env) {
		_, body := noQueue(e)
		if message, _ := body["message"].(string); message == "" {
			e.fail("message: want words, got %v", body["message"])
		}
	}),
	check("protocol/content-type", pageJSON, "Answers have the content type application/x-amz-json-1.0.", func(e *env) {
		var a answer
		must(e.ListQueues(e.ctx, &awssqs.ListQueuesInput{QueueNamePrefix: &e.stem}, recorded(&a)))
		want(e, "Content-Type of an answer", a.header.Get("Content-Type"), "application/x-amz-json-1.0")
		a, _ = noQueue(e)
		want(e, "Content-Type of an error", a.header.Get("Content-Type"), "application/x-amz-json-1.0")
	}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("protocol/request-id", pageJSON, "Every answer has a request id of its own in x-amzn-RequestId.", func(e *env) {
		seen := map[string]bool{}
		for range 2 {
			a, _ := noQueue(e)
			id := a.header.Get("X-Amzn-Requestid")
			if strings.TrimSpace(id) == "" || seen[id] {
				e.fail("x-amzn-RequestId: want another one in each answer, got %q", id)
			}
			seen[id] = true
		}
	}),
	check("protocol/empty-body", api("SetQueueAttributes"), "SetQueueAttributes and DeleteQueue answer with an empty body.", func(e *env) {
		q := e.queue()
		var a answer
		must(e.SetQueueAttributes(e.ctx, &awssqs.SetQueueAttributesInput{QueueUrl: q.url, Attributes: pairs([]string{"DelaySeconds", "1"})}, recorded(&a)))
		want(e, "body of SetQueueAttributes", string(a.body), "")
		must(e.DeleteQueue(e.ctx, &awssqs.DeleteQueueInput{QueueUrl: q.url}, recorded(&a)))
		want(e, "body of DeleteQueue", string(a.body), "")
	}).recorded(goCloud("2026-03-19", "TestConformanceSNSTopic/TestAs/aws_test")),
	check("protocol/bare-name", pageIdentifiers, "QueueUrl may be the queue's bare name.", func(e *env) {
		q := e.queue()
		named := *q
		named.url = &q.name
		named.send("by name")
		want(e, "body", *q.one().Body, "by name")
	}).undocumented().recorded(localStackValidated("test_posting_to_queue_via_queue_name")),
}

// said ends the check unless err is an error of the service with this message.
func (e *env) said(what string, err error, message string) {
	e.refused(what, err)
	failure, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		e.fail("%s: want an error of the service, got %w", what, err)
	}
	want(e, what+": message", failure.ErrorMessage(), message)
}

// textChecks are checks of error messages, for which people search, and which programs
// compare, though they should not.
var textChecks = []Check{
	check("texts/no-queue", pageJSON, "The message for a queue that does not exist has nothing of the request in it.", func(e *env) {
		_, err := e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: missing(e)})
		e.said("ReceiveMessage", err, "The specified queue does not exist.")
	}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("texts/batch-id", api("SendMessageBatch"), "The message for a batch entry's id says what an id may be.", func(e *env) {
		_, err := e.queue().sendBatch(entry("a:b", "a"))
		e.said("SendMessageBatch", err, "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
	}).recorded(localStack("2024-04-30", "test_invalid_batch_id[sqs]")),
	check("texts/empty-attribute", api("SendMessage"), "The message for a message attribute without a value names the attribute and its type.", func(e *env) {
		err := e.queue().trySend("a", withAttributes(map[string]types.MessageAttributeValue{
			"ErrorDetails": {DataType: aws.String("String"), StringValue: aws.String("")}}))
		e.said("SendMessage", err, "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.")
	}).recorded(localStack("2024-04-30", "test_send_message_with_empty_string_attribute[sqs]")),
	check("texts/too-large", api("SendMessage"), "The message for a message that is too large says that parameters are invalid.", func(e *env) {
		e.said("SendMessage", e.queue("MaximumMessageSize", "1024").trySend(strings.Repeat("x", 1025)), "One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.")
	}).recorded(localStack("2024-04-30", "test_send_message_with_updated_maximum_message_size[sqs]")),
	check("texts/too-large-in-a-batch", api("SendMessageBatch"),
		"The message for a batch entry that is too large says that parameters cannot be validated.", func(e *env) {
			out := must(e.queue("MaximumMessageSize", "1024").sendBatch(entry("good", "a"), entry("large", strings.Repeat("x", 1025))))
			failed := e.failedEntry("large", out.Failed)
			want(e, "Code", aws.ToString(failed.Code), "InvalidParameterValue")
			want(e, "Message", aws.ToString(failed.Message), "One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes.")
		}).recorded(localStack("2024-04-30", "test_send_batch_message_size")),
}
