// Package mailer is a consumer by hand, around AWS's SDK. Its tests show what
// emulator/sqs is good for in such code; docs/testing.md explains them.
package mailer

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Mailer sends a mail for each message of a queue.
type Mailer struct {
	SQS   *sqs.Client
	Queue string // URL
	Send  func(ctx context.Context, mail string) error
}

// Run receives and sends until ctx ends. A failed mail comes back later.
func (m *Mailer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		out, err := m.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
			QueueUrl: &m.Queue, MaxNumberOfMessages: 10, WaitTimeSeconds: 20,
		})
		if err != nil {
			slog.WarnContext(ctx, "receive", "error", err)
			pause(ctx, time.Second)
			continue
		}
		for _, message := range out.Messages {
			if err := m.Send(ctx, *message.Body); err != nil {
				slog.WarnContext(ctx, "send", "id", *message.MessageId, "error", err)
				continue
			}
			// What is sent is sent: its delete must not end with ctx.
			_, err := m.SQS.DeleteMessage(context.WithoutCancel(ctx), &sqs.DeleteMessageInput{
				QueueUrl: &m.Queue, ReceiptHandle: message.ReceiptHandle,
			})
			if err != nil {
				slog.ErrorContext(ctx, "delete: it will be sent again", "id", *message.MessageId, "error", err)
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
