package sqs_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// everyDay are requests as SDKs send them, by operation.
var everyDay = [][2]string{
	{"SendMessage", `{"MessageBody":"{\"order\":1}","QueueUrl":"http://127.0.0.1:9324/000000000000/orders"}`},
	{"SendMessage", `{"QueueUrl": "http://x/000000000000/orders.fifo", "MessageBody": "a", "DelaySeconds": 0, "MessageGroupId": "g", "MessageDeduplicationId": "d"}`},
	{"SendMessageBatch", `{"Entries":[{"Id":"0","MessageBody":"\u00e4"},{"DelaySeconds":900,"Id":"1","MessageBody":"b","MessageGroupId":"g"}],"QueueUrl":"http://x/000000000000/orders"}`},
	{"ReceiveMessage", `{"QueueUrl":"http://x/000000000000/orders"}`},
	{"ReceiveMessage", `{"AttributeNames":["All"],"MaxNumberOfMessages":10,"MessageAttributeNames":["a.*"],"MessageSystemAttributeNames":["All"],"QueueUrl":"http://x/000000000000/orders","ReceiveRequestAttemptId":"a","VisibilityTimeout":30,"WaitTimeSeconds":20}`},
	{"DeleteMessage", `{"QueueUrl":"http://x/000000000000/orders","ReceiptHandle":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`},
	{"DeleteMessageBatch", `{"Entries":[{"Id":"0","ReceiptHandle":"AAA+/=="},{"Id":"1","ReceiptHandle":"x"}],"QueueUrl":"http://x/000000000000/orders"}`},
	{"ChangeMessageVisibility", `{"QueueUrl":"http://x/000000000000/orders","ReceiptHandle":"x","VisibilityTimeout":0}`},
	{"ChangeMessageVisibilityBatch", `{"Entries":[{"Id":"0","ReceiptHandle":"x","VisibilityTimeout":43200}],"QueueUrl":"http://x/000000000000/orders"}`},
	{"PurgeQueue", `{"QueueUrl":"http://x/000000000000/orders"}`},
}

// The requests that a queue gets all day are read without encoding/json.
func TestEveryDayRequestsArePlain(t *testing.T) {
	for _, r := range everyDay {
		if _, ok, _, err := sqs.ReadPlain(r[0], []byte(r[1])); !ok || err != nil {
			t.Errorf("%s %s is left to encoding/json (%v)", r[0], r[1], err)
		}
	}
}

// FuzzPlainRequest reads requests with and without encoding/json: what can be
// read without is the same.
func FuzzPlainRequest(f *testing.F) {
	names := sqs.OperationNames()
	for _, r := range everyDay {
		f.Add(byte(slices.Index(names, r[0])), []byte(r[1]))
	}
	for _, more := range [][2]string{
		{"SendMessageBatch", `{"Entries":[{"Id":"0","DelaySeconds":1}],"Entries":[{"MessageBody":"a"}]}`},
		{"SendMessageBatch", `{"Entries":[],"Entries":[{}]}`},
		{"SendMessage", `{"MessageBody":null,"messagebody":"a","MessageGroupId":"a","MessageGroupId":"b","Id":"c"}`},
		{"ReceiveMessage", `{"AttributeNames":["a","b"],"AttributeNames":["c"],"WaitTimeSeconds":1,"WaitTimeSeconds":null}`},
	} {
		f.Add(byte(slices.Index(names, more[0])), []byte(more[1]))
	}
	f.Fuzz(func(t *testing.T, operation byte, body []byte) {
		name := names[int(operation)%len(names)]
		plain, ok, standard, err := sqs.ReadPlain(name, body)
		if ok && (err != nil || !reflect.DeepEqual(plain, standard)) {
			t.Errorf("%s %q: %+v, encoding/json has %+v, %v", name, body, plain, standard, err)
		}
	})
}

// FuzzBody sends a body and receives it.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{"a", `{"order":1}`, "\t\r\n<&>\\/\"", "ä€𝄞\u2028\u2029\ufffd\x7f", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		server := newServer(t, sqs.Options{History: -1})
		post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`)
		request := map[string]any{"QueueUrl": server.QueueURL("orders"), "MessageBody": text}
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		if status, _, _ := post(server, "AmazonSQS.SendMessage", string(body)); status != http.StatusOK {
			return // empty, or characters that may not be
		}
		// What is not UTF-8 is sent as U+FFFD.
		if err := json.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		_, answer, _ := post(server, "AmazonSQS.ReceiveMessage", `{"QueueUrl":"`+server.QueueURL("orders")+`"}`)
		messages, _ := answer["Messages"].([]any)
		if len(messages) != 1 || messages[0].(map[string]any)["Body"] != request["MessageBody"] {
			t.Errorf("%q comes back as %v", request["MessageBody"], messages)
		}
	})
}
