package handler

import (
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

// samLocal reports whether the function runs under `sam local` without a configured client or
// endpoint. Sample events then have receipt handles that are not real.
func (c *Config) samLocal() bool {
	return c.SQS == nil && os.Getenv("AWS_SAM_LOCAL") == "true" && os.Getenv("AWS_ENDPOINT_URL") == "" && os.Getenv("AWS_ENDPOINT_URL_SQS") == ""
}

// withoutSQS turns off all calls to SQS, and the warnings about them; warnWouldBe reports
// the calls instead. The dead-letter queue is not checked, since `sam local` sets it to the
// name of a resource.
func withoutSQS(s settle.Config) settle.Config {
	s.Client = func(context.Context) (*sqs.Client, error) { return nil, errors.New("sam local: SQS is not called") }
	s.DeadLetterQueue, s.DeleteIfOthersFail, s.Hooks = "", false, nil
	return s
}

// warnWouldBe warns with the calls that would change the results' records in SQS.
func (q *queueHandler) warnWouldBe(ctx context.Context, info batch.BatchInfo, results []batch.Result) {
	defer func() { _ = recover() }() // a method of a user's error may panic
	var list []string
	for i := range results {
		r := &results[i]
		switch {
		case r.Outcome.Done():
		case r.Outcome == batch.Abandoned, r.Outcome == batch.Skipped && r.VisibleIn == 0: // the record comes back when its visibility timeout ends
		case batch.VerdictOf(r.Err).Permanent && q.cfg.Failures.OnPermanent != partialfailure.Retry && q.cfg.Failures.DeadLetterQueue != "":
			list = append(list, r.Record.MessageID+" sent to "+q.cfg.Failures.DeadLetterQueue)
		default:
			r.VisibilitySet = true // as hooks would see it outside sam local
			list = append(list, fmt.Sprintf("%s visible in %v", r.Record.MessageID, r.VisibleIn))
		}
	}
	if len(list) > 0 {
		q.engine.Hooks.Warn(ctx, batch.Warning{
			Queue:   batch.QueueName(info.QueueARN),
			Message: "sam local: receipt handles are samples, SQS is not called. In production: " + strings.Join(list, ", "),
		})
	}
}
