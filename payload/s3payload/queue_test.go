package s3payload_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

// Through a queue and the real handler: a large message reaches the function, one
// that fails comes back, one whose object is missing goes to the dead-letter queue
// as the pointer that it is; and compression composes.
func TestThroughAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.Standard), newS3(t)
		s := newSender(t, q, f, s3payload.SenderConfig{Threshold: 1000})
		body, compressed, err := encoded.Gzip(strings.Repeat(order, 1000), nil)
		ok(t, err)
		large := strings.Repeat("large ", 500)
		for _, in := range []*awssqs.SendMessageInput{
			{MessageBody: &large}, {MessageBody: &body, MessageAttributes: compressed}, {MessageBody: aws.String("small")},
		} {
			in.QueueUrl = &q.URL
			if _, err := s.SendMessage(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		missing := strings.Replace(newer, "a/1", "gone", 1)
		q.Send(missing)

		got := map[string]int{}
		h := batch.Chain(batch.Text(func(ctx context.Context, body string) error {
			r, _ := batch.RecordFrom(ctx)
			if got[body]++; body == large && r.Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		}), s3payload.Unwrap(s3payload.Config{Buckets: buckets, Client: f.client(), DeleteAfterSuccess: true}), encoded.Unwrap)
		q.Poll(t.Context(), 10*time.Minute, h, handler.Config{Concurrency: 1})
		if got["small"] != 1 || got[large] != 2 || got[strings.Repeat(order, 1000)] != 1 {
			t.Errorf("small: %d, large: %d, compressed: %d", got["small"], got[large], got[strings.Repeat(order, 1000)])
		}
		if dead := q.DeadBodies(); !slices.Equal(dead, []string{missing}) {
			t.Errorf("dead letters %q", dead)
		}
		if n := len(f.objects); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	})
}
