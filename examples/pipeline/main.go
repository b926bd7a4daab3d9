// Command pipeline has two functions with a queue between them: one ships orders and sends a
// mail for each, the other delivers the mails. docs/sending.md explains it.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/sender"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	mails, err := sender.New(sqs.NewFromConfig(cfg), sender.Config{Queue: os.Getenv("MAILS_URL")})
	if err != nil {
		log.Fatal(err)
	}
	s := service{mails}
	handler.Run(handler.Queues{
		{URL: os.Getenv("ORDERS_URL"), Handler: batch.Chain(batch.JSON(s.ship), mails.Wrap)},
		{URL: os.Getenv("MAILS_URL"), Handler: batch.JSON(s.deliver)},
	})
}

type service struct{ mails *sender.Sender }

// Order is a message of the first queue.
type Order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
}

// Mail is a message of the second queue.
type Mail struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

// ship handles an order. The order is done when SQS has confirmed its mail.
func (s service) ship(ctx context.Context, o Order) error {
	// Ship it here.
	return s.mails.SendWithRecord(ctx, sender.JSON(Mail{To: o.Customer, Text: "Your order " + o.ID + " is on its way."}))
}

func (s service) deliver(ctx context.Context, m Mail) error {
	slog.InfoContext(ctx, "mail", "to", m.To)
	return nil
}
