package checks

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

var queueChecks = []Check{
	check("queues/url", pageIdentifiers, "A queue's URL ends in the account's number and the queue's name.", func(e *env) {
		q := e.queue()
		if end := "/" + q.account() + "/" + q.name; !strings.HasSuffix(*q.url, end) {
			e.fail("QueueUrl: want it to end in %s, got %s", end, *q.url)
		}
	}),
	check("queues/get-url", api("GetQueueUrl"), "GetQueueUrl returns the URL that CreateQueue returned.", func(e *env) {
		q := e.queue()
		out := must(e.GetQueueUrl(e.ctx, &awssqs.GetQueueUrlInput{QueueName: &q.name}))
		want(e, "QueueUrl", aws.ToString(out.QueueUrl), *q.url)
	}),
	check("queues/get-url-unknown", api("GetQueueUrl"), "GetQueueUrl of a queue that does not exist is QueueDoesNotExist.", func(e *env) {
		_, err := e.GetQueueUrl(e.ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String(e.name())})
		refusedAs[*types.QueueDoesNotExist](e, "GetQueueUrl", err)
	}),
	check("queues/create-again", api("CreateQueue"), "CreateQueue with the name and the attributes of an existing queue returns its URL.", func(e *env) {
		attributes := []string{"VisibilityTimeout", "77", "DelaySeconds", "3"}
		q := e.queue(attributes...)
		again := must(e.create(q.name, pairs(attributes)))
		want(e, "QueueUrl", *again.url, *q.url)
	}),
	check("queues/create-conflict", api("CreateQueue"), "CreateQueue of an existing name with another value of an attribute is QueueNameExists.", func(e *env) {
		q := e.queue("VisibilityTimeout", "77")
		_, err := e.create(q.name, pairs([]string{"VisibilityTimeout", "78"}))
		refusedAs[*types.QueueNameExists](e, "CreateQueue with VisibilityTimeout 78 instead of 77", err)
		want(e, "VisibilityTimeout after the refusal", q.attributes()["VisibilityTimeout"], "77")
	}),
	check("queues/delete", api("DeleteQueue"), "A queue that was deleted, with messages in it, does not exist any more.", func(e *env) {
		q := e.filled("left behind")
		must(e.DeleteQueue(e.ctx, &awssqs.DeleteQueueInput{QueueUrl: q.url}))
		e.eventually("QueueDoesNotExist from ReceiveMessage", func() (string, bool) {
			_, err := q.tryReceive()
			return errorText(err), err != nil && isNoQueue(err)
		})
		refusedAs[*types.QueueDoesNotExist](e, "GetQueueUrl", errOf(e.GetQueueUrl(e.ctx, &awssqs.GetQueueUrlInput{QueueName: &q.name})))
	}),
	check("queues/recreate-at-once", api("CreateQueue"), "CreateQueue within 60 seconds of deleting a queue of that name is QueueDeletedRecently.", func(e *env) {
		q := e.queue()
		must(e.DeleteQueue(e.ctx, &awssqs.DeleteQueueInput{QueueUrl: q.url}))
		refusedAs[*types.QueueDeletedRecently](e, "CreateQueue", errOf(e.create(q.name, nil)))
	}).recorded(localStack("2024-04-30", "test_create_queue_recently_deleted[sqs]")),
	check("queues/recreate-later", api("DeleteQueue"), "60 seconds after a queue was deleted its name is free, and the new queue is empty.", func(e *env) {
		q := e.filled("of the old queue")
		must(e.DeleteQueue(e.ctx, &awssqs.DeleteQueueInput{QueueUrl: q.url}))
		e.sleep(65 * time.Second)
		again := must(e.create(q.name, nil))
		again.none("a queue that was created anew")
	}).slow(),
	check("queues/unknown-messages", api("SendMessage"), "Every call for messages of a queue that does not exist is QueueDoesNotExist.", func(e *env) {
		url, handle := missing(e), aws.String("AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a")
		unknown(e, "SendMessage", errOf(e.SendMessage(e.ctx, &awssqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("a")})))
		unknown(e, "ReceiveMessage", errOf(e.ReceiveMessage(e.ctx, &awssqs.ReceiveMessageInput{QueueUrl: url})))
		unknown(e, "DeleteMessage", errOf(e.DeleteMessage(e.ctx, &awssqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: handle})))
		unknown(e, "ChangeMessageVisibility", errOf(e.ChangeMessageVisibility(e.ctx, &awssqs.ChangeMessageVisibilityInput{QueueUrl: url, ReceiptHandle: handle, VisibilityTimeout: 1})))
		unknown(e, "PurgeQueue", errOf(e.PurgeQueue(e.ctx, &awssqs.PurgeQueueInput{QueueUrl: url})))
	}),
	check("queues/unknown-batches", api("SendMessageBatch"),
		"Every batch call on a queue that does not exist is QueueDoesNotExist, not a failure of its entries.", func(e *env) {
			for _, batch := range batchCalls {
				unknown(e, batch.name, batch.call(e, missing(e), "a"))
			}
		}),
	check("queues/unknown-settings", api("GetQueueAttributes"),
		"Every call for a queue that does not exist, its attributes or its tags, is QueueDoesNotExist.", func(e *env) {
			url := missing(e)
			unknown(e, "GetQueueAttributes", errOf(e.GetQueueAttributes(e.ctx, &awssqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: []types.QueueAttributeName{"All"}})))
			unknown(e, "SetQueueAttributes", errOf(e.SetQueueAttributes(e.ctx, &awssqs.SetQueueAttributesInput{QueueUrl: url, Attributes: map[string]string{"DelaySeconds": "1"}})))
			unknown(e, "DeleteQueue", errOf(e.DeleteQueue(e.ctx, &awssqs.DeleteQueueInput{QueueUrl: url})))
			unknown(e, "ListDeadLetterSourceQueues", errOf(e.ListDeadLetterSourceQueues(e.ctx, &awssqs.ListDeadLetterSourceQueuesInput{QueueUrl: url})))
			unknown(e, "TagQueue", errOf(e.TagQueue(e.ctx, &awssqs.TagQueueInput{QueueUrl: url, Tags: map[string]string{"a": "b"}})))
			unknown(e, "UntagQueue", errOf(e.UntagQueue(e.ctx, &awssqs.UntagQueueInput{QueueUrl: url, TagKeys: []string{"a"}})))
			unknown(e, "ListQueueTags", errOf(e.ListQueueTags(e.ctx, &awssqs.ListQueueTagsInput{QueueUrl: url})))
		}),
}

// unknown ends the check unless a call for a queue that does not exist was refused as such.
func unknown(e *env, operation string, err error) {
	refusedAs[*types.QueueDoesNotExist](e, operation, err)
}

// missing returns the URL of a queue that never was.
func missing(e *env) *string {
	q := e.queue()
	return aws.String(strings.TrimSuffix(*q.url, q.name) + e.name())
}

func errorText(err error) string {
	if err == nil {
		return "success"
	}
	return err.Error()
}

// padded returns a name of n characters that only this check uses.
func padded(e *env, n int) string {
	name := e.name() + "-"
	return name + strings.Repeat("x", n-len(name))
}

var nameChecks = []Check{
	check("names/longest", api("CreateQueue"), "A queue name may have 80 characters.", func(e *env) {
		must(e.create(padded(e, 80), nil))
	}),
	check("names/too-long", api("CreateQueue"), "A queue name of 81 characters is refused.", func(e *env) {
		e.refused("CreateQueue with a name of 81 characters", errOf(e.create(padded(e, 81), nil)))
	}),
	check("names/empty", api("CreateQueue"), "An empty queue name is refused.", func(e *env) {
		e.refused("CreateQueue with an empty name", errOf(e.create("", nil)))
	}),
	check("names/characters", api("CreateQueue"), "A queue name has letters, digits, hyphens and underscores only.", func(e *env) {
		q := must(e.create(e.name()+"_aZ-09_", nil))
		for _, bad := range []string{".", " ", "/", "é", "!", ":"} {
			e.refused("CreateQueue with "+show(bad)+" in the name", errOf(e.create(q.name+bad+"a", nil)))
		}
	}),
	check("names/case", api("GetQueueUrl"), "Queue names are case-sensitive.", func(e *env) {
		lower := must(e.create(e.name()+"-case", nil))
		upper := must(e.create(strings.TrimSuffix(lower.name, "case")+"CASE", nil))
		lower.send("for the lower case")
		upper.none("the queue of the name in capitals")
		want(e, "body", *lower.one().Body, "for the lower case")
	}),
	check("names/fifo-suffix-required", api("CreateQueue"), "The name of a FIFO queue must end in .fifo.", func(e *env) {
		e.refused("CreateQueue with FifoQueue true and a name without .fifo", errOf(e.create(e.name(), map[string]string{"FifoQueue": "true"})))
	}),
	check("names/fifo-suffix-counts", pageIdentifiers, "The suffix .fifo counts towards the 80 characters of a name.", func(e *env) {
		fifo := map[string]string{"FifoQueue": "true"}
		must(e.create(padded(e, 75)+".fifo", fifo))
		e.refused("CreateQueue with a FIFO name of 81 characters", errOf(e.create(padded(e, 76)+".fifo", fifo)))
	}),
	check("names/fifo-suffix-alone", api("CreateQueue"), "A name with .fifo is none for a standard queue, whose names have no periods.", func(e *env) {
		e.refused("CreateQueue with a name in .fifo and without FifoQueue", errOf(e.create(e.name()+".fifo", nil)))
	}),
	check("names/url-case", api("SendMessage"), "Queue URLs are case-sensitive.", func(e *env) {
		q := must(e.create(e.name()+"-case", nil))
		e.refused("SendMessage to the URL with the name in capitals", errOf(e.SendMessage(e.ctx, &awssqs.SendMessageInput{
			QueueUrl: aws.String(strings.TrimSuffix(*q.url, "case") + "CASE"), MessageBody: aws.String("a")})))
	}),
}
