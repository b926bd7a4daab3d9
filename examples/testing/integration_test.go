package mailer

import (
	"context"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// The mailer with a client as in production, from the environment, over a real
// socket. The same works for other processes and languages.
func TestMailerOverASocket(t *testing.T) {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_SQS", server.URL())
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "any")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := awssqs.NewFromConfig(cfg)
	mails := createQueue(t, client, "mails", nil)
	sendMessage(t, client, mails, "hello")

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan string, 1)
	mailer := &Mailer{SQS: client, Queue: mails, Send: func(_ context.Context, mail string) error {
		done <- mail
		return nil
	}}
	var running sync.WaitGroup
	running.Go(func() { mailer.Run(ctx) })
	if mail := <-done; mail != "hello" {
		t.Errorf("sent %q", mail)
	}
	stop()
	running.Wait()
}
