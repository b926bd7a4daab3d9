package mailer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Receives are refused, and half of the deletes go unanswered. No mail is lost,
// none is sent twice, and there is no storm of requests.
func TestMailerInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{Seed: 1, Faults: []sqs.Fault{
			{Kind: sqs.Refused, Operation: "ReceiveMessage", Times: 60},
			{Kind: sqs.LostAnswer, Operation: "DeleteMessage", Probability: 0.5},
		}})
		defer server.Close()
		client := server.Client()
		mails := createQueue(t, client, "mails", nil)
		for _, mail := range []string{"a", "b", "c", "d", "e", "f"} {
			sendMessage(t, client, mails, mail)
		}

		sent := map[string]int{}
		mailer := &Mailer{SQS: client, Queue: mails, Send: func(_ context.Context, mail string) error {
			sent[mail]++
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		mailer.Run(ctx)

		for _, e := range server.Events(sqs.Sent) {
			if sent[e.Body] != 1 {
				t.Errorf("mail %s was sent %d times", e.Body, sent[e.Body])
			}
		}
		if deleted := server.Events(sqs.Deleted); len(deleted) != 6 {
			t.Errorf("%d mails were deleted", len(deleted))
		}
		struck := map[sqs.FaultKind][]sqs.Call{}
		for _, call := range server.Calls() {
			struck[call.Fault] = append(struck[call.Fault], call)
		}
		if len(struck[sqs.LostAnswer]) == 0 {
			t.Error("no answer was lost: the test shows nothing")
		}
		refused := struck[sqs.Refused]
		if took := refused[len(refused)-1].Ended.Sub(refused[0].Began); took < 20*time.Second {
			t.Errorf("%d receives within %v", len(refused), took)
		}
	})
}
