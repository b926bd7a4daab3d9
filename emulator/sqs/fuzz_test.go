package sqs_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// FuzzRequest sends any body to any operation of a server with a few messages and a move
// task. Every answer must be JSON, and the server must continue.
func FuzzRequest(f *testing.F) {
	const url, fifo = `"QueueUrl":"http://x/000000000000/orders"`, `"QueueUrl":"http://x/000000000000/orders.fifo"`
	const dead = `"SourceArn":"arn:aws:sqs:us-east-1:000000000000:dead"`
	names := sqs.OperationNames()
	for _, seed := range slices.Concat(everyDay, [][2]string{
		{"AddPermission", `{` + url + `,"Label":"a","Actions":["SendMessage","*"],"AWSAccountIds":["111111111111"]}`},
		{"CancelMessageMoveTask", `{"TaskHandle":"eyJ0YXNrSWQiOiJhIiwic291cmNlQXJuIjoiYXJuOmF3czpzcXM6dXMtZWFzdC0xOjAwMDAwMDAwMDAwMDpkZWFkIn0="}`},
		{"CreateQueue", `{"QueueName":"new","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:orders\",\"maxReceiveCount\":\"3\"}"},"tags":{"a":"b"}}`},
		{"DeleteQueue", `{` + url + `}`},
		{"GetQueueAttributes", `{` + fifo + `,"AttributeNames":["All","QueueArn"]}`},
		{"GetQueueUrl", `{"QueueName":"orders","QueueOwnerAWSAccountId":"000000000000"}`},
		{"ListDeadLetterSourceQueues", `{"QueueUrl":"http://x/000000000000/dead","MaxResults":1}`},
		{"ListMessageMoveTasks", `{` + dead + `,"MaxResults":10}`},
		{"ListQueues", `{"MaxResults":1,"NextToken":"b3JkZXJz"}`},
		{"PurgeQueue", `{"QueueUrl":"http://x/000000000000/dead"}`},
		{"ReceiveMessage", `{` + fifo + `,"MaxNumberOfMessages":10,"WaitTimeSeconds":1,"VisibilityTimeout":0,"AttributeNames":["All"],"MessageAttributeNames":["a.*"],"ReceiveRequestAttemptId":"a"}`},
		{"RemovePermission", `{` + url + `,"Label":"a"}`},
		{"SendMessage", `{` + url + `,"MessageBody":"a","DelaySeconds":1,"MessageAttributes":{"n":{"DataType":"Number","StringValue":"1e5"},"b":{"DataType":"Binary","BinaryValue":"AAA="}}}`},
		{"SendMessageBatch", `{` + fifo + `,"Entries":[{"Id":"1","MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":"1"}]}`},
		{"SetQueueAttributes", `{` + url + `,"Attributes":{"RedriveAllowPolicy":"{\"redrivePermission\":\"byQueue\",\"sourceQueueArns\":[\"a\"]}","Policy":"{}"}}`},
		{"StartMessageMoveTask", `{` + dead + `,"DestinationArn":"arn:aws:sqs:us-east-1:000000000000:other","MaxNumberOfMessagesPerSecond":500}`},
		{"TagQueue", `{` + url + `,"Tags":{"a":"b"}}`},
		{"UntagQueue", `{` + url + `,"TagKeys":["a"]}`},
		{"SendMessageBatch", `{` + url + `,"Entries":[null,{"":null}],"MessageBody":1,"messagebody":"\ud800"}`},
		{"SetQueueAttributes", `{` + url + `,"Attributes":{"a":{}},"Unknown":{"a":[1,2,{"b":null}]}}`},
		{"ChangeMessageVisibility", `{` + url + `,"ReceiptHandle":"","VisibilityTimeout":9223372036854775807}`},
		{"CancelMessageMoveTask", `{"TaskHandle":"` + strings.Repeat("x", 1<<10) + `"}`},
	}) {
		f.Add(byte(slices.Index(names, seed[0])), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, operation byte, body []byte) {
		name := names[int(operation)%len(names)]
		synctest.Test(t, func(t *testing.T) {
			server := newServer(t, sqs.Config{Observe: func(sqs.Event) {}})
			post(server, "AmazonSQS.CreateQueue", `{"QueueName":"dead"}`)
			post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders","Attributes":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead\",\"maxReceiveCount\":1}"}}`)
			post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders.fifo","Attributes":{"FifoQueue":"true"}}`)
			post(server, "AmazonSQS.SendMessage", `{`+url+`,"MessageBody":"a"}`)
			post(server, "AmazonSQS.SendMessage", `{"QueueUrl":"http://x/000000000000/dead","MessageBody":"a"}`)
			post(server, "AmazonSQS.SendMessage", `{`+fifo+`,"MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":"d"}`)
			status, answer, code := post(server, "AmazonSQS."+name, string(body))
			if answer == nil || (status == http.StatusOK) != (code == "") || status >= http.StatusInternalServerError {
				t.Errorf("%s %s: %d %v %s", name, body, status, answer, code)
			}
			if status, _, _ := post(server, "AmazonSQS.ListQueues", "{}"); status != http.StatusOK {
				t.Errorf("afterwards: %d", status)
			}
		})
	})
}

// FuzzPolicies sets the three attributes that contain JSON. An accepted value must read
// back as a value that is accepted and does not change again.
func FuzzPolicies(f *testing.F) {
	names := []string{"Policy", "RedrivePolicy", "RedriveAllowPolicy"}
	for i, values := range [][]string{
		{`{"Version":"2012-10-17","Id":"i","Statement":[{"Sid":"a","Effect":"Allow","Principal":{"AWS":["1","2"]},"Action":"sqs:*","Resource":"*","Condition":{"Bool":{"a":"b"}}}]}`,
			`{"Statement":{"Principal":"*","NotAction":["a"]}}`, `{"Statement":[1]}`},
		{`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":3}`,
			`{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":"1000"}`, `{"deadLetterTargetArn":"arn:aws:sqs:::dead","maxReceiveCount":1e2}`},
		{`{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:orders"]}`, `{"redrivePermission":"denyAll"}`},
	} {
		for _, value := range values {
			f.Add(byte(i), value)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, value string) {
		name := names[int(which)%len(names)]
		server := newServer(t, sqs.Config{History: -1})
		queue := server.QueueURL("orders")
		post(server, "AmazonSQS.CreateQueue", `{"QueueName":"dead"}`)
		post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`)
		request := func(operation string, more map[string]any) (int, map[string]any) {
			more["QueueUrl"] = queue
			status, answer, _ := call(server, operation, more)
			if status >= http.StatusInternalServerError || answer == nil {
				t.Fatalf("%s %v: %d %v", operation, more, status, answer)
			}
			return status, answer
		}
		set := func(value string) int {
			status, _ := request("SetQueueAttributes", map[string]any{"Attributes": map[string]string{name: value}})
			return status
		}
		read := func() string {
			_, answer := request("GetQueueAttributes", map[string]any{"AttributeNames": []string{name}})
			values, _ := answer["Attributes"].(map[string]any)
			text, _ := values[name].(string)
			return text
		}
		if set(value) != http.StatusOK {
			equal(t, name+" "+value+", refused, reads back as", read(), "")
			return
		}
		kept := read()
		if status := set(kept); status != http.StatusOK || read() != kept {
			t.Errorf("%s %s reads back as %s, which is answered with %d and reads back as %s", name, value, kept, status, read())
		}
		permission := map[string]any{"Label": "fuzz-label-x", "Actions": []string{"SendMessage"}, "AWSAccountIds": []string{"111111111111"}}
		if status, _ := request("AddPermission", permission); name == "Policy" && status == http.StatusOK {
			if status, _ := request("RemovePermission", permission); status != http.StatusOK {
				t.Errorf("%s %s: RemovePermission %d", name, value, status)
			}
			if got := read(); got != "" && set(got) != http.StatusOK {
				t.Errorf("%s %s: the policy after AddPermission and RemovePermission is refused: %s", name, value, got)
			}
		}
	})
}

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

// The most frequent requests are read without encoding/json, and their bodies are copied.
func TestEveryDayRequestsArePlain(t *testing.T) {
	if sqs.KeepsRequest(`{"MessageBody":"hello"}`, "hello") {
		t.Error("a message keeps its request in memory")
	}
	for _, r := range everyDay {
		if _, ok, _, err := sqs.ReadPlain(r[0], []byte(r[1])); !ok || err != nil {
			t.Errorf("%s %s is left to encoding/json (%v)", r[0], r[1], err)
		}
	}
}

// FuzzPlainRequest reads requests with and without encoding/json. The results must be equal.
func FuzzPlainRequest(f *testing.F) {
	names := sqs.OperationNames()
	for _, seed := range slices.Concat(everyDay, [][2]string{
		{"SendMessageBatch", `{"Entries":[{"Id":"0","DelaySeconds":1}],"Entries":[{"MessageBody":"a"}]}`},
		{"SendMessageBatch", `{"Entries":[],"Entries":[{}]}`},
		{"SendMessage", `{"MessageBody":null,"messagebody":"a","MessageGroupId":"a","MessageGroupId":"b","Id":"c"}`},
		{"ReceiveMessage", `{"AttributeNames":["a","b"],"AttributeNames":["c"],"WaitTimeSeconds":1,"WaitTimeSeconds":null}`},
		{"ReceiveMessage", `{"WaitTimeSeconds":01,"VisibilityTimeout":-1,"MaxNumberOfMessages":1.5}`},
		{"ReceiveMessage", `{"WaitTimeSeconds":1e2,"VisibilityTimeout":"1"}`},
	}) {
		f.Add(byte(slices.Index(names, seed[0])), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, operation byte, body []byte) {
		name := names[int(operation)%len(names)]
		plain, ok, standard, err := sqs.ReadPlain(name, body)
		if ok && (err != nil || !reflect.DeepEqual(plain, standard)) {
			t.Errorf("%s %q: %+v, encoding/json has %+v, %v", name, body, plain, standard, err)
		}
	})
}
