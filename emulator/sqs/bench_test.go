package sqs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// BenchmarkBatch sends, receives and deletes ten messages, in-process and without a client.
// The time must not grow with the number of messages in the queue.
func BenchmarkBatch(b *testing.B) {
	for _, waiting := range []int{0, 100_000, 1_000_000} {
		b.Run(fmt.Sprint("waiting=", waiting), func(b *testing.B) {
			server := newServer(b, sqs.Config{})
			queue := `"QueueUrl":"` + server.QueueURL("orders") + `"`
			post(server, "AmazonSQS.CreateQueue", `{"QueueName":"orders"}`)
			send := batchOfTen(queue)
			for range waiting / 10 {
				post(server, "AmazonSQS.SendMessageBatch", send)
			}
			for b.Loop() {
				post(server, "AmazonSQS.SendMessageBatch", send)
				_, answer, _ := post(server, "AmazonSQS.ReceiveMessage", `{`+queue+`,"MaxNumberOfMessages":10}`)
				var entries []map[string]any
				for i, m := range answer["Messages"].([]any) {
					entries = append(entries, map[string]any{"Id": fmt.Sprint(i), "ReceiptHandle": m.(map[string]any)["ReceiptHandle"]})
				}
				if status, _, code := call(server, "DeleteMessageBatch", map[string]any{"QueueUrl": server.QueueURL("orders"), "Entries": entries}); status != 200 {
					b.Fatal(code)
				}
			}
		})
	}
}

// batchOfTen is a SendMessageBatch request; queue is its QueueUrl member.
func batchOfTen(queue string) string {
	var entries []string
	for i := range 10 {
		entries = append(entries, fmt.Sprintf(`{"Id":"%d","MessageBody":"a"}`, i))
	}
	return `{` + queue + `,"Entries":[` + strings.Join(entries, ",") + `]}`
}
