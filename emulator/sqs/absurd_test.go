package sqs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// parameters are the members of all operations' requests.
var parameters = strings.Fields(`QueueUrl QueueName QueueOwnerAWSAccountId QueueNamePrefix Attributes AttributeNames tags Tags TagKeys
	MessageBody DelaySeconds MessageAttributes MessageSystemAttributes MessageGroupId MessageDeduplicationId Entries
	MaxNumberOfMessages VisibilityTimeout WaitTimeSeconds MessageAttributeNames MessageSystemAttributeNames ReceiveRequestAttemptId
	ReceiptHandle MaxResults NextToken Label Actions AWSAccountIds SourceArn DestinationArn MaxNumberOfMessagesPerSecond TaskHandle`)

// TestEveryOperationTakesAbsurdParameters sends every operation values that
// none can mean anything by: each is answered in words or succeeds, the server
// goes on, and no more is kept of it than was asked for.
func TestEveryOperationTakesAbsurdParameters(t *testing.T) {
	server := newServer(t, sqs.Options{History: 10})
	url := server.QueueURL("orders")
	bodies := []string{`{}`, ` { } `, `{"":""}`, `{"Unknown":{"a":[1,2,{"b":null}]}}`}
	for _, value := range []string{
		`null`, `""`, `true`, `-1`, `1e400`, `9223372036854775807`, `99999999999999999999999`, `0.5`,
		`[]`, `[null]`, `[[[]]]`, `{}`, `{"":null}`, `{"a":{}}`, `"\u0000"`, `"\ud800"`,
	} {
		for _, name := range parameters {
			bodies = append(bodies, fmt.Sprintf(`{"QueueUrl":%q,%q:%s}`, url, name, value))
		}
		bodies = append(bodies, fmt.Sprintf(`{"QueueUrl":"first","QueueUrl":%q,"MessageBody":1,"MessageBody":%s,"messagebody":"a"}`, url, value))
	}
	for _, value := range []string{
		strings.Repeat(`[`, 9_000) + strings.Repeat(`]`, 9_000), strings.Repeat(`{"a":`, 9_000) + `1` + strings.Repeat(`}`, 9_000),
		`[` + strings.Repeat(`"a",`, 9_000) + `"a"]`, `"` + strings.Repeat("x", 1<<16) + `"`,
	} {
		for _, name := range []string{"QueueUrl", "Attributes", "Entries", "TaskHandle"} {
			bodies = append(bodies, fmt.Sprintf(`{"QueueUrl":%q,%q:%s}`, url, name, value))
		}
	}
	for _, name := range sqs.OperationNames() {
		post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`)
		for _, body := range bodies {
			if strings.Contains(body, `"WaitTimeSeconds"`) && name == "ReceiveMessage" {
				continue // those that are understood would wait
			}
			status, answer, code := post(server, "AmazonSQS."+name, body)
			words, _ := answer["message"].(string)
			if (status != http.StatusOK || code != "") && (status < 400 || status >= 500 || code == "" || words == "") {
				t.Errorf("%s %.200s: %d %q %v", name, body, status, code, answer)
			}
		}
	}
	if calls, events := len(server.Calls()), len(server.Events()); calls != 10 || events > 10 {
		t.Errorf("%d calls and %d events are kept, want 10", calls, events)
	}
}

// Whatever a request calls its body, it is read as JSON.
func TestContentTypesDoNotMatter(t *testing.T) {
	server := newServer(t, sqs.Options{})
	for _, contentType := range []string{"", "application/json", "application/x-amz-json-1.1", "text/plain; charset=latin1", "multipart/form-data", "\x7f"} {
		request := httptest.NewRequest(http.MethodPost, "/any/path?and=query", strings.NewReader("{}"))
		request.Header.Set("Content-Type", contentType)
		request.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, request)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-amz-json-1.0" {
			t.Errorf("%q: %d %s", contentType, w.Code, w.Body)
		}
	}
}
