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

// queryAnswer is any answer of the query protocol.
type queryAnswer struct {
	XMLName xml.Name
	Result  struct {
		XMLName       xml.Name
		QueueURLs     []string      `xml:"QueueUrl"`
		Attributes    []queryEntry  `xml:"Attribute"`
		Tags          []queryEntry  `xml:"Tag"`
		Messages      []queryReply  `xml:"Message"`
		Sent          []queryReply  `xml:"SendMessageBatchResultEntry"`
		Deleted       []queryReply  `xml:"DeleteMessageBatchResultEntry"`
		Changed       []queryReply  `xml:"ChangeMessageVisibilityBatchResultEntry"`
		Tasks         []queryReply  `xml:"ListMessageMoveTasksResultEntry"`
		Failed        []queryFailed `xml:"BatchResultErrorEntry"`
		MessageID     string        `xml:"MessageId"`
		AttributesMD5 string        `xml:"MD5OfMessageAttributes"`
	} `xml:",any"`
	Error     struct{ Type, Code, Message string }
	RequestID string `xml:"ResponseMetadata>RequestId"`
	FailedID  string `xml:"RequestId"`
}

type queryEntry struct{ Name, Key, Value string }

type queryReply struct {
	ID            string       `xml:"Id"`
	MessageID     string       `xml:"MessageId"`
	ReceiptHandle string       `xml:"ReceiptHandle"`
	Body          string       `xml:"Body"`
	Attributes    []queryEntry `xml:"Attribute"`
	Message       []struct {
		Name  string
		Value struct{ DataType, StringValue, BinaryValue string }
	} `xml:"MessageAttribute"`
}

type queryFailed struct {
	ID            string `xml:"Id"`
	Code, Message string
	SenderFault   bool
}

// queryRaw sends parameters, given as name, value, …, to the path.
func queryRaw(t *testing.T, server http.Handler, path, form string) (int, queryAnswer) {
	t.Helper()
	request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	return answerOf(t, server, request)
}

func answerOf(t *testing.T, server http.Handler, request *http.Request) (int, queryAnswer) {
	t.Helper()
	w := httptest.NewRecorder()
	server.ServeHTTP(w, request)
	var answer queryAnswer
	if err := xml.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Header().Get("Content-Type") != "text/xml" {
		t.Fatalf("%s answer %s: %v", w.Header().Get("Content-Type"), w.Body, err)
	}
	if answer.XMLName.Space != "http://queue.amazonaws.com/doc/2012-11-05/" || answer.RequestID+answer.FailedID == "" {
		t.Errorf("answer %s", w.Body)
	}
	return w.Code, answer
}

// query carries out an action that must succeed.
func query(t *testing.T, server http.Handler, path, action string, parameters ...string) queryAnswer {
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
	server := newServer(t, sqs.Options{})
	created := query(t, server, "/", "CreateQueue", "QueueName", "orders", "Attribute.1.Name", "VisibilityTimeout",
		"Attribute.1.Value", "7", "Attribute.10.Name", "DelaySeconds", "Attribute.10.Value", "0", "Tag.1.Key", "team", "Tag.1.Value", "a & b")
	if got := created.Result; got.XMLName.Local != "CreateQueueResult" || got.QueueURLs[0] != server.QueueURL("orders") {
		t.Errorf("%+v", created)
	}
	body := "two\r\nlines <é> & \"🙂\""
	sent := query(t, server, ordersPath, "SendMessage", "MessageBody", body,
		"MessageAttribute.1.Name", "n", "MessageAttribute.1.Value.DataType", "Number", "MessageAttribute.1.Value.StringValue", "7",
		"MessageAttribute.2.Name", "b", "MessageAttribute.2.Value.DataType", "Binary", "MessageAttribute.2.Value.BinaryValue", "AP8=",
		"MessageSystemAttribute.1.Name", "AWSTraceHeader", "MessageSystemAttribute.1.Value.DataType", "String",
		"MessageSystemAttribute.1.Value.StringValue", "Root=1")
	if sent.Result.MessageID == "" || sent.Result.AttributesMD5 == "" {
		t.Errorf("%+v", sent)
	}
	// The queue by its URL, and names without numbers.
	received := query(t, server, "/", "ReceiveMessage", "QueueUrl", server.QueueURL("orders"), "AttributeName", "AWSTraceHeader",
		"MessageAttributeName.1", "n", "MessageAttributeName.2", "b", "MaxNumberOfMessages", "10").Result.Messages
	if len(received) != 1 || received[0].Body != body || received[0].MessageID != sent.Result.MessageID ||
		len(received[0].Attributes) != 1 || received[0].Attributes[0] != (queryEntry{Name: "AWSTraceHeader", Value: "Root=1"}) ||
		len(received[0].Message) != 2 || received[0].Message[0].Value.BinaryValue != "AP8=" || received[0].Message[1].Value.StringValue != "7" {
		t.Fatalf("received %+v", received)
	}
	deleted := query(t, server, ordersPath, "DeleteMessage", "ReceiptHandle", received[0].ReceiptHandle)
	if deleted.Result.XMLName.Local != "" {
		t.Errorf("DeleteMessage has the result %+v", deleted.Result)
	}
	empty := query(t, server, ordersPath, "ReceiveMessage", "VisibilityTimeout", "0")
	if empty.Result.XMLName.Local != "ReceiveMessageResult" || len(empty.Result.Messages) != 0 {
		t.Errorf("%+v", empty)
	}
}

func TestQueryWritesAnEmptyResultAsAWSDoes(t *testing.T) {
	server := newServer(t, sqs.Options{})
	query(t, server, "/", "CreateQueue", "QueueName", "orders")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, ordersPath+"?Action=ReceiveMessage", nil))
	if !strings.Contains(w.Body.String(), "<ReceiveMessageResult/>") {
		t.Errorf("answer %s", w.Body)
	}
}

func TestQueryBatches(t *testing.T) {
	server := newServer(t, sqs.Options{})
	query(t, server, "/", "CreateQueue", "QueueName", "orders")
	const entry = "SendMessageBatchRequestEntry."
	sent := query(t, server, ordersPath, "SendMessageBatch", entry+"2.Id", "b", entry+"2.MessageBody", "second",
		entry+"10.Id", "c", entry+"10.MessageBody", "late", entry+"10.DelaySeconds", "901", entry+"1.Id", "a", entry+"1.MessageBody", "first",
		entry+"1.MessageAttribute.1.Name", "x", entry+"1.MessageAttribute.1.Value.DataType", "String", entry+"1.MessageAttribute.1.Value.StringValue", "y").Result
	if len(sent.Sent) != 2 || sent.Sent[0].ID != "a" || len(sent.Failed) != 1 || sent.Failed[0].ID != "c" ||
		sent.Failed[0].Code != "InvalidParameterValue" || !sent.Failed[0].SenderFault {
		t.Errorf("%+v", sent)
	}
	received := query(t, server, ordersPath, "ReceiveMessage", "MaxNumberOfMessages", "10").Result.Messages
	if len(received) != 2 || received[0].Body != "first" || received[1].Body != "second" {
		t.Fatalf("received %+v", received)
	}
	const change = "ChangeMessageVisibilityBatchRequestEntry.1."
	changed := query(t, server, ordersPath, "ChangeMessageVisibilityBatch", change+"Id", "a",
		change+"ReceiptHandle", received[0].ReceiptHandle, change+"VisibilityTimeout", "60").Result
	const remove = "DeleteMessageBatchRequestEntry."
	deleted := query(t, server, ordersPath, "DeleteMessageBatch", remove+"1.Id", "a", remove+"1.ReceiptHandle", received[0].ReceiptHandle,
		remove+"2.Id", "b", remove+"2.ReceiptHandle", "none").Result
	if len(changed.Changed) != 1 || len(deleted.Deleted) != 1 || len(deleted.Failed) != 1 || deleted.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("changed %+v, deleted %+v", changed, deleted)
	}
}

func TestQueryQueues(t *testing.T) {
	server := newServer(t, sqs.Options{})
	query(t, server, "/", "CreateQueue", "QueueName", "orders")
	query(t, server, ordersPath, "SetQueueAttributes", "Attribute.Name", "VisibilityTimeout", "Attribute.Value", "5")
	query(t, server, ordersPath, "TagQueue", "Tag.1.Key", "a", "Tag.1.Value", "1", "Tag.2.Key", "b")
	query(t, server, ordersPath, "UntagQueue", "TagKey.1", "a")
	if got := query(t, server, ordersPath, "GetQueueAttributes", "AttributeName.1", "VisibilityTimeout").Result.Attributes; len(got) != 1 || got[0].Value != "5" {
		t.Errorf("attributes %+v", got)
	}
	if got := query(t, server, ordersPath, "ListQueueTags").Result.Tags; len(got) != 1 || got[0].Key != "b" || got[0].Value != "" {
		t.Errorf("tags %+v", got)
	}
	status, listed := answerOf(t, server, httptest.NewRequest(http.MethodGet, "/?Action=ListQueues&QueueNamePrefix=o", http.NoBody))
	if status != http.StatusOK || len(listed.Result.QueueURLs) != 1 {
		t.Errorf("by GET: %d, %+v", status, listed)
	}
	query(t, server, "/", "CreateQueue", "QueueName", "source", "Attribute.1.Name", "RedrivePolicy",
		"Attribute.1.Value", `{"deadLetterTargetArn":"`+server.QueueARN("orders")+`","maxReceiveCount":1}`)
	query(t, server, "/", "StartMessageMoveTask", "SourceArn", server.QueueARN("orders"), "MaxNumberOfMessagesPerSecond", "10")
	if got := query(t, server, "/", "ListMessageMoveTasks", "SourceArn", server.QueueARN("orders")).Result.Tasks; len(got) != 1 {
		t.Errorf("tasks %+v", got)
	}
	query(t, server, ordersPath, "PurgeQueue")
	query(t, server, ordersPath, "DeleteQueue")
}

func TestQueryErrors(t *testing.T) {
	server := newServer(t, sqs.Options{})
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
			if status != tc.status || answer.XMLName.Local != "ErrorResponse" || answer.Error.Code != tc.code ||
				answer.Error.Type != "Sender" || answer.Error.Message == "" {
				t.Errorf("%d %+v, want %d %s", status, answer, tc.status, tc.code)
			}
		})
	}
}

// TestQueryFaults: what is injected strikes this protocol as well, and the
// history has its calls.
func TestQueryFaults(t *testing.T) {
	server := newServer(t, sqs.Options{Faults: []sqs.Fault{{Kind: sqs.Failure, Operation: "SendMessage"}}})
	query(t, server, "/", "CreateQueue", "QueueName", "orders")
	status, answer := queryRaw(t, server, ordersPath, "Action=SendMessage&MessageBody=a")
	if status != http.StatusInternalServerError || answer.Error.Type != "Receiver" {
		t.Errorf("%d %+v", status, answer)
	}
	if calls := server.Calls("SendMessage"); len(calls) != 1 || calls[0].Queue != "orders" || calls[0].Fault != sqs.Failure {
		t.Errorf("calls %+v", calls)
	}
}

// FuzzQuery: any form is answered with XML, and the server goes on.
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
			server := newServer(t, sqs.Options{})
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
