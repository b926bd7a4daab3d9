package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

var (
	pageQuery      = guide("Making Query API requests using AWS query protocol in Amazon SQS", "sqs-making-api-requests-xml")
	pageQueryReply = guide("Interpreting Amazon SQS XML API responses", "sqs-xml-api-responses")
)

// queryChecks are checks of the query protocol, which SDKs from before the end of 2023 use.
var queryChecks = []Check{
	check("query/send-receive", pageQuery, "SendMessage and ReceiveMessage by the query protocol work on the queue's URL.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		q.act("SendMessage", "MessageBody", "by form")
		q.receives("<Body>by form</Body>", "<Body></Body>")
	}),
	check("query/empty-names", api("ReceiveMessage"),
		"MessageAttributeNames without a value, which is how Python's SDK sends an empty list, means none.", func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			q.send("a", withAttributes(attributeNames("foo")))
			q.receives("<Body>a</Body>", "MessageAttribute>", "MessageAttributeNames", "")
		}).recorded(localStack("2024-04-30", "test_receive_message_message_attribute_names_filters[sqs_query], empty_filter")),
	check("query/older-name-counts", api("ReceiveMessage"), "AttributeName counts instead of MessageSystemAttributeName where a request has both.", func(e *env) {
		e.filled("a").receives("SenderId", "SentTimestamp", "MessageSystemAttributeName.1", "All", "AttributeName.1", "SenderId")
	}).recorded(localStack("2024-06-04", "test_message_system_attribute_names_with_attribute_names[sqs_query], different_values")),
	check("query/empty-lists", pageQuery, "Other lists and maps without a value are no lists at all, as MessageAttributeNames is.", func(e *env) {
		q := e.queue()
		q.act("SendMessage", "MessageBody", "a", "MessageAttributes", "")
		q.act("GetQueueAttributes", "AttributeNames", "")
		e.formError("UntagQueue", q.form(http.MethodPost, "Action", "UntagQueue", "TagKeys", ""), "MissingParameter")
	}).reading(),
	check("query/no-queue", api("GetQueueAttributes"), "The message for a queue that does not exist speaks of the wsdl version.", func(e *env) {
		q := e.queue()
		gone := *q
		gone.url = aws.String(strings.TrimSuffix(*q.url, q.name) + e.name())
		a := gone.form(http.MethodPost, "Action", "GetQueueAttributes", "AttributeName.1", "All")
		message := e.formError("GetQueueAttributes", a, "AWS.SimpleQueueService.NonExistentQueue")
		want(e, "Message", message, "The specified queue does not exist for this wsdl version.")
		want(e, "status", a.status, http.StatusBadRequest)
	}).recorded(localStack("2024-04-30", "test_non_existent_queue, queue-does-not-exist-query")),
	check("query/no-action", pageQueryReply,
		"A GET of a queue's URL without an action is UnknownOperationException in XML, with the HTTP status 404.", func(e *env) {
			a := e.queue().form(http.MethodGet)
			want(e, "status", a.status, http.StatusNotFound)
			if !strings.Contains(string(a.body), "<UnknownOperationException") {
				e.fail("want the element UnknownOperationException, got %s", show(string(a.body)))
			}
		}).undocumented().recorded(localStackValidated("test_get_without_query_returns_unknown_operation")),
	check("query/unknown-action", pageQueryReply, "An action that does not exist is InvalidAction.", func(e *env) {
		message := e.formError("FooBar", e.queue().form(http.MethodGet, "Action", "FooBar"), "InvalidAction")
		want(e, "Message", message, "The action FooBar is not valid for this endpoint.")
	}).undocumented().recorded(localStackValidated("test_invalid_action_raises_exception")),
	// Included although the recording has no date: a client that calls such an operation at a
	// queue's URL has confused URLs, and AWS returns an error.
	check("query/action-on-a-queue", pageQueryReply, "CreateQueue and ListQueues by GET of a queue's URL are InvalidAction.", func(e *env) {
		q := e.queue()
		for _, action := range []string{"CreateQueue", "ListQueues"} {
			message := e.formError(action, q.form(http.MethodGet, "Action", action, "QueueName", e.name()), "InvalidAction")
			want(e, "Message", strings.TrimSuffix(message, "."), "The action "+action+" is not valid for this endpoint")
		}
	}).undocumented().recorded(localStackValidated("test_get_create_queue_fails, test_get_list_queues_fails")),
}

// form sends a signed request of the query protocol to a queue's URL, since the SDK has
// only the JSON protocol. Parameters are name, value, name, value. For GET they are in the
// URL.
func (q *queue) form(method string, parameters ...string) answer {
	values := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		values.Set(parameters[i], parameters[i+1])
	}
	if len(values) > 0 {
		values.Set("Version", "2012-11-05")
	}
	target, body := *q.url, values.Encode()
	if method == http.MethodGet && body != "" {
		target, body = target+"?"+body, ""
	}
	request := must(http.NewRequestWithContext(q.ctx, method, target, strings.NewReader(body)))
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	return q.do(request, body)
}

func (e *env) do(request *http.Request, body string) answer {
	options := e.Options()
	sum := sha256.Sum256([]byte(body))
	credentials := must(options.Credentials.Retrieve(e.ctx))
	err := v4.NewSigner().SignHTTP(e.ctx, credentials, request, hex.EncodeToString(sum[:]), "sqs", options.Region, time.Now())
	e.must("signature", err)
	response := must(options.HTTPClient.Do(request))
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	e.must("the answer's body", err)
	return answer{response.StatusCode, response.Header, text}
}

// formError ends the check unless the answer is an error of the query protocol with this
// code. It returns the message.
func (e *env) formError(what string, a answer, code string) string {
	var failure struct {
		XMLName xml.Name
		Error   struct{ Type, Code, Message string }
	}
	if err := xml.Unmarshal(a.body, &failure); err != nil || failure.XMLName.Local != "ErrorResponse" {
		e.fail("%s: want an ErrorResponse in XML, got status %d %s", what, a.status, show(string(a.body)))
	}
	want(e, what+": Code", failure.Error.Code, code)
	want(e, what+": Type", failure.Error.Type, "Sender")
	return failure.Error.Message
}

// act sends an action by POST and returns the answer's text.
func (q *queue) act(action string, parameters ...string) string {
	a := q.form(http.MethodPost, append([]string{"Action", action}, parameters...)...)
	if a.status != http.StatusOK || !strings.Contains(string(a.body), "<"+action+"Response") {
		q.fail("%s: want status 200 and %[1]sResponse, got status %d %s", action, a.status, show(string(a.body)))
	}
	return string(a.body)
}

// receives waits until an answer to ReceiveMessage contains the first text. No answer may
// contain the second.
func (q *queue) receives(part, never string, parameters ...string) {
	q.eventually("a message with "+part, func() (string, bool) {
		text := q.act("ReceiveMessage", append(parameters, "WaitTimeSeconds", "1")...)
		if strings.Contains(text, never) {
			q.fail("want no %s, got %s", never, show(text))
		}
		return text, strings.Contains(text, part)
	})
}
