package checks

import (
	"fmt"
	"time"
)

var fairChecks = []Check{
	check("fair/group-kept", pageFair, "A message to a standard queue may have a MessageGroupId, and is received with it.", func(e *env) {
		q := e.queue()
		q.send("a", inGroup("tenant-1"))
		want(e, "MessageGroupId", q.one().Attributes["MessageGroupId"], "tenant-1")
	}).recorded(localStack("2025-08-18", "test_fair_queue_with_message_group_id[sqs]")),
	check("fair/no-lock", api("SendMessage"), "On a standard queue messages of one group can be received while others of it are in flight.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		for i := range 3 {
			q.send(fmt.Sprint(i), inGroup("tenant-1"))
		}
		for range 3 {
			q.one(atMost(1))
		}
	}),
	check("fair/mixed", pageFairDetails, "A queue can have messages with and without MessageGroupId.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		q.send("with", inGroup("tenant-1"))
		q.send("without")
		for _, m := range q.take(2) {
			group := map[string]string{"with": "tenant-1"}[*m.Body]
			want(e, "MessageGroupId of "+*m.Body, m.Attributes["MessageGroupId"], group)
		}
	}),
	check("fair/slow-tenant", pageFairDetails,
		"A quiet tenant's message is received before that of one which took most of the recent processing time.", func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			for range 4 {
				q.send("slow", inGroup("slow"))
			}
			slow := q.take(3)
			e.sleep(2 * time.Minute)
			for _, m := range slow {
				q.delete(m)
			}
			q.send("quiet", inGroup("quiet"))
			e.sleep(e.config.Settle)
			want(e, "the first message", *q.one(atMost(1)).Body, "quiet")
		}).slow().reading(),
	check("fair/noisy-is-over", pageFairDetails, "A noisy tenant that sent nothing for five minutes is not held back any more.", func(e *env) {
		q := e.queue("VisibilityTimeout", "3600")
		for range 41 {
			q.send("noisy", inGroup("noisy"))
		}
		q.take(40)
		e.sleep(5*time.Minute + 10*time.Second)
		q.send("quiet", inGroup("quiet"))
		e.sleep(e.config.Settle)
		want(e, "the first message", *q.one(atMost(1)).Body, "noisy")
	}).slow().reading(),
	check("fair/quiet-first", pageFairDetails, "A quiet tenant's message is received before the backlog of one that has most of the queue in flight.", func(e *env) {
		q := e.queue("VisibilityTimeout", "600")
		for batch := range 8 { // twice as many as a noisy neighbour has in flight
			entries := ten()
			for i := range entries {
				id, group := fmt.Sprintf("noisy-%d-%d", batch, i), "noisy"
				entries[i].MessageBody, entries[i].MessageGroupId = &id, &group
			}
			q.sendAll(entries...)
		}
		q.take(40)
		q.send("quiet", inGroup("quiet"))
		e.sleep(e.config.Settle)
		for range 10 {
			if *q.one(atMost(1)).Body == "quiet" {
				return
			}
		}
		e.fail("40 of the noisy tenant in flight and 40 waiting: want the quiet tenant's message among the next ten, got ten of the noisy one's")
	}),
}
