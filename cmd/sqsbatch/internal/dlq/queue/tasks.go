package queue

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// A Task is a message move task of SQS: SQS itself moves all messages of a dead-letter
// queue, up to 500 a second, without charge for the moves.
type Task struct {
	Handle      string
	Status      string // RUNNING, COMPLETED, CANCELLING, CANCELLED or FAILED
	Reason      string // of a failure
	Destination string // ARN, "" for the queue that each message came from
	Started     time.Time
	Moved       int64
	ToMove      int64 // at the start; 0 if SQS does not say
	Rate        int   // messages a second, 0 for as many as SQS finds right
}

// Running reports whether the task has not ended.
func (t *Task) Running() bool { return t.Status == "RUNNING" || t.Status == "CANCELLING" }

// MaxMoveRate is the highest rate of a task (API reference, StartMessageMoveTask).
const MaxMoveRate = 500

// StartTask has SQS move all messages. to is an ARN, "" for the queue that each message
// came from; rate is 0 for as many a second as SQS finds right. A call without an answer
// is not repeated: the task may be running.
func (q *Queue) StartTask(ctx context.Context, to string, rate int) (handle string, err error) {
	in := &sqs.StartMessageMoveTaskInput{SourceArn: &q.ARN}
	if to != "" {
		in.DestinationArn = &to
	}
	if rate > 0 {
		in.MaxNumberOfMessagesPerSecond = aws.Int32(int32(min(rate, MaxMoveRate)))
	}
	err = once(ctx, callTimeout, func(ctx context.Context) error {
		out, err := q.client.StartMessageMoveTask(ctx, in)
		if err == nil {
			handle = aws.ToString(out.TaskHandle)
		}
		return err
	})
	return handle, advice(err, "StartMessageMoveTask", q.Name())
}

// LastTask is the queue's latest task, nil if SQS remembers none.
func (q *Queue) LastTask(ctx context.Context) (task *Task, err error) {
	err = retry(ctx, Patience, func(ctx context.Context) error {
		out, err := q.client.ListMessageMoveTasks(ctx, &sqs.ListMessageMoveTasksInput{SourceArn: &q.ARN})
		if err != nil || len(out.Results) == 0 {
			return err
		}
		r := out.Results[0]
		task = &Task{
			Handle: aws.ToString(r.TaskHandle), Status: aws.ToString(r.Status), Reason: aws.ToString(r.FailureReason),
			Destination: aws.ToString(r.DestinationArn), Started: time.UnixMilli(r.StartedTimestamp),
			Moved: r.ApproximateNumberOfMessagesMoved, ToMove: aws.ToInt64(r.ApproximateNumberOfMessagesToMove),
			Rate: int(aws.ToInt32(r.MaxNumberOfMessagesPerSecond)),
		}
		return nil
	})
	return task, advice(err, "ListMessageMoveTasks", q.Name())
}

// CancelTask ends a task. Messages that it has moved stay where they are.
func (q *Queue) CancelTask(ctx context.Context, handle string) error {
	err := retry(ctx, Patience, func(ctx context.Context) error {
		_, err := q.client.CancelMessageMoveTask(ctx, &sqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
		return err
	})
	return advice(err, "CancelMessageMoveTask", q.Name())
}
