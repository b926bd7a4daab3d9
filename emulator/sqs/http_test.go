package sqs_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	request.Header.Set("X-Amz-Target", target)
	w := httptest.NewRecorder()
	server.ServeHTTP(w, request)
	return w
}

func TestGarbageIsAnsweredInWords(t *testing.T) {
	server := newServer(t, sqs.Options{})
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
	server := newServer(t, sqs.Options{})
	for _, tc := range []struct {
		method, contentType, want string
		status                    int
	}{
		{http.MethodGet, "", "<UnknownOperationException", http.StatusNotFound},
		{http.MethodPut, "", "POST requests", http.StatusBadRequest},
		{http.MethodPost, "application/x-amz-json-1.0", "X-Amz-Target", http.StatusBadRequest},
	} {
		request := httptest.NewRequest(tc.method, "/", http.NoBody)
		request.Header.Set("Content-Type", tc.contentType)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, request)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s %s: %d %s", tc.method, tc.contentType, w.Code, w.Body)
		}
	}
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestABodyThatBreaksOff(t *testing.T) {
	server := newServer(t, sqs.Options{})
	w := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/", brokenBody{})
	request.Header.Set("X-Amz-Target", "AmazonSQS.ListQueues")
	server.ServeHTTP(w, request)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "could not be read") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestInvalidOptionsAreTheAnswer(t *testing.T) {
	for _, o := range []sqs.Options{{Region: "US East"}, {AccountID: "12"}, {MaxBatchBytes: -1}, {MaxBatchBytes: 1<<20 + 1}} {
		status, answer, _ := post(sqs.New(o), "AmazonSQS.ListQueues", "{}")
		if status != 400 || !strings.Contains(fmt.Sprint(answer["message"]), "sqs: Options.") {
			t.Errorf("%+v: %d %v", o, status, answer)
		}
		if _, err := sqs.Serve("127.0.0.1:0", o); err == nil {
			t.Errorf("%+v: Serve returned no error", o)
		}
	}
}

func TestOptionsAreInTheARN(t *testing.T) {
	server := newServer(t, sqs.Options{Region: "eu-west-1", AccountID: "123456789012"})
	if got := server.QueueARN("orders"); got != "arn:aws:sqs:eu-west-1:123456789012:orders" {
		t.Error(got)
	}
	status, answer, _ := post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`)
	if status != 200 || answer["QueueUrl"] != server.URL()+"/123456789012/orders" {
		t.Errorf("%d %v", status, answer)
	}
}
