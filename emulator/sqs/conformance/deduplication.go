package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// onlyOne ends the check unless the queue has this message and no other.
func (q *queue) onlyOne(body string) types.Message {
	m := q.one()
	want(q.env, "body", *m.Body, body)
	q.delete(m)
	q.none("a duplicate within five minutes")
	return m
}

// sent is a message that a check sends to a FIFO queue; id may be "".
type sent struct{ body, group, id string }

var byContent = []string{"ContentBasedDeduplication", "true"}

// deduplicates returns a check that of the sent messages, each with another
// attribute, only those with the wanted bodies are received.
func deduplicates(id string, page Page, must string, attributes []string, messages []sent, wanted ...string) Check {
	return check("deduplication/"+id, page, must, func(e *env) {
		q := e.fifo(append(attributes, "VisibilityTimeout", "600")...)
		for i, m := range messages {
			q.send(m.body, inGroup(m.group), func(in *awssqs.SendMessageInput) {
				if in.MessageAttributes = attributeNames(fmt.Sprint("a", i)); m.id != "" {
					in.MessageDeduplicationId = &m.id
				}
			})
		}
		q.inOrder(wanted...)
		q.none("a duplicate within five minutes")
	})
}

var deduplicationChecks = []Check{
	// Included although the recording has no date: there is no other source, and a message
	// that is sent again after a purge would otherwise be lost without an error.
	check("deduplication/purge", api("PurgeQueue"), "A purge clears the memory of deduplication: a message of the same deduplication id is received.", func(e *env) {
		q := e.fifo()
		q.send("before", inGroup("g"), withID("same"))
		q.purge()
		q.send("after", inGroup("g"), withID("same"))
		want(e, "body", *q.one().Body, "after")
	}).undocumented().recorded(localStackValidated("test_purge_queue_clears_fifo_deduplication_cache")),
	deduplicates("by-id", pageExactlyOnce, "A second message with a deduplication id is accepted, and not delivered.",
		nil, []sent{{"first", "g", "same"}, {"second", "g", "same"}}, "first"),
	deduplicates("of-the-queue", api("CreateQueue"), "With DeduplicationScope queue the same id in two groups is a duplicate.",
		[]string{"DeduplicationScope", "queue"}, []sent{{"first", "g", "same"}, {"second", "h", "same"}}, "first"),
	deduplicates("by-content", pageExactlyOnce, "With content-based deduplication a second message with the same body is not delivered, whatever its attributes.",
		byContent, []sent{{"same", "g", ""}, {"same", "g", ""}}, "same"),
	deduplicates("content-differs", pageExactlyOnce, "With content-based deduplication messages with different bodies are all delivered.",
		byContent, []sent{{"one", "g", ""}, {"two", "g", ""}}, "one", "two"),
	deduplicates("id-over-content", api("SendMessage"), "A MessageDeduplicationId overrides the one that content-based deduplication would make.",
		byContent, []sent{{"same", "g", "1"}, {"same", "g", "2"}}, "same", "same"),
	check("deduplication/id-equals-content", api("SendMessage"),
		"The id that content-based deduplication makes is the SHA-256 of the body, and equal to the same id given.", func(e *env) {
			q := e.fifo("ContentBasedDeduplication", "true", "VisibilityTimeout", "600")
			sum := sha256.Sum256([]byte("first"))
			q.send("first", inGroup("g"))
			q.send("second", inGroup("g"), withID(hex.EncodeToString(sum[:])))
			want(e, "MessageDeduplicationId", q.onlyOne("first").Attributes["MessageDeduplicationId"], hex.EncodeToString(sum[:]))
		}),
	check("deduplication/survives-delete", api("SendMessage"), "A deduplication id is kept track of after its message was received and deleted.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "600")
		q.send("first", inGroup("g"), withID("same"))
		q.delete(q.one())
		q.send("second", inGroup("g"), withID("same"))
		q.none("a duplicate of a message that was deleted")
	}),
	check("deduplication/in-batches", pageExactlyOnce, "Duplicates within a batch are accepted, and delivered once.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "600")
		a, b := entry("a", "first"), entry("b", "second")
		group, id := "g", "same"
		a.MessageGroupId, a.MessageDeduplicationId, b.MessageGroupId, b.MessageDeduplicationId = &group, &id, &group, &id
		q.sendAll(a, b)
		q.onlyOne("first")
	}),
	check("deduplication/of-the-group", api("CreateQueue"), "With DeduplicationScope messageGroup the same id is a duplicate within a group only.", func(e *env) {
		q := e.fifo("DeduplicationScope", "messageGroup", "FifoThroughputLimit", "perMessageGroupId", "VisibilityTimeout", "600")
		q.send("g1", inGroup("g"), withID("same"))
		q.send("h1", inGroup("h"), withID("same"))
		q.send("g2", inGroup("g"), withID("same"))
		want(e, "messages", sorted(q.take(2)), `"g1", "h1"`)
		q.none("a duplicate of the group")
	}).recorded(localStack("2024-05-24", "test_sqs_fifo_message_group_scope_no_throughput_setting[sqs]: that another group's id is no duplicate")),
	check("deduplication/window", pageExactlyOnce, "Five minutes after it was sent a deduplication id can be sent again, and not sooner.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "600")
		q.send("first", inGroup("g"), withID("same"))
		q.delete(q.one())
		e.sleep(4 * time.Minute)
		q.send("second", inGroup("g"), withID("same"))
		q.none("a duplicate four minutes later")
		e.sleep(90 * time.Second)
		q.send("third", inGroup("g"), withID("same"))
		want(e, "the message five and a half minutes later", *q.one().Body, "third")
	}).slow(),
}

// punctuation has the characters other than letters and digits that ids of messages, groups and
// attempts may have.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// tokens returns a check of valid and invalid ids, with which send makes calls.
func tokens(id, operation, parameter string, send func(q *queue, id string) error) Check {
	return check("ids/"+id, api(operation), parameter+" has up to 128 letters, digits and punctuation characters.", func(e *env) {
		q := e.fifo()
		for _, good := range []string{"aZ09", punctuation, strings.Repeat("x", 128)} {
			e.must(parameter+" "+show(good), send(q, good))
		}
		for _, bad := range []string{strings.Repeat("x", 129), "a b", "ä", "tab\t"} {
			e.refused(parameter+" "+show(bad), send(q, bad))
		}
	})
}

var tokenChecks = []Check{
	tokens("group", "SendMessage", "MessageGroupId", func(q *queue, id string) error {
		return q.trySend("a", inGroup(id), withID(fmt.Sprint(len(id))))
	}).recorded(localStack("2025-07-30", "test_send_message_to_standard_queue_with_invalid_message_group_id[too_long], [spaces]")),
	tokens("deduplication", "SendMessage", "MessageDeduplicationId", func(q *queue, id string) error {
		return q.trySend("a", inGroup("g"), withID(id))
	}).recorded(localStack("2025-07-30", "test_message_deduplication_id_invalid[too_long], [spaces]")),
	tokens("attempt", "ReceiveMessage", "ReceiveRequestAttemptId", func(q *queue, id string) error {
		return errOf(q.tryReceive(attempt(id)))
	}).reading(),
}

var attemptChecks = []Check{
	check("attempts/same-messages", api("ReceiveMessage"),
		"A receive with the attempt id of an earlier one returns its messages and receipt handles again.", func(e *env) {
			q := e.group("a", "b")
			q.counts(2, 0, 0)
			first := q.receive(attempt("attempt-1"), waiting(20))
			if len(first) == 0 {
				e.fail("the first receive: want messages, got none")
			}
			again := q.receive(attempt("attempt-1"), waiting(2))
			want(e, "messages of the second receive", bodies(again), bodies(first))
			for i := range first {
				want(e, "ReceiptHandle", *again[i].ReceiptHandle, *first[i].ReceiptHandle)
			}
			q.delete(again[0])
		}),
	check("attempts/other-id", api("ReceiveMessage"), "A receive with another attempt id gets nothing of a group in flight.", func(e *env) {
		q := e.group("a", "b")
		q.one(attempt("attempt-1"))
		q.none("a group in flight, with another attempt id", attempt("attempt-2"))
		q.none("a group in flight, without an attempt id")
	}),
	check("attempts/other-groups", api("ReceiveMessage"), "Messages of other groups can be received between two receives with one attempt id.", func(e *env) {
		q := e.group("a")
		first := q.one(attempt("attempt-1"))
		q.sendTo("h", "b")
		want(e, "of the other group", *q.one().Body, "b")
		want(e, "the retry's messages", bodies(q.receive(attempt("attempt-1"))), show(*first.Body))
	}),
	check("attempts/reset-visibility", api("ReceiveMessage"), "A receive with the attempt id of an earlier one begins the visibility timeout anew.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "4")
		q.sendTo("g", "a")
		q.one(attempt("attempt-1"))
		e.sleep(2 * time.Second)
		began := time.Now()
		want(e, "number of messages of the retry", len(q.receive(attempt("attempt-1"))), 1)
		q.comes(began, 4)
	}),
	check("attempts/five-minutes", api("ReceiveMessage"), "An attempt id counts for five minutes.", func(e *env) {
		q := e.fifo("VisibilityTimeout", "3600")
		q.sendTo("g", "a")
		q.one(attempt("attempt-1"))
		e.sleep(330 * time.Second)
		q.none("an attempt id of five and a half minutes ago", attempt("attempt-1"))
	}).slow(),
}
