package main

import (
	"fmt"
	"maps"
	"slices"
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
		refusedAs[*types.QueueNameExists](e, "CreateQueue with 78", errOf(e.create(q.name, map[string]string{"VisibilityTimeout": "78"})))
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

// unknown ends the check unless err is the error for a queue that does not exist.
func unknown(e *env, operation string, err error) {
	refusedAs[*types.QueueDoesNotExist](e, operation, err)
}

// missing returns the URL of a queue that never existed.
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

// padded returns a name of n characters, unique to this check.
func padded(e *env, n int) string {
	name := e.name() + "-"
	return name + strings.Repeat("x", n-len(name))
}

var nameChecks = []Check{
	check("names/longest", api("CreateQueue"), "A queue name may have 80 characters.", func(e *env) {
		e.must("CreateQueue with a name of 80 characters", errOf(e.create(padded(e, 80), nil)))
	}),
	check("names/too-long", api("CreateQueue"), "A queue name of 81 characters is refused.", func(e *env) {
		e.refused("CreateQueue with a name of 81 characters", errOf(e.create(padded(e, 81), nil)))
	}),
	check("names/empty", api("CreateQueue"), "An empty queue name is refused.", func(e *env) {
		e.refused("CreateQueue with an empty name", errOf(e.create("", nil)))
	}),
	check("names/characters", api("CreateQueue"), "A queue name has letters, digits, hyphens and underscores only.", func(e *env) {
		q, err := e.create(e.name()+"_aZ-09_", nil)
		e.must("CreateQueue with a name in _aZ-09_", err)
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
		e.must("CreateQueue with a FIFO name of 80 characters", errOf(e.create(padded(e, 75)+".fifo", fifo)))
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

// list returns the URLs of the queues with a prefix, from all pages.
func list(e *env, prefix string, pageSize int32) (urls []string, pages int) {
	p := awssqs.NewListQueuesPaginator(e, &awssqs.ListQueuesInput{QueueNamePrefix: &prefix, MaxResults: aws.Int32(pageSize)})
	for p.HasMorePages() {
		page := must(p.NextPage(e.ctx))
		if len(page.QueueUrls) > int(pageSize) {
			e.fail("ListQueues with MaxResults %d: want no more, got %d", pageSize, len(page.QueueUrls))
		}
		urls = append(urls, page.QueueUrls...)
		pages++
	}
	slices.Sort(urls)
	return urls, pages
}

// listed waits until exactly these queues are listed.
func listed(e *env, prefix string, pageSize int32, queues ...*queue) {
	var wanted []string
	for _, q := range queues {
		wanted = append(wanted, *q.url)
	}
	slices.Sort(wanted)
	e.eventually(fmt.Sprintf("a list of %v", wanted), func() (string, bool) {
		got, _ := list(e, prefix, pageSize)
		return fmt.Sprint(got), slices.Equal(got, wanted)
	})
}

var listChecks = []Check{
	check("lists/prefix", api("ListQueues"), "ListQueues returns the queues whose names begin with the prefix, and no others.", func(e *env) {
		a, b := e.queue(), e.queue()
		other := must(e.create("x"+e.name(), nil)) // contains the prefix, but not at the start
		listed(e, e.stem, 1000, a, b)
		listed(e, "x"+e.stem, 1000, other)
	}),
	check("lists/prefix-case", api("ListQueues"), "The prefix of ListQueues is case-sensitive.", func(e *env) {
		q := must(e.create(e.name()+"-case", nil))
		listed(e, q.name, 1000, q)
		listed(e, strings.TrimSuffix(q.name, "case")+"CASE", 1000)
	}),
	check("lists/pages", api("ListQueues"), "With MaxResults ListQueues returns pages that NextToken continues, and each queue once.", func(e *env) {
		var all []*queue
		for range 5 {
			all = append(all, e.queue())
		}
		listed(e, e.stem, 2, all...)
		if _, pages := list(e, e.stem, 2); pages < 3 {
			e.fail("five queues by two: want three pages at least, got %d", pages)
		}
	}),
	check("lists/no-token", api("ListQueues"), "Without MaxResults ListQueues returns no NextToken.", func(e *env) {
		e.queue()
		out := must(e.ListQueues(e.ctx, &awssqs.ListQueuesInput{QueueNamePrefix: &e.stem}))
		want(e, "NextToken", aws.ToString(out.NextToken), "")
	}),
	check("lists/last-page", api("ListQueues"), "NextToken is null when there are no more queues to list.", func(e *env) {
		q := e.queue()
		listed(e, e.stem, 1000, q)
		out := must(e.ListQueues(e.ctx, &awssqs.ListQueuesInput{QueueNamePrefix: &e.stem, MaxResults: aws.Int32(10)}))
		want(e, "NextToken", aws.ToString(out.NextToken), "")
	}),
	check("lists/max-results", api("ListQueues"), "MaxResults of ListQueues is 1 to 1,000.", func(e *env) {
		e.bounds("MaxResults", []int32{1000}, []int32{0, 1001}, func(n int32) error {
			return errOf(e.ListQueues(e.ctx, &awssqs.ListQueuesInput{QueueNamePrefix: &e.stem, MaxResults: &n}))
		})
	}).reading(),
}

// tagged waits until the queue has exactly these tags.
func (q *queue) tagged(tags map[string]string) {
	q.eventually(fmt.Sprintf("the tags %v", tags), func() (string, bool) {
		out := must(q.ListQueueTags(q.ctx, &awssqs.ListQueueTagsInput{QueueUrl: q.url}))
		return fmt.Sprint(out.Tags), maps.Equal(out.Tags, tags)
	})
}

func (q *queue) tag(tags map[string]string) {
	must(q.TagQueue(q.ctx, &awssqs.TagQueueInput{QueueUrl: q.url, Tags: tags}))
}

type tags = map[string]string

// tagging returns a check of a queue's tags after calls of TagQueue.
func tagging(id, must string, wanted tags, calls ...tags) Check {
	return check("tags/"+id, api("TagQueue"), must, func(e *env) {
		q := e.queue()
		for _, given := range calls {
			q.tag(given)
		}
		q.tagged(wanted)
	})
}

var tagChecks = []Check{
	check("tags/none", api("ListQueueTags"), "A queue that was never tagged has no tags.", func(e *env) { e.queue().tagged(nil) }),
	check("tags/at-creation", api("CreateQueue"), "CreateQueue tags the queue.", func(e *env) {
		tags := map[string]string{"team": "shipping", "stage": ""}
		must(e.create(e.name(), nil, func(in *awssqs.CreateQueueInput) { in.Tags = tags })).tagged(tags)
	}),
	tagging("add", "TagQueue adds tags to those that are there.",
		tags{"team": "shipping", "stage": "test"}, tags{"team": "shipping"}, tags{"stage": "test"}),
	tagging("overwrite", "A new tag with the key of an existing one overwrites it.",
		tags{"team": "shipping", "stage": "production"}, tags{"team": "shipping", "stage": "test"}, tags{"stage": "production"}),
	tagging("case", "Tags are case-sensitive.", tags{"team": "a", "Team": "A"}, tags{"team": "a", "Team": "A"}),
	check("tags/remove", api("UntagQueue"), "UntagQueue removes the tags of the keys that it names, and no others.", func(e *env) {
		q := e.queue()
		q.tag(map[string]string{"team": "shipping", "stage": "test", "cost": "1"})
		must(e.UntagQueue(e.ctx, &awssqs.UntagQueueInput{QueueUrl: q.url, TagKeys: []string{"stage", "cost"}}))
		q.tagged(map[string]string{"team": "shipping"})
	}),
}
