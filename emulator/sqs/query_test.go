package sqs_test

import (
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// xmlNode is any answer of the query protocol, or a part of one.
type xmlNode struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	Nodes   []xmlNode `xml:",any"`
}

// all returns the nodes below n at a path of names, separated by slashes.
func (n xmlNode) all(path string) (found []xmlNode) {
	name, rest, deeper := strings.Cut(path, "/")
	for _, child := range n.Nodes {
		switch {
		case child.XMLName.Local != name:
		case deeper:
			found = append(found, child.all(rest)...)
		default:
			found = append(found, child)
		}
	}
	return found
}

// at returns the texts of the nodes at a path, separated by vertical bars.
func (n xmlNode) at(path string) string {
	var texts []string
	for _, node := range n.all(path) {
		texts = append(texts, node.Text)
	}
	return strings.Join(texts, "|")
}

// want fails unless these are the texts at a path.
func (n xmlNode) want(t *testing.T, path, texts string) {
	t.Helper()
	if got := n.at(path); got != texts {
		t.Errorf("%s is %q, want %q, in %+v", path, got, texts, n)
	}
}

func queryRaw(t *testing.T, server http.Handler, path, form string) (int, xmlNode) {
	t.Helper()
	return answerOf(t, ask(server, http.MethodPost, path, strings.NewReader(form),
		"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"))
}

func answerOf(t *testing.T, w *httptest.ResponseRecorder) (int, xmlNode) {
	t.Helper()
	var answer xmlNode
	if err := xml.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Header().Get("Content-Type") != "text/xml" {
		t.Fatalf("%s answer %s: %v", w.Header().Get("Content-Type"), w.Body, err)
	}
	if answer.XMLName.Space != "http://queue.amazonaws.com/doc/2012-11-05/" || answer.at("ResponseMetadata/RequestId")+answer.at("RequestId") == "" {
		t.Errorf("answer %s", w.Body)
	}
	return w.Code, answer
}

// query sends an action that must succeed. Parameters are name, value, name, value.
func query(t *testing.T, server http.Handler, path, action string, parameters ...string) xmlNode {
	t.Helper()
	form := url.Values{"Action": {action}, "Version": {"2012-11-05"}}
	for i := 0; i < len(parameters); i += 2 {
		form.Set(parameters[i], parameters[i+1])
	}
	status, answer := queryRaw(t, server, path, form.Encode())
	if status != http.StatusOK || answer.XMLName.Local != action+"Response" {
		t.Fatalf("%s: status %d, %+v", action, status, answer)
	}
	return answer
}

const ordersPath = "/000000000000/orders"

func TestQueryMessages(t *testing.T) {
	server := newServer(t, sqs.Config{})
	query(t, server, "/", "CreateQueue", "QueueName", "orders", "Attribute.1.Name", "VisibilityTimeout",
		"Attribute.1.Value", "7", "Attribute.10.Name", "DelaySeconds", "Attribute.10.Value", "0", "Tag.1.Key", "team", "Tag.1.Value", "a & b").
		want(t, "CreateQueueResult/QueueUrl", server.QueueURL("orders"))
	body := "two\r\nlines <é> & \"🙂\""
	sent := query(t, server, ordersPath, "SendMessage", "MessageBody", body,
		"MessageAttribute.1.Name", "n", "MessageAttribute.1.Value.DataType", "Number", "MessageAttribute.1.Value.StringValue", "7",
		"MessageAttribute.2.Name", "b", "MessageAttribute.2.Value.DataType", "Binary", "MessageAttribute.2.Value.BinaryValue", "AP8=",
		"MessageSystemAttribute.1.Name", "AWSTraceHeader", "MessageSystemAttribute.1.Value.DataType", "String",
		"MessageSystemAttribute.1.Value.StringValue", "Root=1")
	if sent.at("SendMessageResult/MessageId") == "" || sent.at("SendMessageResult/MD5OfMessageAttributes") == "" {
		t.Errorf("%+v", sent)
	}
	// The queue by its URL, and names without numbers.
	received := query(t, server, "/", "ReceiveMessage", "QueueUrl", server.QueueURL("orders"), "AttributeName", "AWSTraceHeader",
		"MessageAttributeName.1", "n", "MessageAttributeName.2", "b", "MaxNumberOfMessages", "10")
	const message = "ReceiveMessageResult/Message/"
	received.want(t, message+"Body", body)
	received.want(t, message+"MessageId", sent.at("SendMessageResult/MessageId"))
	received.want(t, message+"Attribute/Name", "AWSTraceHeader")
	received.want(t, message+"Attribute/Value", "Root=1")
	received.want(t, message+"MessageAttribute/Name", "b|n")
	received.want(t, message+"MessageAttribute/Value/BinaryValue", "AP8=")
	received.want(t, message+"MessageAttribute/Value/StringValue", "7")
	deleted := query(t, server, ordersPath, "DeleteMessage", "ReceiptHandle", received.at(message+"ReceiptHandle"))
	if len(deleted.Nodes) != 1 {
		t.Errorf("DeleteMessage has a result: %+v", deleted)
	}
	// AWS writes an empty result in the short form.
	w := ask(server, http.MethodGet, ordersPath+"?Action=ReceiveMessage&VisibilityTimeout=0", nil)
	if !strings.Contains(w.Body.String(), "<ReceiveMessageResult/>") {
		t.Errorf("answer %s", w.Body)
	}
}

func TestQueryBatches(t *testing.T) {
	server := newServer(t, sqs.Config{})
	query(t, server, "/", "CreateQueue", "QueueName", "orders")
	const entry, failed = "SendMessageBatchRequestEntry.", "SendMessageBatchResult/BatchResultErrorEntry/"
	sent := query(t, server, ordersPath, "SendMessageBatch", entry+"2.Id", "b", entry+"2.MessageBody", "second",
		entry+"10.Id", "c", entry+"10.MessageBody", "late", entry+"10.DelaySeconds", "901", entry+"1.Id", "a", entry+"1.MessageBody", "first",
		entry+"1.MessageAttribute.1.Name", "x", entry+"1.MessageAttribute.1.Value.DataType", "String", entry+"1.MessageAttribute.1.Value.StringValue", "y")
	sent.want(t, "SendMessageBatchResult/SendMessageBatchResultEntry/Id", "a|b")
	sent.want(t, failed+"Id", "c")
	sent.want(t, failed+"Code", "InvalidParameterValue")
	sent.want(t, failed+"SenderFault", "true")
	received := query(t, server, ordersPath, "ReceiveMessage", "MaxNumberOfMessages", "10")
	received.want(t, "ReceiveMessageResult/Message/Body", "first|second")
	handle, _, _ := strings.Cut(received.at("ReceiveMessageResult/Message/ReceiptHandle"), "|")
	const change, remove = "ChangeMessageVisibilityBatchRequestEntry.1.", "DeleteMessageBatchRequestEntry."
	query(t, server, ordersPath, "ChangeMessageVisibilityBatch", change+"Id", "a", change+"ReceiptHandle", handle, change+"VisibilityTimeout", "60").
		want(t, "ChangeMessageVisibilityBatchResult/ChangeMessageVisibilityBatchResultEntry/Id", "a")
	deleted := query(t, server, ordersPath, "DeleteMessageBatch", remove+"1.Id", "a", remove+"1.ReceiptHandle", handle,
		remove+"2.Id", "b", remove+"2.ReceiptHandle", "none")
	deleted.want(t, "DeleteMessageBatchResult/DeleteMessageBatchResultEntry/Id", "a")
	deleted.want(t, "DeleteMessageBatchResult/BatchResultErrorEntry/Code", "ReceiptHandleIsInvalid")
}

func TestQueryQueues(t *testing.T) {
	server := newServer(t, sqs.Config{})
	query(t, server, "/", "CreateQueue", "QueueName", "orders")
	query(t, server, ordersPath, "SetQueueAttributes", "Attribute.Name", "VisibilityTimeout", "Attribute.Value", "5")
	query(t, server, ordersPath, "TagQueue", "Tag.1.Key", "a", "Tag.1.Value", "1", "Tag.2.Key", "b")
	query(t, server, ordersPath, "UntagQueue", "TagKey.1", "a")
	query(t, server, ordersPath, "GetQueueAttributes", "AttributeName.1", "VisibilityTimeout").
		want(t, "GetQueueAttributesResult/Attribute/Value", "5")
	tags := query(t, server, ordersPath, "ListQueueTags")
	tags.want(t, "ListQueueTagsResult/Tag/Key", "b")
	tags.want(t, "ListQueueTagsResult/Tag/Value", "")
	status, listed := answerOf(t, ask(server, http.MethodGet, "/?Action=ListQueues&QueueNamePrefix=o", http.NoBody))
	if status != http.StatusOK {
		t.Errorf("by GET: %d", status)
	}
	listed.want(t, "ListQueuesResult/QueueUrl", server.QueueURL("orders"))
	query(t, server, "/", "CreateQueue", "QueueName", "source", "Attribute.1.Name", "RedrivePolicy",
		"Attribute.1.Value", redrivePolicy(server.QueueARN("orders"), 1))
	query(t, server, "/", "StartMessageMoveTask", "SourceArn", server.QueueARN("orders"), "MaxNumberOfMessagesPerSecond", "10")
	query(t, server, "/", "ListMessageMoveTasks", "SourceArn", server.QueueARN("orders")).
		want(t, "ListMessageMoveTasksResult/ListMessageMoveTasksResultEntry/SourceArn", server.QueueARN("orders"))
	query(t, server, ordersPath, "PurgeQueue")
	query(t, server, ordersPath, "DeleteQueue")
}

func TestQueryErrors(t *testing.T) {
	server := newServer(t, sqs.Config{})
	query(t, server, "/", "CreateQueue", "QueueName", "orders")
	many := strings.Repeat("&a=b", 2001)
	for name, tc := range map[string]struct {
		form   string
		status int
		code   string
	}{
		"no queue":          {"Action=SendMessage&QueueUrl=http://x/000000000000/none&MessageBody=a", 400, "AWS.SimpleQueueService.NonExistentQueue"},
		"purged twice":      {"Action=PurgeQueue", 403, "AWS.SimpleQueueService.PurgeQueueInProgress"},
		"an empty batch":    {"Action=SendMessageBatch&Entries=", 400, "AWS.SimpleQueueService.EmptyBatchRequest"},
		"no action":         {"MessageBody=a", 400, "InvalidAction"},
		"unknown action":    {"Action=Explode", 400, "InvalidAction"},
		"an empty list":     {"Action=UntagQueue&TagKeys=", 400, "MissingParameter"},
		"not a number":      {"Action=ReceiveMessage&WaitTimeSeconds=soon", 400, "InvalidParameterValue"},
		"a large number":    {"Action=ReceiveMessage&WaitTimeSeconds=99999999999999999999", 400, "InvalidParameterValue"},
		"a bad index":       {"Action=SendMessageBatch&SendMessageBatchRequestEntry.x.Id=a", 400, "MalformedInput"},
		"no name":           {"Action=SetQueueAttributes&Attribute.1.Value=a", 400, "MalformedInput"},
		"a text as a map":   {"Action=SendMessage&MessageBody.a=b", 400, "MalformedInput"},
		"not UTF-8":         {"Action=SendMessage&MessageBody=%ff", 400, "MalformedInput"},
		"not encoded":       {"Action=SendMessage&MessageBody=%zz", 400, "MalformedInput"},
		"not base64":        {"Action=SendMessage&MessageBody=a&MessageAttribute.1.Name=a&MessageAttribute.1.Value.BinaryValue=!", 400, "MalformedInput"},
		"too deep":          {"Action=SendMessage&a.b.c.d.e.f.g.h.i=j", 400, "MalformedInput"},
		"too many":          {"Action=SendMessage" + many, 400, "MalformedInput"},
		"more than 8 MiB":   {"Action=SendMessage&MessageBody=" + strings.Repeat("a", 10<<20), 413, "RequestEntityTooLarge"},
		"forbidden control": {"Action=SendMessage&MessageBody=%00", 400, "InvalidMessageContents"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "purged twice" {
				query(t, server, ordersPath, "PurgeQueue")
			}
			status, answer := queryRaw(t, server, ordersPath, tc.form)
			if status != tc.status || answer.XMLName.Local != "ErrorResponse" || answer.at("Error/Code") != tc.code ||
				answer.at("Error/Type") != "Sender" || answer.at("Error/Message") == "" {
				t.Errorf("%d %+v, want %d %s", status, answer, tc.status, tc.code)
			}
		})
	}
}

// TestQueryFaults: faults affect this protocol, too, and the history has its calls.
func TestQueryFaults(t *testing.T) {
	server := newServer(t, sqs.Config{Faults: []sqs.Fault{{Kind: sqs.Failure, Operation: "SendMessage"}}})
	query(t, server, "/", "CreateQueue", "QueueName", "orders")
	status, answer := queryRaw(t, server, ordersPath, "Action=SendMessage&MessageBody=a")
	if status != http.StatusInternalServerError || answer.at("Error/Type") != "Receiver" {
		t.Errorf("%d %+v", status, answer)
	}
	if calls := server.Calls("SendMessage"); len(calls) != 1 || calls[0].Queue != "orders" || calls[0].Fault != sqs.Failure {
		t.Errorf("calls %+v", calls)
	}
}

// FuzzQuery: every form is answered with XML, and the server continues.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"Action=CreateQueue&QueueName=new&Attribute.1.Name=DelaySeconds&Attribute.1.Value=1&Tag.1.Key=a&Tag.1.Value=b",
		"Action=SendMessage&MessageBody=a&MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=Number&MessageAttribute.1.Value.StringValue=1",
		"Action=SendMessageBatch&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageBody=%F0%9F%99%82",
		"Action=ReceiveMessage&AttributeName.1=All&MessageAttributeName=a.*&VisibilityTimeout=0",
		"Action=DeleteMessageBatch&DeleteMessageBatchRequestEntry.1.Id=a&DeleteMessageBatchRequestEntry.1.ReceiptHandle=x",
		"Action=ListQueues&Attribute=&Attribute.1=&Attribute.-1.Name=&.=&..=&Entries.1.2.3",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, form string) {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, sqs.Config{})
			query(t, server, "/", "CreateQueue", "QueueName", "orders")
			query(t, server, ordersPath, "SendMessage", "MessageBody", "a")
			status, answer := queryRaw(t, server, ordersPath, form)
			if status >= http.StatusInternalServerError || (status == http.StatusOK) != (answer.XMLName.Local != "ErrorResponse") {
				t.Errorf("%s: %d %+v", form, status, answer)
			}
			query(t, server, "/", "ListQueues")
		})
	})
}
