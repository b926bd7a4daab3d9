package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func (dead *queue) move(options ...func(*awssqs.StartMessageMoveTaskInput)) (handle string) {
	out := must(dead.start(options))
	if aws.ToString(out.TaskHandle) == "" {
		dead.fail("StartMessageMoveTask: want a TaskHandle, got none")
	}
	return *out.TaskHandle
}

func (dead *queue) tryMove(options ...func(*awssqs.StartMessageMoveTaskInput)) error {
	return errOf(dead.start(options))
}

func (dead *queue) start(options []func(*awssqs.StartMessageMoveTaskInput)) (*awssqs.StartMessageMoveTaskOutput, error) {
	return dead.StartMessageMoveTask(dead.ctx, with(&awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(dead.arn())}, options))
}

func (e *env) cancel(handle string) (*awssqs.CancelMessageMoveTaskOutput, error) {
	return e.CancelMessageMoveTask(e.ctx, &awssqs.CancelMessageMoveTaskInput{TaskHandle: &handle})
}

func toQueue(arn string) func(*awssqs.StartMessageMoveTaskInput) {
	return func(in *awssqs.StartMessageMoveTaskInput) { in.DestinationArn = &arn }
}

func atRate(perSecond int32) func(*awssqs.StartMessageMoveTaskInput) {
	return func(in *awssqs.StartMessageMoveTaskInput) { in.MaxNumberOfMessagesPerSecond = &perSecond }
}

func (dead *queue) tasks(most int32) []types.ListMessageMoveTasksResultEntry {
	in := &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(dead.arn())}
	if most > 0 {
		in.MaxResults = &most
	}
	return must(dead.ListMessageMoveTasks(dead.ctx, in)).Results
}

// latest waits until the latest task has one of the states.
func (dead *queue) latest(states ...string) (task types.ListMessageMoveTasksResultEntry) {
	dead.eventually(fmt.Sprintf("a latest task that is one of %v", states), func() (string, bool) {
		all := dead.tasks(0)
		if len(all) != 1 {
			return fmt.Sprintf("%d tasks", len(all)), false
		}
		task = all[0]
		for _, state := range states {
			if aws.ToString(task.Status) == state {
				return "", true
			}
		}
		return aws.ToString(task.Status) + " " + aws.ToString(task.FailureReason), false
	})
	return task
}

// slowTask dead-letters five messages and starts a task that moves one a second.
func (e *env) slowTask() (dead *queue, handle string) {
	source, dead := e.pair(false, 1)
	dead.deadLetter(source, "one", "two", "three", "four", "five")
	dead.counts(5, 0, 0)
	return dead, dead.move(toQueue(e.queue("VisibilityTimeout", "600").arn()), atRate(1))
}

var moveChecks = []Check{
	check("moves/to-source", pageRedrive, "Without a destination a task moves messages back to the queues that they came from.", func(e *env) {
		source, dead := e.pair(false, 1)
		other := e.queue("RedrivePolicy", policy(dead.arn(), 1), "VisibilityTimeout", "600")
		var letters []types.Message // they stay in flight until both are there
		for _, from := range []struct {
			*queue
			body string
		}{{source, "of the first"}, {other, "of the second"}} {
			from.send(from.body)
			from.waste(from.body, 1)
			letters = append(letters, dead.arrives(from.queue))
		}
		for _, m := range letters {
			dead.hide(m, 0)
		}
		dead.move()
		want(e, "in the first queue", *source.one().Body, "of the first")
		want(e, "in the second queue", *other.one().Body, "of the second")
		dead.counts(0, 0, 0)
	}).recorded(localStackMoves("2024-04-30", "test_move_task_workflow_with_multiple_sources_as_default_destination")),
	check("moves/to-destination", pageRedrive, "A task moves messages to the destination that it was given, with their attributes.", func(e *env) {
		source, dead := e.pair(false, 1)
		source.send("poison", withAttributes(sample()))
		source.waste("poison", 1)
		dead.hide(dead.arrives(source), 0)
		destination := e.queue("VisibilityTimeout", "600")
		dead.move(toQueue(destination.arn()))
		m := destination.one()
		want(e, "body", *m.Body, "poison")
		e.sameAttributes(m.MessageAttributes, sample())
		source.none("the source queue")
		dead.counts(0, 0, 0)
	}),
	check("moves/new-messages", pageRedrive, "Moved messages are new ones: another id, sent when they were moved.", func(e *env) {
		source, dead := e.pair(false, 1)
		sent := source.send("poison")
		first := source.waste("poison", 1)
		dead.hide(dead.arrives(source), 0)
		e.sleep(time.Second)
		dead.move()
		m := source.one()
		if *m.MessageId == *sent.MessageId {
			e.fail("MessageId: want another than before, got %s again", *m.MessageId)
		}
		if before, after := source.number(first, "SentTimestamp"), source.number(m, "SentTimestamp"); after <= before {
			e.fail("SentTimestamp: want more than the first one, %d, got %d", before, after)
		}
	}),
	check("moves/fifo", pageRedrive, "A FIFO dead-letter queue's messages are moved to a FIFO queue, in their order.", func(e *env) {
		source, dead := e.pair(true, 1)
		for _, body := range []string{"a", "b", "c"} {
			source.sendTo("g", body)
			source.waste(body, 1)
			dead.hide(dead.arrives(source), 0)
			source.counts(0, 0, 0)
		}
		destination := e.fifo("VisibilityTimeout", "600")
		dead.move(toQueue(destination.arn()))
		destination.inOrder("a", "b", "c")
	}),
	check("moves/list", api("ListMessageMoveTasks"), "ListMessageMoveTasks shows a task's state, queues, rate, start and messages moved.", func(e *env) {
		source, dead := e.pair(false, 1)
		dead.deadLetter(source, "poison")
		destination := e.queue("VisibilityTimeout", "600")
		dead.move(toQueue(destination.arn()), atRate(500))
		destination.one()
		task := dead.latest("COMPLETED")
		want(e, "SourceArn", aws.ToString(task.SourceArn), dead.arn())
		want(e, "DestinationArn", aws.ToString(task.DestinationArn), destination.arn())
		want(e, "MaxNumberOfMessagesPerSecond", aws.ToInt32(task.MaxNumberOfMessagesPerSecond), 500)
		want(e, "ApproximateNumberOfMessagesMoved", task.ApproximateNumberOfMessagesMoved, 1)
		want(e, "TaskHandle of a task that is not running", aws.ToString(task.TaskHandle), "")
		if task.StartedTimestamp < 1_600_000_000 && time.Now().Unix() > 1_600_000_000 {
			e.fail("StartedTimestamp: want a time since 1970, got %d", task.StartedTimestamp)
		}
	}),
	check("moves/list-unsaid", api("ListMessageMoveTasks"), "Destination and rate are null where they were not given.", func(e *env) {
		source, dead := e.pair(false, 1)
		dead.deadLetter(source, "poison")
		dead.move()
		task := dead.latest("COMPLETED")
		if task.DestinationArn != nil || task.MaxNumberOfMessagesPerSecond != nil {
			e.fail("want null, got the destination %s and the rate %d",
				aws.ToString(task.DestinationArn), aws.ToInt32(task.MaxNumberOfMessagesPerSecond))
		}
	}).recorded(localStackMoves("2024-04-30", "test_move_task_workflow_with_default_destination")),
	check("moves/list-latest", api("ListMessageMoveTasks"),
		"ListMessageMoveTasks returns the latest task, or with MaxResults up to ten, the latest first.", func(e *env) {
			_, dead := e.pair(false, 1)
			for rate := int32(101); rate <= 103; rate++ {
				dead.move(atRate(rate))
				dead.latest("COMPLETED")
				e.sleep(1100 * time.Millisecond) // the two tasks must have different start times
			}
			var rates []int32
			for _, task := range dead.tasks(10) {
				rates = append(rates, aws.ToInt32(task.MaxNumberOfMessagesPerSecond))
			}
			want(e, "rates of the tasks", fmt.Sprint(rates), "[103 102 101]")
			want(e, "number of tasks by default", len(dead.tasks(0)), 1)
			want(e, "number of tasks with MaxResults 2", len(dead.tasks(2)), 2)
		}),
	check("moves/cancel", api("CancelMessageMoveTask"), "A running task can be cancelled: what was moved stays moved, the rest stays where it is.", func(e *env) {
		dead, handle := e.slowTask()
		want(e, "TaskHandle of the running task", aws.ToString(dead.latest("RUNNING").TaskHandle), handle)
		out := must(e.cancel(handle))
		if out.ApproximateNumberOfMessagesMoved >= 5 {
			e.fail("ApproximateNumberOfMessagesMoved at one a second: want less than all five, got %d", out.ApproximateNumberOfMessagesMoved)
		}
		dead.latest("CANCELLED")
		e.sleep(2 * time.Second)
		if left := dead.attributes()["ApproximateNumberOfMessages"]; left == "0" {
			e.fail("messages in the dead-letter queue after the task was cancelled: want some, got none")
		}
	}),
}

// nowhere returns the ARN of a queue that does not exist.
func nowhere(e *env) string {
	q := e.queue()
	return strings.TrimSuffix(q.arn(), q.name) + e.name()
}

var moveRefusals = []Check{
	check("moves/no-dead-letter-queue", api("StartMessageMoveTask"),
		"Only a queue that is the dead-letter queue of another can be the source of a task.", func(e *env) {
			e.refused("StartMessageMoveTask from a queue that no redrive policy names", e.queue().tryMove())
		}),
	check("moves/unknown-source", api("StartMessageMoveTask"), "StartMessageMoveTask from a queue that does not exist is ResourceNotFoundException.", func(e *env) {
		_, err := e.StartMessageMoveTask(e.ctx, &awssqs.StartMessageMoveTaskInput{SourceArn: aws.String(nowhere(e))})
		refusedAs[*types.ResourceNotFoundException](e, "StartMessageMoveTask", err)
	}),
	check("moves/unknown-destination", api("StartMessageMoveTask"),
		"StartMessageMoveTask to a queue that does not exist is ResourceNotFoundException.", func(e *env) {
			_, dead := e.pair(false, 1)
			refusedAs[*types.ResourceNotFoundException](e, "StartMessageMoveTask", dead.tryMove(toQueue(nowhere(e))))
		}).recorded(localStackMoves("2024-04-30", "test_destination_needs_to_exist")),
	check("moves/other-type", pageRedrive, "The destination must be of the dead-letter queue's type.", func(e *env) {
		_, dead := e.pair(false, 1)
		e.refused("StartMessageMoveTask from a standard to a FIFO queue", dead.tryMove(toQueue(e.fifo().arn())))
	}),
	check("moves/one-at-a-time", api("StartMessageMoveTask"), "A queue has one active task at most.", func(e *env) {
		dead, handle := e.slowTask()
		e.refused("StartMessageMoveTask while one is running", dead.tryMove())
		must(e.cancel(handle))
	}).recorded(localStackMoves("2024-04-30", "test_start_multiple_move_tasks")),
	check("moves/rate", api("StartMessageMoveTask"), "MaxNumberOfMessagesPerSecond is 500 at most.", func(e *env) {
		_, dead := e.pair(false, 1)
		e.refused("StartMessageMoveTask with 501 messages per second", dead.tryMove(atRate(501)))
		e.must("StartMessageMoveTask with 500 messages per second", dead.tryMove(atRate(500)))
	}).reading(),
	check("moves/list-unknown", api("ListMessageMoveTasks"), "ListMessageMoveTasks of a queue that does not exist is ResourceNotFoundException.", func(e *env) {
		_, err := e.ListMessageMoveTasks(e.ctx, &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(nowhere(e))})
		refusedAs[*types.ResourceNotFoundException](e, "ListMessageMoveTasks", err)
	}),
	check("moves/list-bounds", api("ListMessageMoveTasks"), "MaxResults of ListMessageMoveTasks is 10 at most.", func(e *env) {
		_, dead := e.pair(false, 1)
		want(e, "number of tasks", len(dead.tasks(10)), 0)
		_, err := e.ListMessageMoveTasks(e.ctx, &awssqs.ListMessageMoveTasksInput{SourceArn: aws.String(dead.arn()), MaxResults: aws.Int32(11)})
		e.refused("ListMessageMoveTasks with MaxResults 11", err)
	}).reading(),
	check("moves/cancel-unknown", api("CancelMessageMoveTask"), "A handle that is none cannot be cancelled.", func(e *env) {
		e.refused("CancelMessageMoveTask", errOf(e.cancel("no handle")))
	}).recorded(localStackMoves("2024-04-30", "test_cancel_with_invalid_task_handle")),
	check("moves/cancel-completed", api("CancelMessageMoveTask"), "A task can be cancelled only while it is running.", func(e *env) {
		source, dead := e.pair(false, 1)
		dead.deadLetter(source, "poison")
		handle := dead.move()
		state := aws.ToString(dead.latest("COMPLETED").Status)
		e.refused(fmt.Sprintf("CancelMessageMoveTask of a task that is %s", state), errOf(e.cancel(handle)))
	}),
}
