package checks

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// said ends the check unless err is an error of the service with this message.
func (e *env) said(what string, err error, message string) {
	e.refused(what, err)
	var failure interface{ ErrorMessage() string }
	if !errors.As(err, &failure) {
		e.fail("%s: want an error of the service, got %w", what, err)
	}
	want(e, what+": message", failure.ErrorMessage(), message)
}

// textChecks are about messages: people search for them, and programs compare
// them, though they should not.
var textChecks = []Check{
	check("texts/no-queue", pageJSON,
		"The message for a queue that does not exist has nothing of the request in it.", func(e *env) {
			_, err := e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: missing(e)})
			e.said("ReceiveMessage", err, "The specified queue does not exist.")
		}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("texts/batch-id", api("SendMessageBatch"),
		"The message for a batch entry's id says what an id may be.", func(e *env) {
			_, err := e.queue().sendBatch(entry("a:b", "a"))
			e.said("SendMessageBatch", err, "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.")
		}).recorded(localStack("2024-04-30", "test_invalid_batch_id[sqs]")),
	check("texts/empty-attribute", api("SendMessage"),
		"The message for a message attribute without a value names the attribute and its type.", func(e *env) {
			err := e.queue().trySend("a", withAttributes(map[string]types.MessageAttributeValue{
				"ErrorDetails": {DataType: aws.String("String"), StringValue: aws.String("")}}))
			e.said("SendMessage", err, "Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.")
		}).recorded(localStack("2024-04-30", "test_send_message_with_empty_string_attribute[sqs]")),
	check("texts/too-large", api("SendMessage"),
		"The message for a message that is too large says that parameters are invalid.", func(e *env) {
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
