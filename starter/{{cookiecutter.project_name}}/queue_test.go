package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
)

// Messages through a queue, Lambda's event source mapping and the function, in
// virtual time: retries that would take minutes take none.
func TestThroughAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Options{})
		defer server.Close()
		client := server.Client()
		createQueue(t, client, "signups-dead", nil)
		queue := createQueue(t, client, "signups", map[string]string{
			"VisibilityTimeout": "60",
			"RedrivePolicy":     `{"deadLetterTargetArn":"` + server.QueueARN("signups-dead") + `","maxReceiveCount":5}`,
		})
		const good, later, nobody, broken = `{"email":"ann@example.com"}`, `{"email":"later@example.com"}`,
			`{"email":"nobody@example.com"}`, `{"email":`
		for _, body := range []string{good, later, nobody, broken} {
			if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body}); err != nil {
				t.Fatal(err)
			}
		}

		h, err := handler.New(batch.JSON(welcome(demoMailer{})), handler.Config{SQS: client})
		if err != nil {
			t.Fatal(err)
		}
		function, err := lambda.Start(lambda.Function{Handler: h.Invoke, Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer function.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		mapping := lambda.Mapping{Function: function, SQS: client, QueueURL: queue, ReportBatchItemFailures: true}
		if err := mapping.Run(ctx); err != nil {
			t.Fatal(err)
		}

		var deleted, dead []string
		for _, e := range server.Events(sqs.Deleted) {
			deleted = append(deleted, e.Body)
		}
		for _, e := range server.Events(sqs.Sent) {
			if e.Queue == "signups-dead" {
				dead = append(dead, e.Body)
			}
		}
		if !same(deleted, good, later, nobody, broken) {
			t.Errorf("deleted: %q, want all four", deleted)
		}
		if !same(dead, nobody, broken) {
			t.Errorf("dead letters: %q", dead)
		}
	})
}

func same(got []string, want ...string) bool {
	slices.Sort(got)
	slices.Sort(want)
	return slices.Equal(got, want)
}

func createQueue(t *testing.T, client *awssqs.Client, name string, attributes map[string]string) string {
	t.Helper()
	out, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	return *out.QueueUrl
}
