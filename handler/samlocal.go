package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// samLocal reports whether this runs under `sam local` with no client or endpoint of
// the user's own: the receipt handles of sample events are not real.
func (c *Config) samLocal() bool {
	return c.SQS == nil && os.Getenv("AWS_SAM_LOCAL") == "true" && os.Getenv("AWS_ENDPOINT_URL") == "" && os.Getenv("AWS_ENDPOINT_URL_SQS") == ""
}

// withoutSQS has what settles call nothing, and warn of nothing: see warnWouldBe. The
// dead-letter queue is not checked, since `sam local` puts a resource's name there.
func withoutSQS(s settle.Config) settle.Config {
	s.Client = func(context.Context) (*sqs.Client, error) { return nil, errors.New("sam local: SQS is not called") }
	s.DeadLetterQueue, s.DeleteIfOthersFail, s.Hooks = "", false, nil
	return s
}

// warnWouldBe warns of what SQS would have been asked to do for results.
func (q *queueHandler) warnWouldBe(ctx context.Context, info batch.BatchInfo, results []batch.Result) {
	defer func() { _ = recover() }() // of the methods of a user's error
	var list []string
	for i := range results {
		r := &results[i]
		verdict, on := batch.VerdictOf(r.Err), q.cfg.OnPermanent
		if verdict.Malformed {
			on = cmp.Or(q.cfg.OnMalformed, on)
		}
		switch {
		case r.Outcome.Done():
		case r.Outcome == batch.Abandoned, r.Outcome == batch.Skipped && r.VisibleIn == 0: // it comes back when its visibility timeout ends
		case verdict.Permanent && on != partialfailure.Retry && q.cfg.DeadLetterQueue != "":
			list = append(list, r.Record.MessageID+" sent to "+q.cfg.DeadLetterQueue)
		default:
			r.VisibilitySet = true // as hooks would see it
			list = append(list, fmt.Sprintf("%s visible in %v", r.Record.MessageID, r.VisibleIn))
		}
	}
	if len(list) > 0 {
		q.engine.Hooks.Warn(ctx, batch.Warning{
			Queue:   batch.QueueName(info.QueueARN),
			Message: "sam local: receipt handles are samples, SQS is not called; it would be: " + strings.Join(list, ", "),
		})
	}
}
