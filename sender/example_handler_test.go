package sender_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// invoke has a handler handle an event of Lambda, with 3 s of time. In a program, handler.Run
// does this.
func invoke(h batch.Handler, cfg handler.Config, bodies ...string) (response string, err error) {
	cfg.Logger = slog.New(slog.DiscardHandler)
	l, err := handler.New(h, cfg)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	var records []batch.Record
	for i, body := range bodies {
		records = append(records, batch.Record{MessageID: fmt.Sprint("id-", i), ReceiptHandle: "h", Body: body, Attempt: 1, QueueARN: sourceARN})
	}
	out, err := l.Invoke(ctx, testqueue.Event(records))
	return string(out), err
}

// A function that sends. Its record is done when the message is confirmed.
func ExampleSender_Wrap() {
	client, server := newQueue("mails")
	defer server.Close()
	mails, err := sender.New(client, sender.Config{Queue: "mails", CorrelationAttribute: "correlation_id"})
	if err != nil {
		panic(err)
	}
	shipOrder := func(ctx context.Context, o Order) error {
		return mails.SendWithRecord(ctx, sender.Text("order "+o.ID+" is on its way"))
	}
	h := batch.Chain(batch.JSON(shipOrder), mails.Wrap)

	fmt.Println(invoke(h, handler.Config{SQS: client}, `{"id":"1"}`))
	for _, m := range server.Snapshot()[0].Messages {
		fmt.Println(m.Body, m.Attributes["correlation_id"].String)
	}

	_ = server.Inject(sqs.Fault{Kind: sqs.Failure, Code: "AccessDeniedException", Operation: "SendMessageBatch"})
	fmt.Println(invoke(h, handler.Config{SQS: client}, `{"id":"2"}`))
	// Output:
	// {"batchItemFailures":[]} <nil>
	// order 1 is on its way id-0
	// {"batchItemFailures":[{"itemIdentifier":"id-0"}]} <nil>
}

// A function of package bulk gets many records at once. Each has its own Sends, so that only
// those records fail whose messages are not confirmed.
func ExampleSender_Begin() {
	client, server := newQueue("mails")
	defer server.Close()
	mails, err := sender.New(client, sender.Config{Queue: "mails"})
	if err != nil {
		panic(err)
	}
	insertOrders := func(ctx context.Context, items []bulk.Item[Order]) error {
		sends := make([]*sender.Sends, len(items))
		for i := range items {
			sends[i] = mails.Begin(bulk.Context(ctx, items[i]))
			if err := sends[i].Enqueue(sender.JSON(items[i].Value)); err != nil {
				items[i].Fail(err)
			}
		}
		for i := range items {
			if err := sends[i].Wait(); err != nil {
				items[i].Fail(err)
			}
		}
		return nil
	}
	_ = server.Inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Operation: "SendMessageBatch", Skip: 1, Times: 1})
	_, err = invoke(bulk.JSON(insertOrders, bulk.Config{}), handler.Config{SQS: client}, `{"id":"1"}`, `{"id":"2"}`, `{"id":"3"}`)
	fmt.Println(err, len(server.Snapshot()[0].Messages), "of 3 sent")
	// Output:
	// <nil> 2 of 3 sent
}

// A handler that sends without waiting. What is in the buffer is sent at the end of each
// invocation, since Lambda then freezes the process.
func ExampleSender_Hooks() {
	client, server := newQueue("audit")
	defer server.Close()
	audit, err := sender.New(client, sender.Config{Queue: "audit", Linger: time.Minute})
	if err != nil {
		panic(err)
	}
	shipOrder := func(ctx context.Context, o Order) error {
		return audit.Enqueue(ctx, sender.JSON(o), func(r sender.Result) {
			if r.Err != nil {
				slog.Warn("an audit message is not sent", "error", r.Err)
			}
		})
	}
	_, err = invoke(batch.JSON(shipOrder), handler.Config{SQS: client, Hooks: audit.Hooks()}, `{"id":"1"}`, `{"id":"2"}`)
	fmt.Println(err, len(server.Snapshot()[0].Messages))
	// Output:
	// <nil> 2
}
