package mailer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A mail that cannot be sent is tried every two hours, three times, and is a dead
// letter then. Twelve hours pass in a fraction of a second.
func TestMailThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{})
		defer server.Close()
		client := server.Client()
		createQueue(t, client, "mails-dead", nil)
		mails := createQueue(t, client, "mails", map[string]string{
			"VisibilityTimeout": "7200",
			"RedrivePolicy":     `{"deadLetterTargetArn":"` + server.QueueARN("mails-dead") + `","maxReceiveCount":3}`,
		})

		var tries []time.Time
		mailer := &Mailer{SQS: client, Queue: mails, Send: func(context.Context, string) error {
			tries = append(tries, time.Now())
			return errors.New("no such mailbox")
		}}
		start := time.Now()
		sendMessage(t, client, mails, "hello")
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
		defer cancel()
		mailer.Run(ctx)

		if len(tries) != 3 || tries[2].Sub(start) != 4*time.Hour {
			t.Errorf("tried at %v", tries)
		}
		moved := server.Events(sqs.Redriven)
		if len(moved) != 1 || moved[0].DeadLetterQueue != "mails-dead" || moved[0].Time.Sub(start) != 6*time.Hour {
			t.Errorf("moved: %+v", moved)
		}
	})
}

func createQueue(t *testing.T, client *awssqs.Client, name string, attributes map[string]string) string {
	t.Helper()
	out, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	return *out.QueueUrl
}

func sendMessage(t *testing.T, client *awssqs.Client, queue, body string) {
	t.Helper()
	if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body}); err != nil {
		t.Fatal(err)
	}
}
