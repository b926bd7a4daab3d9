package checks

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

// padded returns a name of n characters that only this check uses.
func padded(e *env, n int) string {
	name := e.name() + "-"
	return name + strings.Repeat("x", n-len(name))
}

var nameChecks = []Check{
	check("names/longest", api("CreateQueue"),
		"A queue name may have 80 characters.", func(e *env) {
			must(e.create(padded(e, 80), nil))
		}),
	check("names/too-long", api("CreateQueue"),
		"A queue name of 81 characters is refused.", func(e *env) {
			e.refused("CreateQueue with a name of 81 characters", errOf(e.create(padded(e, 81), nil)))
		}),
	check("names/empty", api("CreateQueue"),
		"An empty queue name is refused.", func(e *env) {
			e.refused("CreateQueue with an empty name", errOf(e.create("", nil)))
		}),
	check("names/characters", api("CreateQueue"),
		"A queue name has letters, digits, hyphens and underscores only.", func(e *env) {
			q := must(e.create(e.name()+"_aZ-09_", nil))
			for _, bad := range []string{".", " ", "/", "é", "!", ":"} {
				e.refused("CreateQueue with "+show(bad)+" in the name", errOf(e.create(q.name+bad+"a", nil)))
			}
		}),
	check("names/case", api("GetQueueUrl"),
		"Queue names are case-sensitive.", func(e *env) {
			lower := must(e.create(e.name()+"-case", nil))
			upper := must(e.create(strings.TrimSuffix(lower.name, "case")+"CASE", nil))
			lower.send("for the lower case")
			upper.none("the queue of the name in capitals")
			want(e, "body", *lower.one().Body, "for the lower case")
		}),
	check("names/fifo-suffix-required", api("CreateQueue"),
		"The name of a FIFO queue must end in .fifo.", func(e *env) {
			e.refused("CreateQueue with FifoQueue true and a name without .fifo", errOf(e.create(e.name(), map[string]string{"FifoQueue": "true"})))
		}),
	check("names/fifo-suffix-counts", pageIdentifiers,
		"The suffix .fifo counts towards the 80 characters of a name.", func(e *env) {
			fifo := map[string]string{"FifoQueue": "true"}
			must(e.create(padded(e, 75)+".fifo", fifo))
			e.refused("CreateQueue with a FIFO name of 81 characters", errOf(e.create(padded(e, 76)+".fifo", fifo)))
		}),
	check("names/fifo-suffix-alone", api("CreateQueue"),
		"A name with .fifo is none for a standard queue, whose names have no periods.", func(e *env) {
			e.refused("CreateQueue with a name in .fifo and without FifoQueue", errOf(e.create(e.name()+".fifo", nil)))
		}),
	check("names/url-case", api("SendMessage"),
		"Queue URLs are case-sensitive.", func(e *env) {
			q := must(e.create(e.name()+"-case", nil))
			e.refused("SendMessage to the URL with the name in capitals", errOf(e.SendMessage(e.ctx, &awssqs.SendMessageInput{
				QueueUrl: aws.String(strings.TrimSuffix(*q.url, "case") + "CASE"), MessageBody: aws.String("a")})))
		}),
}
