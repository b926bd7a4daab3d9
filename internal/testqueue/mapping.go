package testqueue

import (
	"context"
	"strconv"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/emulator/lambda"
)

// Timeout is the function's timeout in Map.
const Timeout = 30 * time.Second

// Map feeds invoke (handler.LambdaHandler's Invoke) from the queue for a time, in
// batches of ten at most, one after another, by an event source mapping with
// ReportBatchItemFailures. It returns how often it invoked. It belongs into a
// synctest bubble.
func (q *Queue) Map(during time.Duration, invoke func(context.Context, []byte) ([]byte, error)) (invocations int) {
	q.t.Helper()
	function, err := lambda.Start(lambda.Function{Handler: invoke, Timeout: Timeout, Concurrency: 1})
	if err != nil {
		q.t.Fatal(err)
	}
	defer function.Close()
	ctx, cancel := context.WithTimeout(context.Background(), during)
	defer cancel()
	mapping := lambda.Mapping{
		Function: function, SQS: q.Client, QueueURL: q.URL, QueueARN: q.ARN, ReportBatchItemFailures: true,
		Started: func(lambda.Invocation) { invocations++ },
		Ended: func(e lambda.Ended) {
			if e.Result.Error != nil {
				q.t.Error(e.Result.Error)
			}
		},
		Errored: func(e *lambda.PollError) { q.t.Error(e) },
	}
	if err := mapping.Run(ctx); err != nil {
		q.t.Fatal(err)
	}
	return invocations
}

// Left returns how many messages the queue and the dead-letter queue hold,
// those in flight included.
func (q *Queue) Left() (messages, dead int) {
	q.t.Helper()
	return q.count(q.URL), q.count(q.DeadLetterURL)
}

func (q *Queue) count(url string) (n int) {
	out, err := q.Client.GetQueueAttributes(context.Background(), &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		q.t.Fatal(err)
	}
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
		some, _ := strconv.Atoi(out.Attributes[name])
		n += some
	}
	return n
}
