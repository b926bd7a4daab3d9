package main

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// drain receives and deletes n messages, in as many calls as necessary, and passes each to
// a function.
func (q *queue) drain(n int, look func(m types.Message)) {
	deadline := time.Now().Add(q.config.Patience)
	for got := []string{}; len(got) < n; {
		if time.Now().After(deadline) {
			q.fail("want %d messages within %v, got %d: %v", n, q.config.Patience, len(got), show(strings.Join(got, ", ")))
		}
		for _, m := range q.some(waiting(2)) {
			look(m)
			q.delete(m)
			got = append(got, *m.Body)
		}
	}
}

// inOrder receives and deletes messages, and ends the check unless they come in this order.
func (q *queue) inOrder(wanted ...string) {
	var got []string
	q.drain(len(wanted), func(m types.Message) {
		if got = append(got, *m.Body); len(got) > len(wanted) || !slices.Equal(got, wanted[:len(got)]) {
			q.fail("want the messages %v in this order, got %v", wanted, got)
		}
	})
}

// sequence returns a sequence number, which has up to 128 bits.
func (e *env) sequence(text *string) *big.Int {
	n, ok := new(big.Int).SetString(aws.ToString(text), 10)
	if !ok || n.Sign() < 0 || n.BitLen() > 128 {
		e.fail("SequenceNumber: want a number of up to 128 bits, got %q", aws.ToString(text))
	}
	return n
}

var fifoChecks = []Check{
	check("fifo/group-required", api("SendMessage"), "A message to a FIFO queue must have a MessageGroupId.", func(e *env) {
		q := e.fifo()
		e.refused("SendMessage without MessageGroupId", q.trySend("a", withID("a")))
		out, err := q.sendBatch(entry("a", "a"))
		if err == nil {
			e.failedEntry("a", out.Failed)
		} else {
			e.refused("SendMessageBatch without MessageGroupId", err)
		}
	}),
	check("fifo/id-required", api("SendMessage"), "Without content-based deduplication a message must have a MessageDeduplicationId.", func(e *env) {
		e.refused("SendMessage without MessageDeduplicationId", e.fifo().trySend("a", inGroup("g")))
	}),
	check("fifo/sequence", api("SendMessage"), "SequenceNumber is a number of up to 128 bits that increases within a group.", func(e *env) {
		q := e.fifo()
		last := big.NewInt(-1)
		for i := range 5 {
			n := e.sequence(q.send("a", inGroup("g"), withID(fmt.Sprint(i))).SequenceNumber)
			if n.Cmp(last) <= 0 {
				e.fail("SequenceNumber: want more than %v, got %v", last, n)
			}
			last = n
		}
	}),
	check("fifo/order", pageFIFOLogic, "The messages of a group are received in the order in which they were sent.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "600")
		var sent []string
		for i := range 25 {
			sent = append(sent, fmt.Sprintf("%02d", i))
		}
		q.sendTo("g", sent...)
		q.inOrder(sent...)
	}),
	check("fifo/order-of-each-group", pageFIFOLogic, "Each group has an order of its own when several are received together.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "600")
		for i := range 6 {
			q.sendTo("a", fmt.Sprintf("a%d", i))
			q.sendTo("b", fmt.Sprintf("b%d", i))
		}
		next := map[string]int{}
		q.drain(12, func(m types.Message) {
			group := m.Attributes["MessageGroupId"]
			want(e, "next message of group "+group, *m.Body, fmt.Sprintf("%s%d", group, next[group]))
			next[group]++
		})
	}),
	check("fifo/several-of-a-group", pageFIFOLogic, "A receive returns as many messages of one group as it can, in their order.", func(e *env) {
		q := e.group("a", "b", "c", "d", "e")
		q.counts(5, 0, 0)
		got := q.receive(atMost(10), waiting(20))
		if len(got) < 2 {
			e.fail("want more than one of five messages of a group in one receive, got %s", bodies(got))
		}
		for i, m := range got {
			want(e, fmt.Sprintf("message %d", i), *m.Body, string(rune('a'+i)))
		}
	}),
	check("fifo/first-one-group", pageFIFOLogic, "A receive takes messages of another group only when the first group has no more.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "600")
		for i := range 4 {
			q.sendTo("a", fmt.Sprintf("a%d", i))
			q.sendTo("b", fmt.Sprintf("b%d", i))
		}
		q.counts(8, 0, 0)
		groups := map[string]bool{}
		got := q.receive(atMost(3), waiting(20))
		for _, m := range got {
			groups[m.Attributes["MessageGroupId"]] = true
		}
		if len(groups) != 1 {
			e.fail("three of two groups with four messages each: want all of one group, got %s", bodies(got))
		}
	}),
}

var groupChecks = []Check{
	check("groups/locked", pageFIFOLogic, "While a message of a group is in flight none behind it are received.", func(e *env) {
		q := e.group("a", "b", "c")
		want(e, "first", *q.one(atMost(1)).Body, "a")
		q.none("a group with a message in flight")
	}),
	check("groups/others-go-on", pageFIFOLogic, "Messages of other groups are received while a group is locked.", func(e *env) {
		q := e.group("g1", "g2")
		want(e, "first", *q.one(atMost(1)).Body, "g1")
		q.sendTo("h", "h1")
		want(e, "of the other group", *q.one().Body, "h1")
	}),
	check("groups/order-after-failure", pageFIFOLogic, "A message that was not deleted comes again before the later ones of its group.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "2")
		q.sendTo("g", "a", "b")
		want(e, "first", *q.one(atMost(1)).Body, "a")
		want(e, "after its visibility timeout", *q.one(atMost(1), hidden(600)).Body, "a")
	}),
	check("groups/order-after-release", pageFIFOLogic, "A message whose timeout is set to 0 comes again before the later ones of its group.", func(e *env) {
		q := e.group("a", "b", "c")
		q.hide(q.one(atMost(1)), 0)
		q.inOrder("a", "b", "c")
	}),
	check("groups/waits-for-all", pageFIFOLogic,
		"A message behind several of its group in flight is received when none of these is in flight any more.", func(e *env) {
			q := e.group("a", "b")
			q.counts(2, 0, 0)
			var got []types.Message
			e.eventually("a and b in one receive", func() (string, bool) {
				got = q.receive(atMost(2), waiting(2))
				if len(got) == 2 {
					return "", true
				}
				for _, m := range got {
					q.hide(m, 0)
				}
				return bodies(got), false
			})
			q.sendTo("g", "c")
			q.delete(got[0])
			q.none("a group with its second message in flight")
			q.delete(got[1])
			want(e, "third", *q.one().Body, "c")
		}),
	// AWS promises no order between groups. The order matters if a group always fails: it must
	// not block the others.
	check("groups/released-goes-last", pageFIFOLogic, "A group whose first message is released goes behind the groups that were visible before.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "600")
		q.sendTo("1", "g1-m1", "g1-m2")
		q.sendTo("2", "g2-m1")
		q.counts(3, 0, 0)
		got := q.receive(atMost(2), waiting(20))
		want(e, "one receive", bodies(got), `"g1-m1", "g1-m2"`)
		q.hide(got[0], 0)
		q.counts(2, 1, 0)
		want(e, "after the release", bodies(q.receive(waiting(20))), `"g2-m1", "g1-m1"`)
	}).undocumented().recorded(Recording{"2025-11-17", localStackTests + "py, test_fifo_message_group_visibility_after_change_message_visibility[sqs]"}),
	check("groups/only-earlier", pageFIFOLogic,
		"Only an earlier message of the group that is in flight blocks one: a middle one lets the first come back, the last one both before it.", func(e *env) {
			for i, wanted := range []string{"", `"foo"`, `"foo", "bar"`} {
				q := e.fifo("VisibilityTimeout", "600")
				q.sendTo("1", "foo", "bar", "baz")
				q.counts(3, 0, 0)
				got := q.receive(waiting(20))
				want(e, "one receive", bodies(got), `"foo", "bar", "baz"`)
				for j, m := range got {
					if j != i {
						q.hide(m, 0)
					}
				}
				e.eventually("counts", func() (string, bool) {
					visible := q.attributes("ApproximateNumberOfMessages")["ApproximateNumberOfMessages"]
					return visible, visible == "2"
				})
				want(e, fmt.Sprintf("with message %d in flight", i), bodies(q.receive(waiting(1))), wanted)
			}
		}).recorded(localStack("2025-11-19", "test_fifo_group_visibility_extends_with_change_message_visibility[sqs-0-visible, 1-visible, 2-visible]")),
	check("groups/released-head", pageFIFOLogic, "The first message of a group comes back when its timeout ends while the second one is in flight.", func(e *env) {
		q := e.group("a", "b")
		q.counts(2, 0, 0)
		got := q.receive(waiting(20))
		want(e, "one receive", bodies(got), `"a", "b"`)
		q.hide(got[0], 1)
		want(e, "body", *q.one().Body, "a")
	}).recorded(Recording{"2025-11-17", localStackTests + "validation.json, test_fifo_message_group_visibility_after_change_message_visibility[sqs]"}),
	check("groups/long-poll", pagePolling, "A long poll gets a group's next message as soon as the one in flight is deleted.", func(e *env) {
		q := e.group("a", "b")
		m := q.one(atMost(1))
		answers := q.poll(e.ctx)
		began := time.Now()
		q.delete(m)
		answer := <-answers
		e.must("ReceiveMessage", answer.err)
		want(e, "messages", bodies(answer.messages), show("b"))
		e.within("the poll's answer", began, 0, soon)
	}),
}

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
		for batch := range 8 { // twice as many as a noisy tenant has in flight
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
