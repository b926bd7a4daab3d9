package checks

import (
	"fmt"
	"maps"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// tagged waits until the queue has exactly these tags.
func (q *queue) tagged(tags map[string]string) {
	q.eventually(fmt.Sprintf("the tags %v", tags), func() (string, bool) {
		out, err := q.ListQueueTags(q.ctx, &awssqs.ListQueueTagsInput{QueueUrl: q.url})
		q.must("ListQueueTags", err)
		return fmt.Sprint(out.Tags), maps.Equal(out.Tags, tags)
	})
}

func (q *queue) tag(tags map[string]string) {
	_, err := q.TagQueue(q.ctx, &awssqs.TagQueueInput{QueueUrl: q.url, Tags: tags})
	q.must("TagQueue", err)
}

var tagChecks = []Check{
	{
		ID: "tags/none", Page: api("ListQueueTags"),
		Must: "A queue that was never tagged has no tags.",
		run:  func(e *env) { e.queue().tagged(nil) },
	}, {
		ID: "tags/at-creation", Page: api("CreateQueue"),
		Must: "CreateQueue tags the queue.",
		run: func(e *env) {
			tags := map[string]string{"team": "shipping", "stage": ""}
			q, err := e.create(e.name(), nil, func(in *awssqs.CreateQueueInput) { in.Tags = tags })
			e.must("CreateQueue with tags", err)
			q.tagged(tags)
		},
	}, {
		ID: "tags/add", Page: api("TagQueue"),
		Must: "TagQueue adds tags to those that are there.",
		run: func(e *env) {
			q := e.queue()
			q.tag(map[string]string{"team": "shipping"})
			q.tag(map[string]string{"stage": "test"})
			q.tagged(map[string]string{"team": "shipping", "stage": "test"})
		},
	}, {
		ID: "tags/overwrite", Page: api("TagQueue"),
		Must: "A new tag with the key of an existing one overwrites it.",
		run: func(e *env) {
			q := e.queue()
			q.tag(map[string]string{"team": "shipping", "stage": "test"})
			q.tag(map[string]string{"stage": "production"})
			q.tagged(map[string]string{"team": "shipping", "stage": "production"})
		},
	}, {
		ID: "tags/case", Page: api("TagQueue"),
		Must: "Tags are case-sensitive.",
		run: func(e *env) {
			q := e.queue()
			tags := map[string]string{"team": "a", "Team": "A"}
			q.tag(tags)
			q.tagged(tags)
		},
	}, {
		ID: "tags/remove", Page: api("UntagQueue"),
		Must: "UntagQueue removes the tags of the keys that it names, and no others.",
		run: func(e *env) {
			q := e.queue()
			q.tag(map[string]string{"team": "shipping", "stage": "test", "cost": "1"})
			_, err := e.UntagQueue(e.ctx, &awssqs.UntagQueueInput{QueueUrl: q.url, TagKeys: []string{"stage", "cost"}})
			e.must("UntagQueue", err)
			q.tagged(map[string]string{"team": "shipping"})
		},
	},
}
