package s3payload_test

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/sender"
)

// Through a queue and the real handler, with compression: a large message reaches the
// function, and comes back if it fails. A message whose object is missing, and one that
// cannot be decompressed, go to the dead-letter queue as they came.
func TestThroughAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, f := testqueue.New(t, testqueue.Standard), newS3(t)
		store := newUploader(t, f, s3payload.UploaderConfig{Threshold: 1000})
		s, err := sender.New(q.Client, sender.Config{Queue: q.URL, Prepare: func(ctx context.Context, m *sender.Message) error {
			return errors.Join(encoded.Prepare(ctx, m), store.Prepare(ctx, m))
		}})
		ok(t, err)
		large := "" // also when it is compressed
		for range 100 {
			large += rand.Text()
		}
		ok(t, s.Send(t.Context(), sender.Text(large)))
		ok(t, s.Send(t.Context(), sender.Text("small")))
		missing := strings.Replace(newer, "a/1", "gone", 1)
		q.Send(missing)
		q.SendInput(&awssqs.SendMessageInput{MessageBody: aws.String("not at all"), MessageAttributes: map[string]types.MessageAttributeValue{
			"Content-Encoding": {DataType: aws.String("String"), StringValue: aws.String("gzip")},
		}})

		got := map[string]int{}
		h := batch.Chain(batch.Text(func(ctx context.Context, body string) error {
			r, _ := batch.RecordFrom(ctx)
			if got[body]++; body == large && r.Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		}), s3payload.Unwrap(s3payload.Config{Buckets: buckets, Client: f.client(), DeleteAfterSuccess: true}), encoded.Unwrap)
		q.Poll(t.Context(), 10*time.Minute, h, handler.Config{Concurrency: 1})
		if len(got) != 2 || got["small"] != 1 || got[large] != 2 || !strings.Contains(f.called(), "PUT") {
			t.Errorf("small: %d, large: %d of %d bodies; calls: %s", got["small"], got[large], len(got), f.called())
		}
		dead := q.DeadLetters()
		slices.SortFunc(dead, func(a, b types.Message) int { return strings.Compare(*a.Body, *b.Body) })
		if len(dead) != 2 || *dead[0].Body != missing || *dead[1].Body != "not at all" || *dead[1].MessageAttributes["Content-Encoding"].StringValue != "gzip" {
			t.Errorf("dead letters %q", q.DeadBodies())
		}
		if left, _ := q.Left(); left != 0 || len(f.objects) != 0 {
			t.Errorf("%d messages and %d objects are left", left, len(f.objects))
		}
	})
}
