package checks

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
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
	check("protocol/error-type", pageJSON,
		"An error's body says which it is in __type.", func(e *env) {
			_, body := noQueue(e)
			want(e, "__type", body["__type"], any("com.amazonaws.sqs#QueueDoesNotExist"))
		}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("protocol/error-header", pageJSON,
		"An error's header x-amzn-query-error has the error's code of the query protocol, and who is to blame.", func(e *env) {
			a, _ := noQueue(e)
			want(e, "x-amzn-query-error", a.header.Get("X-Amzn-Query-Error"), "AWS.SimpleQueueService.NonExistentQueue;Sender")
		}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("protocol/error-status", pageJSON,
		"A client's error has the HTTP status 400.", func(e *env) {
			a, _ := noQueue(e)
			want(e, "status", a.status, 400)
		}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("protocol/error-message", pageJSON,
		"An error's body has a message for people.", func(e *env) {
			_, body := noQueue(e)
			if message, _ := body["message"].(string); message == "" {
				e.fail("message: want words, got %v", body["message"])
			}
		}),
	check("protocol/content-type", pageJSON,
		"Answers have the content type application/x-amz-json-1.0.", func(e *env) {
			var a answer
			must(e.ListQueues(e.ctx, &awssqs.ListQueuesInput{QueueNamePrefix: &e.stem}, recorded(&a)))
			want(e, "Content-Type of an answer", a.header.Get("Content-Type"), "application/x-amz-json-1.0")
			a, _ = noQueue(e)
			want(e, "Content-Type of an error", a.header.Get("Content-Type"), "application/x-amz-json-1.0")
		}).recorded(goCloud("2026-03-19", "TestConformanceSQSTopic/TestNonExistentTopicSucceedsOnOpenButFailsOnSend")),
	check("protocol/request-id", pageJSON,
		"Every answer has a request id of its own in x-amzn-RequestId.", func(e *env) {
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
}
