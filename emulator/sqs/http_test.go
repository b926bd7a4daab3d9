package sqs_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// post sends a raw request and returns the status, the decoded body and the
// query error's code. An answer without a body is one without members.
func post(server http.Handler, target, body string) (status int, answer map[string]any, code string) {
	w := postRaw(server, target, body)
	if answer = (map[string]any{}); w.Body.Len() > 0 {
		answer = nil
		_ = json.Unmarshal(w.Body.Bytes(), &answer)
	}
	code, _, _ = strings.Cut(w.Header().Get("X-Amzn-Query-Error"), ";")
	return w.Code, answer, code
}

func postRaw(server http.Handler, target, body string) *httptest.ResponseRecorder {
	return ask(server, http.MethodPost, "/", strings.NewReader(body), "X-Amz-Target", target)
}

// call sends a request with these parameters: strings, numbers and the like.
func call(server http.Handler, operation string, parameters map[string]any) (status int, answer map[string]any, code string) {
	body, err := json.Marshal(parameters)
	if err != nil {
		panic(err)
	}
	return post(server, "AmazonSQS."+operation, string(body))
}

// ask sends any request; headers are name, value, name, value.
func ask(server http.Handler, method, path string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(method, path, body)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, request)
	return w
}

func TestGarbageIsAnsweredInWords(t *testing.T) {
	server := newServer(t, sqs.Config{})
	deep := strings.Repeat(`{"a":`, 20_000)
	for name, tc := range map[string]struct {
		target, body string
		status       int
		code         string
	}{
		"no target":          {"", "{}", 400, "InvalidAction"},
		"another service":    {"DynamoDB_20120810.GetItem", "{}", 400, "InvalidAction"},
		"unknown operation":  {"AmazonSQS.Explode", "{}", 400, "InvalidAction"},
		"not JSON":           {"AmazonSQS.SendMessage", "hello", 400, "MalformedInput"},
		"cut off":            {"AmazonSQS.SendMessage", `{"QueueUrl":"`, 400, "MalformedInput"},
		"an array":           {"AmazonSQS.SendMessage", "[]", 400, "MalformedInput"},
		"null":               {"AmazonSQS.SendMessage", "null", 400, "MalformedInput"},
		"not UTF-8":          {"AmazonSQS.SendMessage", "{\"MessageBody\":\"\xff\"}", 400, "MalformedInput"},
		"a number as text":   {"AmazonSQS.ReceiveMessage", `{"MaxNumberOfMessages":"ten"}`, 400, "MalformedInput"},
		"a fraction":         {"AmazonSQS.ReceiveMessage", `{"MaxNumberOfMessages":1.5}`, 400, "MalformedInput"},
		"a huge number":      {"AmazonSQS.ReceiveMessage", `{"MaxNumberOfMessages":99999999999999999999}`, 400, "MalformedInput"},
		"deep":               {"AmazonSQS.SendMessage", deep, 400, "MalformedInput"},
		"no parameters":      {"AmazonSQS.SendMessage", "", 400, "MissingParameter"},
		"no tags":            {"AmazonSQS.TagQueue", "{}", 400, "MissingParameter"},
		"no label":           {"AmazonSQS.RemovePermission", "{}", 400, "MissingParameter"},
		"no name":            {"AmazonSQS.GetQueueUrl", "{}", 400, "MissingParameter"},
		"null in a batch":    {"AmazonSQS.SendMessageBatch", `{"Entries":[null]}`, 400, "AWS.SimpleQueueService.InvalidBatchEntryId"},
		"more than 8 MiB":    {"AmazonSQS.SendMessage", strings.Repeat(" ", 10<<20), 413, "RequestEntityTooLarge"},
		"not base64, binary": {"AmazonSQS.SendMessage", `{"MessageAttributes":{"a":{"BinaryValue":"!"}}}`, 400, "MalformedInput"},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer, code := post(server, tc.target, tc.body)
			if status != tc.status || code != tc.code || answer["message"] == "" || answer["__type"] == "" {
				t.Errorf("%d %s %v, want %d %s", status, code, answer, tc.status, tc.code)
			}
		})
	}
}

func TestOtherProtocolsAreToldWhatToUse(t *testing.T) {
	server := newServer(t, sqs.Config{})
	for _, tc := range []struct {
		method, contentType, want string
		status                    int
	}{
		{http.MethodGet, "", "<UnknownOperationException", http.StatusNotFound},
		{http.MethodPut, "", "POST requests", http.StatusBadRequest},
		{http.MethodPost, "application/x-amz-json-1.0", "X-Amz-Target", http.StatusBadRequest},
	} {
		w := ask(server, tc.method, "/", http.NoBody, "Content-Type", tc.contentType)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s %s: %d %s", tc.method, tc.contentType, w.Code, w.Body)
		}
	}
}

func TestABodyThatBreaksOff(t *testing.T) {
	server := newServer(t, sqs.Config{})
	w := ask(server, http.MethodPost, "/", iotest.ErrReader(io.ErrUnexpectedEOF), "X-Amz-Target", "AmazonSQS.ListQueues")
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "could not be read") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestInvalidOptionsAreTheAnswer(t *testing.T) {
	for _, o := range []sqs.Config{{Region: "US East"}, {AccountID: "12"}, {MaxBatchBytes: -1}, {MaxBatchBytes: 1<<20 + 1}} {
		status, answer, _ := post(sqs.New(o), "AmazonSQS.ListQueues", "{}")
		if status != 400 || !strings.Contains(fmt.Sprint(answer["message"]), "sqs: Config.") {
			t.Errorf("%+v: %d %v", o, status, answer)
		}
		if _, err := sqs.Serve("127.0.0.1:0", o); err == nil {
			t.Errorf("%+v: Serve returned no error", o)
		}
	}
}

func TestOptionsAreInTheARN(t *testing.T) {
	server := newServer(t, sqs.Config{Region: "eu-west-1", AccountID: "123456789012"})
	if got := server.QueueARN("orders"); got != "arn:aws:sqs:eu-west-1:123456789012:orders" {
		t.Error(got)
	}
	status, answer, _ := post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`)
	if status != 200 || answer["QueueUrl"] != server.URL()+"/123456789012/orders" {
		t.Errorf("%d %v", status, answer)
	}
}

// The body is read as JSON, whatever the Content-Type.
func TestContentTypesDoNotMatter(t *testing.T) {
	server := newServer(t, sqs.Config{})
	for _, contentType := range []string{"", "application/json", "application/x-amz-json-1.1", "text/plain; charset=latin1", "multipart/form-data", "\x7f"} {
		w := ask(server, http.MethodPost, "/any/path?and=query", strings.NewReader("{}"),
			"Content-Type", contentType, "X-Amz-Target", "AmazonSQS.ListQueues")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/x-amz-json-1.0" {
			t.Errorf("%q: %d %s", contentType, w.Code, w.Body)
		}
	}
}
