package dlq

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/s3client"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

// fetcher returns a function that reads a message's body from S3, if the message points to
// an object in one of buckets. A sender chooses the object, so the user names the buckets.
// The buckets are expected in the queue's region. A message whose body cannot be read stays as it is, with a note.
func (s *session) fetcher(buckets []string) func(*letter.Letter) *letter.Letter {
	if len(buckets) == 0 {
		return func(l *letter.Letter) *letter.Letter { return l }
	}
	cfg := s.account.Config()
	if arn, err := endpoint.ParseARN(s.queue.ARN); err == nil {
		cfg.Region = arn.Region
	}
	unwrap := s3payload.Unwrap(s3payload.Config{Buckets: buckets, IgnoreSize: true, Client: s3.NewFromConfig(cfg, s3client.Use)})
	return func(l *letter.Letter) *letter.Letter {
		out := *l
		take := batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			out.Body = r.Body
			return nil
		})
		r := batch.Record{MessageID: l.ID, Body: l.Body, MessageAttributes: l.Attributes}
		if err := unwrap(take).Handle(s.kill, r); err != nil {
			s.status.say("%s: its body in S3 cannot be read: %v", l.ID, err)
		}
		return &out
	}
}
