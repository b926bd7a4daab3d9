package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/sender"
)

// Each order has its mail, although sends fail now and then: an order whose mail is not
// confirmed comes back.
func TestEachOrderHasItsMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Options{})
		defer server.Close()
		client := server.Client()
		for _, name := range []string{"orders", "mails"} {
			if _, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 100 {
			if _, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{
				QueueUrl: aws.String(server.QueueURL("orders")), MessageBody: aws.String(fmt.Sprintf(`{"id":"o-%d","customer":"c-%d"}`, i, i)),
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := server.Inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Code: "AccessDenied", Times: 7}); err != nil {
			t.Fatal(err)
		}

		mails, err := sender.New(client, sender.Config{Queue: server.QueueURL("mails")})
		if err != nil {
			t.Fatal(err)
		}
		s := service{mails}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- handler.Poll(ctx, handler.Queues{
				{URL: server.QueueURL("orders"), Handler: batch.Chain(batch.JSON(s.ship), mails.Wrap)},
				{URL: server.QueueURL("mails"), Handler: batch.JSON(s.deliver)},
			}, handler.Config{SQS: client, Logger: slog.New(slog.DiscardHandler)})
		}()
		time.Sleep(time.Hour)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}

		delivered := map[string]int{}
		orders := 0
		for _, e := range server.Events(sqs.Deleted) {
			if e.Queue == "orders" {
				orders++
				continue
			}
			_, customer, _ := strings.Cut(e.Body, `"to":"`)
			customer, _, _ = strings.Cut(customer, `"`)
			delivered[customer]++
		}
		if orders != 100 {
			t.Errorf("%d orders are done", orders)
		}
		for i := range 100 {
			if n := delivered[fmt.Sprint("c-", i)]; n != 1 {
				t.Errorf("customer %d got %d mails", i, n)
			}
		}
		if again := len(server.Events(sqs.Received)); again != 207 {
			t.Errorf("%d messages were received, want 200 and 7 orders once more", again)
		}
	})
}
