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
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Each order has its mail, although sends fail now and then: an order whose mail is not
// confirmed comes back.
func TestEachOrderHasItsMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		orders := testqueue.New(t, testqueue.Standard)
		created, err := orders.Client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("mails")})
		ok(t, err)
		for i := range 100 {
			orders.Send(fmt.Sprintf(`{"id":"o-%d","customer":"c-%d"}`, i, i))
		}
		ok(t, orders.Server().Inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Code: "AccessDenied", Times: 7}))

		mails, err := sender.New(orders.Client, sender.Config{Queue: *created.QueueUrl})
		ok(t, err)
		s := service{mails}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		ok(t, handler.Poll(ctx, handler.Queues{
			{URL: orders.URL, Handler: batch.Chain(batch.JSON(s.ship), mails.Wrap)},
			{URL: *created.QueueUrl, Handler: batch.JSON(s.deliver)},
		}, handler.Config{SQS: orders.Client, Logger: slog.New(slog.DiscardHandler)}))

		delivered, done := map[string]int{}, 0
		for _, e := range orders.Events(sqs.Deleted) {
			if e.Queue == "orders" {
				done++
				continue
			}
			_, customer, _ := strings.Cut(e.Body, `"to":"`)
			customer, _, _ = strings.Cut(customer, `"`)
			delivered[customer]++
		}
		if done != 100 {
			t.Errorf("%d orders are done", done)
		}
		for i := range 100 {
			if n := delivered[fmt.Sprint("c-", i)]; n != 1 {
				t.Errorf("customer %d got %d mails", i, n)
			}
		}
		if again := len(orders.Events(sqs.Received)); again != 207 {
			t.Errorf("%d messages were received, want 200 and 7 orders once more", again)
		}
	})
}
