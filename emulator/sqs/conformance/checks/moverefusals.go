package checks

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// nowhere is the ARN of a queue that does not exist.
func nowhere(e *env) string {
	q := e.queue()
	return strings.TrimSuffix(q.arn(), q.name) + e.name()
}

var moveRefusals = []Check{
	{
		ID: "moves/no-dead-letter-queue", Page: api("StartMessageMoveTask"),
		Must: "Only a queue that is the dead-letter queue of another can be the source of a task.",
		run: func(e *env) {
			e.refused("StartMessageMoveTask from a queue that no redrive policy names", e.queue().tryMove())
		},
	}, {
		ID: "moves/unknown-source", Page: api("StartMessageMoveTask"),
		Must: "StartMessageMoveTask from a queue that does not exist is ResourceNotFoundException.",
		run: func(e *env) {
			_, err := e.StartMessageMoveTask(e.ctx, &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(nowhere(e))})
			refusedAs[*types.ResourceNotFoundException](e, "StartMessageMoveTask", err)
		},
	}, {
		ID: "moves/unknown-destination", Page: api("StartMessageMoveTask"), Recorded: localStackMoves("2024-04-30", "test_destination_needs_to_exist"),
		Must: "StartMessageMoveTask to a queue that does not exist is ResourceNotFoundException.",
		run: func(e *env) {
			_, dead := e.pair(false, 1)
			refusedAs[*types.ResourceNotFoundException](e, "StartMessageMoveTask", dead.tryMove(toQueue(nowhere(e))))
		},
	}, {
		ID: "moves/other-type", Page: pageRedrive,
		Must: "The destination must be of the dead-letter queue's type.",
		run: func(e *env) {
			_, dead := e.pair(false, 1)
			e.refused("StartMessageMoveTask from a standard to a FIFO queue", dead.tryMove(toQueue(e.fifo().arn())))
		},
	}, {
		ID: "moves/one-at-a-time", Page: api("StartMessageMoveTask"), Recorded: localStackMoves("2024-04-30", "test_start_multiple_move_tasks"),
		Must: "A queue has one active task at most.",
		run: func(e *env) {
			dead, handle := e.slowTask()
			e.refused("StartMessageMoveTask while one is running", dead.tryMove())
			_, err := e.CancelMessageMoveTask(e.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
			e.must("CancelMessageMoveTask", err)
		},
	}, {
		ID: "moves/rate", Page: api("StartMessageMoveTask"), Reading: true,
		Must: "MaxNumberOfMessagesPerSecond is 500 at most.",
		run: func(e *env) {
			_, dead := e.pair(false, 1)
			e.refused("StartMessageMoveTask with 501 messages per second", dead.tryMove(atRate(501)))
			e.must("StartMessageMoveTask with 500 messages per second", dead.tryMove(atRate(500)))
		},
	}, {
		ID: "moves/list-unknown", Page: api("ListMessageMoveTasks"),
		Must: "ListMessageMoveTasks of a queue that does not exist is ResourceNotFoundException.",
		run: func(e *env) {
			_, err := e.ListMessageMoveTasks(e.ctx, &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(nowhere(e))})
			refusedAs[*types.ResourceNotFoundException](e, "ListMessageMoveTasks", err)
		},
	}, {
		ID: "moves/list-bounds", Page: api("ListMessageMoveTasks"), Reading: true,
		Must: "MaxResults of ListMessageMoveTasks is 10 at most.",
		run: func(e *env) {
			_, dead := e.pair(false, 1)
			want(e, "number of tasks", len(dead.tasks(10)), 0)
			_, err := e.ListMessageMoveTasks(e.ctx, &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(dead.arn()), MaxResults: aws.Int32(11)})
			e.refused("ListMessageMoveTasks with MaxResults 11", err)
		},
	}, {
		ID: "moves/cancel-unknown", Page: api("CancelMessageMoveTask"), Recorded: localStackMoves("2024-04-30", "test_cancel_with_invalid_task_handle"),
		Must: "A handle that is none cannot be cancelled.",
		run: func(e *env) {
			_, err := e.CancelMessageMoveTask(e.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: aws.String("no handle")})
			e.refused("CancelMessageMoveTask", err)
		},
	}, {
		ID: "moves/cancel-completed", Page: api("CancelMessageMoveTask"),
		Must: "A task can be cancelled only while it is running.",
		run: func(e *env) {
			source, dead := e.pair(false, 1)
			dead.bury(source, "poison")
			handle := dead.move()
			state := aws.ToString(dead.latest("COMPLETED").Status)
			_, err := e.CancelMessageMoveTask(e.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
			e.refused(fmt.Sprintf("CancelMessageMoveTask of a task that is %s", state), err)
		},
	},
}
