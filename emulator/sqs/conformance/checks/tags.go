package checks

import (
	"fmt"
	"maps"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

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

// tagging is a check of the tags that a queue has after some calls of TagQueue.
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
