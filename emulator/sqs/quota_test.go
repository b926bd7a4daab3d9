package sqs_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// TestInFlightQuota has 120,000 messages in flight. A standard queue then
// refuses a short poll; a long poll, and a FIFO queue, return nothing.
func TestInFlightQuota(t *testing.T) {
	for _, tc := range []struct{ name, attributes, overLimit string }{
		{"orders", "", "OverLimit"},
		{"orders.fifo", `,"FifoQueue":"true","ContentBasedDeduplication":"true","DeduplicationScope":"messageGroup"`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, sqs.Options{History: -1})
				queue := `"QueueUrl":"` + server.QueueURL(tc.name) + `"`
				post(server, "AmazonSQS.CreateQueue", `{"QueueName":"`+tc.name+`","Attributes":{"VisibilityTimeout":"43200"`+tc.attributes+`}}`)
				if err := sqs.FillInFlight(server, tc.name, 119_990); err != nil {
					t.Fatal(err)
				}
				for group := range 2 {
					var entries []string
					for i := range 10 {
						entries = append(entries, fmt.Sprintf(`{"Id":"%d","MessageBody":"%[1]d","MessageGroupId":"last-%d"}`, i, group))
					}
					w := postRaw(server, "AmazonSQS.SendMessageBatch", `{`+queue+`,"Entries":[`+strings.Join(entries, ",")+`]}`)
					if strings.Count(w.Body.String(), `"MessageId"`) != 10 {
						t.Fatal(w.Body)
					}
				}
				receive := func(parameters string, want int) {
					t.Helper()
					w := postRaw(server, "AmazonSQS.ReceiveMessage", `{`+queue+parameters+`}`)
					if w.Code != 200 || strings.Count(w.Body.String(), `"MessageId"`) != want {
						t.Fatalf("%d %s, want %d messages", w.Code, w.Body, want)
					}
				}
				receive(`,"MaxNumberOfMessages":5`, 5)
				receive(`,"MaxNumberOfMessages":10`, 5)
				if _, _, code := post(server, "AmazonSQS.ReceiveMessage", `{`+queue+`}`); code != tc.overLimit {
					t.Errorf("a short poll with 120,000 in flight: %q, want %q", code, tc.overLimit)
				}
				receive(`,"WaitTimeSeconds":1`, 0)
			})
		})
	}
}
