package queue

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// A Task is a message move task of SQS: SQS itself moves all messages of a dead-letter
// queue, up to 500 a second, without charge for the moves.
type Task struct {
	Handle  string
	Status  string // RUNNING, COMPLETED, CANCELLING, CANCELLED or FAILED
	Reason  string // SQS's code for a failure
	Started time.Time
	Moved   int64
}

// Running reports whether the task has not ended.
func (t *Task) Running() bool { return t.Status == "RUNNING" || t.Status == "CANCELLING" }

// Failed reports whether the task ended because SQS could not go on.
func (t *Task) Failed() bool { return t.Status == "FAILED" }

// NoSource is the reason of a task that failed at a message that SQS did not move into the
// queue (developer guide, "Troubleshoot dead-letter queue and DLQ redrive issues").
const NoSource = "CouldNotDetermineMessageSource"

// Why says in words why the task failed, with SQS's code.
func (t *Task) Why() string {
	words := map[sqserror.Kind]string{
		sqserror.NoQueue: "a queue to which messages go does not exist",
		sqserror.Denied:  "a permission of the role or of a queue is missing",
		sqserror.Key:     "the KMS key of a queue cannot be used", sqserror.KeyDenied: "the KMS key of a queue cannot be used",
	}[sqserror.KindOf(t.Reason)]
	if t.Reason == NoSource {
		words = "SQS does not know where some of the messages came from"
	}
	if words == "" {
		return cmp.Or(t.Reason, "SQS gives no reason")
	}
	return words + " (" + t.Reason + ")"
}

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
	var out *sqs.StartMessageMoveTaskOutput
	once(ctx, func(ctx context.Context) { out, err = q.client.StartMessageMoveTask(ctx, in) })
	if err != nil {
		return "", Advise(err, "StartMessageMoveTask", q.Name())
	}
	return aws.ToString(out.TaskHandle), nil
}

// LastTask is the queue's latest task, nil if SQS remembers none.
func (q *Queue) LastTask(ctx context.Context) (*Task, error) {
	out, err := Call(ctx, Patience, q.client.ListMessageMoveTasks, &sqs.ListMessageMoveTasksInput{SourceArn: &q.ARN})
	if err != nil || len(out.Results) == 0 {
		return nil, Advise(err, "ListMessageMoveTasks", q.Name())
	}
	r := out.Results[0]
	return &Task{
		Handle: aws.ToString(r.TaskHandle), Status: aws.ToString(r.Status), Reason: aws.ToString(r.FailureReason),
		Started: time.UnixMilli(r.StartedTimestamp), Moved: r.ApproximateNumberOfMessagesMoved,
	}, nil
}

// CancelTask ends a task. Messages that it has moved stay where they are.
func (q *Queue) CancelTask(ctx context.Context, handle string) error {
	_, err := Call(ctx, Patience, q.client.CancelMessageMoveTask, &sqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
	return Advise(err, "CancelMessageMoveTask", q.Name())
}
