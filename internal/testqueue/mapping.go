package testqueue

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Timeout is the function's timeout in Map.
const Timeout = 30 * time.Second

// Map feeds invoke (handler.LambdaHandler's Invoke) from the queue for a time,
// in batches of ten at most, one after another, as an event source mapping with
// ReportBatchItemFailures does: what the answer does not name is deleted. It
// returns how often it invoked. It belongs into a synctest bubble.
func (q *Queue) Map(during time.Duration, invoke func(context.Context, []byte) ([]byte, error)) (invocations int) {
	q.t.Helper()
	const pause = 250 * time.Millisecond
	for end := time.Now().Add(during); time.Now().Before(end); {
		records := q.Receive(10)
		if len(records) == 0 {
			time.Sleep(pause)
			continue
		}
		invocations++
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		answer, err := invoke(ctx, Event(q.t, records))
		cancel()
		if err != nil {
			q.t.Fatal(err)
		}
		var response struct {
			BatchItemFailures []struct{ ItemIdentifier string }
		}
		if err := json.Unmarshal(answer, &response); err != nil {
			q.t.Fatal(err)
		}
		failed := make(map[string]bool)
		for _, f := range response.BatchItemFailures {
			failed[f.ItemIdentifier] = true
		}
		for _, r := range records {
			if failed[r.MessageID] {
				continue
			}
			if _, err := q.Client.DeleteMessage(context.Background(), &awssqs.DeleteMessageInput{
				QueueUrl: &q.URL, ReceiptHandle: aws.String(r.ReceiptHandle),
			}); err != nil {
				q.t.Fatal(err)
			}
		}
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
