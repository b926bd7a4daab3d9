package main

import (
	"fmt"
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func policy(arn string, maxReceiveCount int) string {
	return fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, arn, maxReceiveCount)
}

// pair creates a queue and its dead-letter queue.
func (e *env) pair(fifo bool, maxReceiveCount int, attributes ...string) (source, dead *queue) {
	dead = e.kind(fifo, "VisibilityTimeout", "600")
	source = e.kind(fifo, append(attributes, "RedrivePolicy", policy(dead.arn(), maxReceiveCount), "VisibilityTimeout", "600")...)
	return source, dead
}

// waste receives a message n times, and releases it each time.
func (q *queue) waste(body string, n int) (last types.Message) {
	for range n {
		last = q.one(atMost(1))
		want(q.env, "body", *last.Body, body)
		q.hide(last, 0)
	}
	return last
}

// arrives receives a message from the dead-letter queue. It also receives from the source,
// because SQS moves a message when it would be received once more.
func (dead *queue) arrives(source *queue) (m types.Message) {
	dead.eventually("the message in the dead-letter queue", func() (string, bool) {
		if got := source.receive(atMost(1)); len(got) > 0 {
			dead.fail("the source queue: want no message after maxReceiveCount receives, got %s", bodies(got))
		}
		got := dead.receive(atMost(1), waiting(1))
		if len(got) == 1 {
			m = got[0]
		}
		return "none", len(got) == 1
	})
	return m
}

// deadLetter dead-letters messages by way of a queue with maxReceiveCount 1, and leaves
// them visible.
func (dead *queue) deadLetter(source *queue, texts ...string) {
	var buried []types.Message
	for _, body := range texts {
		source.send(body)
		source.waste(body, 1)
		m := dead.arrives(source)
		want(dead.env, "body", *m.Body, body)
		buried = append(buried, m)
	}
	for _, m := range buried {
		dead.hide(m, 0)
	}
}

var redriveChecks = []Check{
	check("redrive/after-max", pageDeadLetter,
		"A message that was received maxReceiveCount times is moved to the dead-letter queue, and not received again.", func(e *env) {
			source, dead := e.pair(false, 3)
			sent := source.send("poison")
			source.waste("poison", 3)
			m := dead.arrives(source)
			want(e, "body", *m.Body, "poison")
			want(e, "MessageId", *m.MessageId, *sent.MessageId)
			source.none("the source queue")
		}),
	check("redrive/not-before", pageDeadLetter, "A message is not moved before it was received maxReceiveCount times.", func(e *env) {
		source, dead := e.pair(false, 3)
		source.send("not poison")
		source.waste("not poison", 2)
		want(e, "the third receive", *source.one().Body, "not poison")
		dead.none("the dead-letter queue")
	}),
	check("redrive/deleted-in-time", pageDeadLetter, "A message that was deleted at its last receive is not dead-lettered.", func(e *env) {
		source, dead := e.pair(false, 1)
		source.send("done")
		source.delete(source.one())
		source.none("the source queue")
		dead.none("the dead-letter queue")
	}),
	check("redrive/content", pageDeadLetter, "A dead-lettered message has its body and its attributes.", func(e *env) {
		source, dead := e.pair(false, 1)
		source.send("poison", withAttributes(sample()))
		source.waste("poison", 1)
		m := dead.arrives(source)
		want(e, "body", *m.Body, "poison")
		e.sameAttributes(m.MessageAttributes, sample())
	}),
	check("redrive/source-arn", api("ReceiveMessage"),
		"DeadLetterQueueSourceArn says which queue a dead-lettered message came from; others have none.", func(e *env) {
			source, dead := e.pair(false, 1)
			source.send("poison")
			m := source.waste("poison", 1)
			want(e, "DeadLetterQueueSourceArn in the source queue", m.Attributes["DeadLetterQueueSourceArn"], "")
			want(e, "DeadLetterQueueSourceArn", dead.arrives(source).Attributes["DeadLetterQueueSourceArn"], source.arn())
		}),
	check("redrive/receive-count", api("ReceiveMessage"), "ApproximateReceiveCount goes on counting in the dead-letter queue: it is of all queues.", func(e *env) {
		source, dead := e.pair(false, 2)
		source.send("poison")
		source.waste("poison", 2)
		want(e, "ApproximateReceiveCount", dead.number(dead.arrives(source), "ApproximateReceiveCount"), 3)
	}),
	check("redrive/enqueue-time", pageRetentionDLQ, "On standard queues a dead-lettered message keeps the time at which it was sent.", func(e *env) {
		source, dead := e.pair(false, 1)
		source.send("poison")
		sent := source.number(source.waste("poison", 1), "SentTimestamp")
		e.sleep(time.Second)
		want(e, "SentTimestamp in the dead-letter queue", dead.number(dead.arrives(source), "SentTimestamp"), sent)
	}),
	check("redrive/expiry", pageRetentionDLQ, "In a standard dead-letter queue a message's age counts from when it was sent to the source.", func(e *env) {
		dead := e.queue("MessageRetentionPeriod", "120")
		source := e.queue("RedrivePolicy", policy(dead.arn(), 1))
		source.send("old")
		e.sleep(90 * time.Second)
		source.waste("old", 1)
		dead.hide(dead.arrives(source), 0)
		e.sleep(90 * time.Second)
		dead.none("a message sent three minutes ago, in a dead-letter queue that keeps for two")
	}).slow(),
	check("redrive/without-policy", pageDeadLetter, "Without a redrive policy a message may be received again and again.", func(e *env) {
		q := e.filled("again and again")
		want(e, "ApproximateReceiveCount", q.number(q.waste("again and again", 6), "ApproximateReceiveCount"), 6)
	}),
	check("redrive/sources", api("ListDeadLetterSourceQueues"),
		"ListDeadLetterSourceQueues returns the queues whose redrive policy names the queue, in pages.", func(e *env) {
			dead := e.queue()
			wanted := map[string]bool{}
			for range 3 {
				wanted[*e.queue("RedrivePolicy", policy(dead.arn(), 5)).url] = true
			}
			e.queue()
			e.eventually("the three source queues", func() (string, bool) {
				got := map[string]bool{}
				size := int32(2)
				pages := awssqs.NewListDeadLetterSourceQueuesPaginator(e, &awssqs.ListDeadLetterSourceQueuesInput{QueueUrl: dead.url, MaxResults: &size})
				for pages.HasMorePages() {
					page := must(pages.NextPage(e.ctx))
					if len(page.QueueUrls) > 2 {
						e.fail("a page of MaxResults 2: want no more, got %v", page.QueueUrls)
					}
					for _, url := range page.QueueUrls {
						if !wanted[url] || got[url] {
							e.fail("want each source queue once, got %s, which is none or came twice", url)
						}
						got[url] = true
					}
				}
				return fmt.Sprint(got), len(got) == 3
			})
		}),
}

var redriveFIFOChecks = []Check{
	check("redrive-fifo/after-max", pageDeadLetter, "A FIFO queue's message is moved to its dead-letter queue, with its group.", func(e *env) {
		source, dead := e.pair(true, 2)
		source.sendTo("g", "poison")
		source.waste("poison", 2)
		m := dead.arrives(source)
		want(e, "body", *m.Body, "poison")
		want(e, "MessageGroupId", m.Attributes["MessageGroupId"], "g")
	}),
	check("redrive-fifo/group-goes-on", pageDeadLetter, "When a group's first message was dead-lettered the next can be received.", func(e *env) {
		source, dead := e.pair(true, 1)
		source.sendTo("g", "poison", "healthy")
		source.waste("poison", 1)
		want(e, "the next message", *source.one().Body, "healthy")
		want(e, "the dead-lettered message", *dead.one().Body, "poison")
	}),
	check("redrive-fifo/deduplication-id", pageRedrive, "In a FIFO dead-letter queue a message's deduplication id is its message id.", func(e *env) {
		source, dead := e.pair(true, 1)
		sent := source.send("poison", inGroup("g"), withID("own"))
		source.waste("poison", 1)
		want(e, "MessageDeduplicationId", dead.arrives(source).Attributes["MessageDeduplicationId"], *sent.MessageId)
	}),
	check("redrive-fifo/same-ids", pageRedrive, "Two messages that share a deduplication id are both kept by the dead-letter queue.", func(e *env) {
		source, dead := e.pair(true, 1, "DeduplicationScope", "messageGroup", "FifoThroughputLimit", "perMessageGroupId")
		for _, group := range []string{"g", "h"} {
			source.send(group, inGroup(group), withID("same"))
			source.waste(group, 1)
			want(e, "body", *dead.arrives(source).Body, group)
		}
	}),
	check("redrive-fifo/expiry", pageRetentionDLQ, "In a FIFO dead-letter queue a message's age counts from when it was moved there.", func(e *env) {
		dead := e.fifo("MessageRetentionPeriod", "120")
		source := e.fifo("RedrivePolicy", policy(dead.arn(), 1))
		source.sendTo("g", "old")
		e.sleep(90 * time.Second)
		source.waste("old", 1)
		dead.hide(dead.arrives(source), 0)
		e.sleep(90 * time.Second)
		want(e, "a message moved 90 s ago to a dead-letter queue that keeps for 120", *dead.one().Body, "old")
	}).slow(),
}

var redrivePolicyChecks = []Check{
	check("redrive-policy/kept", api("GetQueueAttributes"), "GetQueueAttributes returns a queue's RedrivePolicy.", func(e *env) {
		source, dead := e.pair(false, 7)
		got := source.attributes("RedrivePolicy")["RedrivePolicy"]
		for _, part := range []string{"deadLetterTargetArn", dead.arn(), "maxReceiveCount", "7"} {
			if !strings.Contains(got, part) {
				e.fail("RedrivePolicy: want %s in it, got %s", part, show(got))
			}
		}
	}),
	check("redrive-policy/no-json", api("SetQueueAttributes"), "A RedrivePolicy that is no JSON object is refused.", func(e *env) {
		q := e.queue()
		for _, bad := range []string{"nonsense", "3", "[]"} {
			e.refused("SetQueueAttributes with RedrivePolicy "+bad, q.trySet("RedrivePolicy", bad))
		}
	}),
	check("redrive-policy/no-target", api("SetQueueAttributes"), "A RedrivePolicy without deadLetterTargetArn is refused.", func(e *env) {
		e.refused("SetQueueAttributes", e.queue().trySet("RedrivePolicy", `{"maxReceiveCount":3}`))
	}),
	check("redrive-policy/unknown-target", pageDeadLetter, "The dead-letter queue must exist before a redrive policy names it.", func(e *env) {
		q := e.queue()
		e.refused("SetQueueAttributes", q.trySet("RedrivePolicy", policy(strings.TrimSuffix(q.arn(), q.name)+e.name(), 3)))
	}).recorded(quoted("2018-08-15", "serverless/serverless/issues/5215")),
	check("redrive-policy/count", guide("Configure a dead-letter queue using the Amazon SQS console", "sqs-configure-dead-letter-queue"),
		"maxReceiveCount is 1 to 1,000.", func(e *env) {
			dead, q := e.queue(), e.queue()
			e.bounds("maxReceiveCount", []int32{1, 1000}, []int32{0, -1, 1001}, func(n int32) error {
				return q.trySet("RedrivePolicy", policy(dead.arn(), int(n)))
			})
		}),
	check("redrive-policy/same-type", api("CreateQueue"), "A FIFO queue's dead-letter queue is a FIFO queue, a standard queue's is a standard queue.", func(e *env) {
		standard, fifo := e.queue(), e.fifo()
		e.refused("a FIFO dead-letter queue for a standard queue", e.queue().trySet("RedrivePolicy", policy(fifo.arn(), 3)))
		e.refused("a standard dead-letter queue for a FIFO queue", e.fifo().trySet("RedrivePolicy", policy(standard.arn(), 3)))
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
	check("redrive-allow/deny-all", pageDeadLetter, "With denyAll no queue may name the queue as its dead-letter queue.", func(e *env) {
		dead := e.queue("RedriveAllowPolicy", `{"redrivePermission":"denyAll"}`)
		e.refused("SetQueueAttributes with that dead-letter queue", e.queue().trySet("RedrivePolicy", policy(dead.arn(), 3)))
	}),
	check("redrive-allow/by-queue", pageDeadLetter, "With byQueue the queues that sourceQueueArns lists may name the queue, and no others.", func(e *env) {
		listed, other := e.queue(), e.queue()
		dead := e.queue("RedriveAllowPolicy", byQueue(listed.arn()))
		e.must("SetQueueAttributes of the queue that is listed", listed.trySet("RedrivePolicy", policy(dead.arn(), 3)))
		e.refused("SetQueueAttributes of a queue that is not listed", other.trySet("RedrivePolicy", policy(dead.arn(), 3)))
	}),
	check("redrive-allow/ten-queues", api("SetQueueAttributes"), "sourceQueueArns lists up to ten queues.", func(e *env) {
		q := e.queue()
		var arns []string
		for i := range 11 {
			arns = append(arns, fmt.Sprintf("%s-%d", q.arn(), i))
		}
		e.must("SetQueueAttributes with ten", q.trySet("RedriveAllowPolicy", byQueue(arns[:10]...)))
		e.refused("SetQueueAttributes with eleven", q.trySet("RedriveAllowPolicy", byQueue(arns...)))
	}).reading(),
	check("redrive-allow/queues-with-by-queue", api("SetQueueAttributes"), "sourceQueueArns are allowed with byQueue only.", func(e *env) {
		q := e.queue()
		for _, permission := range []string{"allowAll", "denyAll"} {
			e.refused("SetQueueAttributes with sourceQueueArns and "+permission,
				q.trySet("RedriveAllowPolicy", strings.Replace(byQueue(q.arn()), "byQueue", permission, 1)))
		}
	}),
	check("redrive-allow/permission", api("SetQueueAttributes"), "redrivePermission is allowAll, denyAll or byQueue.", func(e *env) {
		e.refused("SetQueueAttributes with redrivePermission sometimes", e.queue().trySet("RedriveAllowPolicy", `{"redrivePermission":"sometimes"}`))
	}),
	check("redrive-allow/no-json", api("SetQueueAttributes"), "A RedriveAllowPolicy that is no JSON object is refused.", func(e *env) {
		e.refused("SetQueueAttributes", e.queue().trySet("RedriveAllowPolicy", "nonsense"))
	}),
}
