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

var tagChecks = []Check{
	check("tags/none", api("ListQueueTags"),
		"A queue that was never tagged has no tags.", func(e *env) { e.queue().tagged(nil) }),
	check("tags/at-creation", api("CreateQueue"),
		"CreateQueue tags the queue.", func(e *env) {
			tags := map[string]string{"team": "shipping", "stage": ""}
			must(e.create(e.name(), nil, func(in *awssqs.CreateQueueInput) { in.Tags = tags })).tagged(tags)
		}),
	check("tags/add", api("TagQueue"),
		"TagQueue adds tags to those that are there.", func(e *env) {
			q := e.queue()
			q.tag(map[string]string{"team": "shipping"})
			q.tag(map[string]string{"stage": "test"})
			q.tagged(map[string]string{"team": "shipping", "stage": "test"})
		}),
	check("tags/overwrite", api("TagQueue"),
		"A new tag with the key of an existing one overwrites it.", func(e *env) {
			q := e.queue()
			q.tag(map[string]string{"team": "shipping", "stage": "test"})
			q.tag(map[string]string{"stage": "production"})
			q.tagged(map[string]string{"team": "shipping", "stage": "production"})
		}),
	check("tags/case", api("TagQueue"),
		"Tags are case-sensitive.", func(e *env) {
			q := e.queue()
			tags := map[string]string{"team": "a", "Team": "A"}
			q.tag(tags)
			q.tagged(tags)
		}),
	check("tags/remove", api("UntagQueue"),
		"UntagQueue removes the tags of the keys that it names, and no others.", func(e *env) {
			q := e.queue()
			q.tag(map[string]string{"team": "shipping", "stage": "test", "cost": "1"})
			must(e.UntagQueue(e.ctx, &awssqs.UntagQueueInput{QueueUrl: q.url, TagKeys: []string{"stage", "cost"}}))
			q.tagged(map[string]string{"team": "shipping"})
		}),
}
