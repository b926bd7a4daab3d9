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
	check("moves/no-dead-letter-queue", api("StartMessageMoveTask"),
		"Only a queue that is the dead-letter queue of another can be the source of a task.", func(e *env) {
			e.refused("StartMessageMoveTask from a queue that no redrive policy names", e.queue().tryMove())
		}),
	check("moves/unknown-source", api("StartMessageMoveTask"),
		"StartMessageMoveTask from a queue that does not exist is ResourceNotFoundException.", func(e *env) {
			_, err := e.StartMessageMoveTask(e.ctx, &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(nowhere(e))})
			refusedAs[*types.ResourceNotFoundException](e, "StartMessageMoveTask", err)
		}),
	check("moves/unknown-destination", api("StartMessageMoveTask"),
		"StartMessageMoveTask to a queue that does not exist is ResourceNotFoundException.", func(e *env) {
			_, dead := e.pair(false, 1)
			refusedAs[*types.ResourceNotFoundException](e, "StartMessageMoveTask", dead.tryMove(toQueue(nowhere(e))))
		}).recorded(localStackMoves("2024-04-30", "test_destination_needs_to_exist")),
	check("moves/other-type", pageRedrive,
		"The destination must be of the dead-letter queue's type.", func(e *env) {
			_, dead := e.pair(false, 1)
			e.refused("StartMessageMoveTask from a standard to a FIFO queue", dead.tryMove(toQueue(e.fifo().arn())))
		}),
	check("moves/one-at-a-time", api("StartMessageMoveTask"),
		"A queue has one active task at most.", func(e *env) {
			dead, handle := e.slowTask()
			e.refused("StartMessageMoveTask while one is running", dead.tryMove())
			must(e.CancelMessageMoveTask(e.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: &handle}))
		}).recorded(localStackMoves("2024-04-30", "test_start_multiple_move_tasks")),
	check("moves/rate", api("StartMessageMoveTask"),
		"MaxNumberOfMessagesPerSecond is 500 at most.", func(e *env) {
			_, dead := e.pair(false, 1)
			e.refused("StartMessageMoveTask with 501 messages per second", dead.tryMove(atRate(501)))
			e.must("StartMessageMoveTask with 500 messages per second", dead.tryMove(atRate(500)))
		}).reading(),
	check("moves/list-unknown", api("ListMessageMoveTasks"),
		"ListMessageMoveTasks of a queue that does not exist is ResourceNotFoundException.", func(e *env) {
			_, err := e.ListMessageMoveTasks(e.ctx, &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(nowhere(e))})
			refusedAs[*types.ResourceNotFoundException](e, "ListMessageMoveTasks", err)
		}),
	check("moves/list-bounds", api("ListMessageMoveTasks"),
		"MaxResults of ListMessageMoveTasks is 10 at most.", func(e *env) {
			_, dead := e.pair(false, 1)
			want(e, "number of tasks", len(dead.tasks(10)), 0)
			_, err := e.ListMessageMoveTasks(e.ctx, &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(dead.arn()), MaxResults: aws.Int32(11)})
			e.refused("ListMessageMoveTasks with MaxResults 11", err)
		}).reading(),
	check("moves/cancel-unknown", api("CancelMessageMoveTask"),
		"A handle that is none cannot be cancelled.", func(e *env) {
			_, err := e.CancelMessageMoveTask(e.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: aws.String("no handle")})
			e.refused("CancelMessageMoveTask", err)
		}).recorded(localStackMoves("2024-04-30", "test_cancel_with_invalid_task_handle")),
	check("moves/cancel-completed", api("CancelMessageMoveTask"),
		"A task can be cancelled only while it is running.", func(e *env) {
			source, dead := e.pair(false, 1)
			dead.bury(source, "poison")
			handle := dead.move()
			state := aws.ToString(dead.latest("COMPLETED").Status)
			_, err := e.CancelMessageMoveTask(e.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
			e.refused(fmt.Sprintf("CancelMessageMoveTask of a task that is %s", state), err)
		}),
}
