package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// list returns the URLs of the queues whose names begin so, page by page.
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
		other := must(e.create("x"+e.name(), nil)) // has the prefix, but does not begin with it
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
		must(e.ListQueues(e.ctx, &awssqs.ListQueuesInput{QueueNamePrefix: &e.stem, MaxResults: aws.Int32(1000)}))
		for _, n := range []int32{0, 1001} {
			err := errOf(e.ListQueues(e.ctx, &awssqs.ListQueuesInput{QueueNamePrefix: &e.stem, MaxResults: &n}))
			e.refused(fmt.Sprintf("ListQueues with MaxResults %d", n), err)
		}
	}).reading(),
}
