package checks

import (
	"fmt"
	"strings"
)

var redrivePolicyChecks = []Check{
	check("redrive-policy/kept", api("GetQueueAttributes"),
		"GetQueueAttributes returns a queue's RedrivePolicy.", func(e *env) {
			source, dead := e.pair(false, 7)
			got := source.attributes("RedrivePolicy")["RedrivePolicy"]
			for _, part := range []string{"deadLetterTargetArn", dead.arn(), "maxReceiveCount", "7"} {
				if !strings.Contains(got, part) {
					e.fail("RedrivePolicy: want %s in it, got %s", part, show(got))
				}
			}
		}),
	check("redrive-policy/no-json", api("SetQueueAttributes"),
		"A RedrivePolicy that is no JSON object is refused.", func(e *env) {
			q := e.queue()
			for _, bad := range []string{"nonsense", "3", "[]"} {
				e.refused("SetQueueAttributes with RedrivePolicy "+bad, q.set("RedrivePolicy", bad))
			}
		}),
	check("redrive-policy/no-target", api("SetQueueAttributes"),
		"A RedrivePolicy without deadLetterTargetArn is refused.", func(e *env) {
			e.refused("SetQueueAttributes", e.queue().set("RedrivePolicy", `{"maxReceiveCount":3}`))
		}),
	check("redrive-policy/unknown-target", pageDeadLetter,
		"The dead-letter queue must exist before a redrive policy names it.", func(e *env) {
			q := e.queue()
			e.refused("SetQueueAttributes", q.set("RedrivePolicy", policy(strings.TrimSuffix(q.arn(), q.name)+e.name(), 3)))
		}).recorded(quoted("2018-08-15", "serverless/serverless/issues/5215")),
	check("redrive-policy/count", guide("Configure a dead-letter queue using the Amazon SQS console", "sqs-configure-dead-letter-queue"),
		"maxReceiveCount is 1 to 1,000.", func(e *env) {
			dead := e.queue()
			q := e.queue()
			for _, n := range []int{1, 1000} {
				e.must(fmt.Sprintf("maxReceiveCount %d", n), q.set("RedrivePolicy", policy(dead.arn(), n)))
			}
			for _, n := range []int{0, -1, 1001} {
				e.refused(fmt.Sprintf("maxReceiveCount %d", n), q.set("RedrivePolicy", policy(dead.arn(), n)))
			}
		}),
	check("redrive-policy/same-type", api("CreateQueue"),
		"A FIFO queue's dead-letter queue is a FIFO queue, a standard queue's is a standard queue.", func(e *env) {
			standard, fifo := e.queue(), e.fifo()
			e.refused("a FIFO dead-letter queue for a standard queue", e.queue().set("RedrivePolicy", policy(fifo.arn(), 3)))
			e.refused("a standard dead-letter queue for a FIFO queue", e.fifo().set("RedrivePolicy", policy(standard.arn(), 3)))
		}).recorded(quoted("2017-08-22", "byu-oit/handel/issues/253")),
}

func byQueue(arns ...string) string {
	return `{"redrivePermission":"byQueue","sourceQueueArns":["` + strings.Join(arns, `","`) + `"]}`
}

var allowChecks = []Check{
	check("redrive-allow/by-default", pageDeadLetter,
		"Without a RedriveAllowPolicy, and with allowAll, any queue may name the queue as its dead-letter queue.", func(e *env) {
			for _, attributes := range [][]string{nil, {"RedriveAllowPolicy", `{"redrivePermission":"allowAll"}`}} {
				dead := e.queue(attributes...)
				e.queue("RedrivePolicy", policy(dead.arn(), 3))
			}
		}),
	check("redrive-allow/deny-all", pageDeadLetter,
		"With denyAll no queue may name the queue as its dead-letter queue.", func(e *env) {
			dead := e.queue("RedriveAllowPolicy", `{"redrivePermission":"denyAll"}`)
			e.refused("SetQueueAttributes with that dead-letter queue", e.queue().set("RedrivePolicy", policy(dead.arn(), 3)))
		}),
	check("redrive-allow/by-queue", pageDeadLetter,
		"With byQueue the queues that sourceQueueArns lists may name the queue, and no others.", func(e *env) {
			listed, other := e.queue(), e.queue()
			dead := e.queue("RedriveAllowPolicy", byQueue(listed.arn()))
			e.must("SetQueueAttributes of the queue that is listed", listed.set("RedrivePolicy", policy(dead.arn(), 3)))
			e.refused("SetQueueAttributes of a queue that is not listed", other.set("RedrivePolicy", policy(dead.arn(), 3)))
		}),
	check("redrive-allow/ten-queues", api("SetQueueAttributes"),
		"sourceQueueArns lists up to ten queues.", func(e *env) {
			q := e.queue()
			var arns []string
			for i := range 11 {
				arns = append(arns, fmt.Sprintf("%s-%d", q.arn(), i))
			}
			e.must("SetQueueAttributes with ten", q.set("RedriveAllowPolicy", byQueue(arns[:10]...)))
			e.refused("SetQueueAttributes with eleven", q.set("RedriveAllowPolicy", byQueue(arns...)))
		}).reading(),
	check("redrive-allow/queues-with-by-queue", api("SetQueueAttributes"),
		"sourceQueueArns are allowed with byQueue only.", func(e *env) {
			q := e.queue()
			for _, permission := range []string{"allowAll", "denyAll"} {
				e.refused("SetQueueAttributes with sourceQueueArns and "+permission,
					q.set("RedriveAllowPolicy", strings.Replace(byQueue(q.arn()), "byQueue", permission, 1)))
			}
		}),
	check("redrive-allow/permission", api("SetQueueAttributes"),
		"redrivePermission is allowAll, denyAll or byQueue.", func(e *env) {
			e.refused("SetQueueAttributes with redrivePermission sometimes", e.queue().set("RedriveAllowPolicy", `{"redrivePermission":"sometimes"}`))
		}),
	check("redrive-allow/no-json", api("SetQueueAttributes"),
		"A RedriveAllowPolicy that is no JSON object is refused.", func(e *env) {
			e.refused("SetQueueAttributes", e.queue().set("RedriveAllowPolicy", "nonsense"))
		}),
}
