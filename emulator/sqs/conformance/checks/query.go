package checks

import (
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

var (
	pageQuery      = guide("Making Query API requests using AWS query protocol in Amazon SQS", "sqs-making-api-requests-xml")
	pageQueryReply = guide("Interpreting Amazon SQS XML API responses", "sqs-xml-api-responses")
)

// queryChecks are those of the older protocol, which SDKs from before the end of
// 2023 speak.
var queryChecks = []Check{
	{
		ID: "query/send-receive", Page: pageQuery,
		Must: "SendMessage and ReceiveMessage by the query protocol work on the queue's URL.",
		run: func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			e.formSuccess("SendMessage", q.form(http.MethodPost, "Action", "SendMessage", "MessageBody", "by form"), "SendMessage")
			e.eventually("the message", func() (string, bool) {
				text := e.formSuccess("ReceiveMessage", q.form(http.MethodPost, "Action", "ReceiveMessage", "WaitTimeSeconds", "1"), "ReceiveMessage")
				return text, strings.Contains(text, "<Body>by form</Body>")
			})
		},
	}, {
		ID: "query/empty-names", Page: api("ReceiveMessage"), Recorded: localStack("2024-04-30", "test_receive_message_message_attribute_names_filters[sqs_query], empty_filter"),
		Must: "MessageAttributeNames without a value, which is how Python's SDK sends an empty list, means none.",
		run: func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			q.send("a", withAttributes(attributeNames("foo")))
			e.eventually("the message", func() (string, bool) {
				text := e.formSuccess("ReceiveMessage", q.form(http.MethodPost, "Action", "ReceiveMessage", "MessageAttributeNames", "", "WaitTimeSeconds", "1"), "ReceiveMessage")
				if strings.Contains(text, "MessageAttribute>") {
					e.fail("want no message attributes, got %s", show(text))
				}
				return text, strings.Contains(text, "<Body>a</Body>")
			})
		},
	}, {
		ID: "query/older-name-counts", Page: api("ReceiveMessage"),
		Recorded: localStack("2024-06-04", "test_message_system_attribute_names_with_attribute_names[sqs_query], different_values"),
		Must:     "AttributeName counts instead of MessageSystemAttributeName where a request has both.",
		run: func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			q.send("a")
			e.eventually("the message", func() (string, bool) {
				text := e.formSuccess("ReceiveMessage", q.form(http.MethodPost, "Action", "ReceiveMessage", "WaitTimeSeconds", "1",
					"MessageSystemAttributeName.1", "All", "AttributeName.1", "SenderId"), "ReceiveMessage")
				if strings.Contains(text, "SentTimestamp") {
					e.fail("want SenderId alone, got %s", show(text))
				}
				return text, strings.Contains(text, "SenderId")
			})
		},
	}, {
		ID: "query/empty-lists", Page: pageQuery, Reading: true,
		Must: "Other lists and maps without a value are no lists at all, as MessageAttributeNames is.",
		run: func(e *env) {
			q := e.queue()
			e.formSuccess("SendMessage", q.form(http.MethodPost, "Action", "SendMessage", "MessageBody", "a", "MessageAttributes", ""), "SendMessage")
			e.formSuccess("GetQueueAttributes", q.form(http.MethodPost, "Action", "GetQueueAttributes", "AttributeNames", ""), "GetQueueAttributes")
			e.formError("UntagQueue", q.form(http.MethodPost, "Action", "UntagQueue", "TagKeys", ""), "MissingParameter")
		},
	}, {
		ID: "query/no-queue", Page: api("GetQueueAttributes"), Recorded: localStack("2024-04-30", "test_non_existent_queue, queue-does-not-exist-query"),
		Must: "The message for a queue that does not exist speaks of the wsdl version.",
		run: func(e *env) {
			q := e.queue()
			gone := *q
			gone.url = aws.String(strings.TrimSuffix(*q.url, q.name) + e.name())
			a := gone.form(http.MethodPost, "Action", "GetQueueAttributes", "AttributeName.1", "All")
			message := e.formError("GetQueueAttributes", a, "AWS.SimpleQueueService.NonExistentQueue")
			want(e, "Message", message, "The specified queue does not exist for this wsdl version.")
			want(e, "status", a.status, http.StatusBadRequest)
		},
	}, {
		ID: "query/no-action", Page: pageQueryReply, Undocumented: true, Recorded: localStackValidated("test_get_without_query_returns_unknown_operation"),
		Must: "A GET of a queue's URL without an action is UnknownOperationException in XML, with the HTTP status 404.",
		run: func(e *env) {
			a := e.queue().form(http.MethodGet)
			want(e, "status", a.status, http.StatusNotFound)
			if !strings.Contains(string(a.body), "<UnknownOperationException") {
				e.fail("want the element UnknownOperationException, got %s", show(string(a.body)))
			}
		},
	}, {
		ID: "query/unknown-action", Page: pageQueryReply, Undocumented: true, Recorded: localStackValidated("test_invalid_action_raises_exception"),
		Must: "An action that does not exist is InvalidAction.",
		run: func(e *env) {
			message := e.formError("FooBar", e.queue().form(http.MethodGet, "Action", "FooBar"), "InvalidAction")
			want(e, "Message", message, "The action FooBar is not valid for this endpoint.")
		},
	}, {
		// Taken over although the day is unknown: a client that asks a queue for
		// what is not about a queue has mixed up its URLs, and AWS says so.
		ID: "query/action-on-a-queue", Page: pageQueryReply, Undocumented: true,
		Recorded: localStackValidated("test_get_create_queue_fails, test_get_list_queues_fails"),
		Must:     "CreateQueue and ListQueues by GET of a queue's URL are InvalidAction.",
		run: func(e *env) {
			q := e.queue()
			for _, action := range []string{"CreateQueue", "ListQueues"} {
				message := e.formError(action, q.form(http.MethodGet, "Action", action, "QueueName", e.name()), "InvalidAction")
				want(e, "Message", strings.TrimSuffix(message, "."), "The action "+action+" is not valid for this endpoint")
			}
		},
	},
}
