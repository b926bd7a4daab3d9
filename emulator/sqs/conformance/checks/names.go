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
	{
		ID: "names/longest", Page: api("CreateQueue"),
		Must: "A queue name may have 80 characters.",
		run: func(e *env) {
			_, err := e.create(padded(e, 80), nil)
			e.must("CreateQueue with a name of 80 characters", err)
		},
	}, {
		ID: "names/too-long", Page: api("CreateQueue"),
		Must: "A queue name of 81 characters is refused.",
		run: func(e *env) {
			_, err := e.create(padded(e, 81), nil)
			e.refused("CreateQueue with a name of 81 characters", err)
		},
	}, {
		ID: "names/empty", Page: api("CreateQueue"),
		Must: "An empty queue name is refused.",
		run: func(e *env) {
			_, err := e.create("", nil)
			e.refused("CreateQueue with an empty name", err)
		},
	}, {
		ID: "names/characters", Page: api("CreateQueue"),
		Must: "A queue name has letters, digits, hyphens and underscores only.",
		run: func(e *env) {
			q, err := e.create(e.name()+"_aZ-09_", nil)
			e.must("CreateQueue with letters, digits, hyphens and underscores", err)
			for _, bad := range []string{".", " ", "/", "é", "!", ":"} {
				_, err := e.create(q.name+bad+"a", nil)
				e.refused("CreateQueue with "+show(bad)+" in the name", err)
			}
		},
	}, {
		ID: "names/case", Page: api("GetQueueUrl"),
		Must: "Queue names are case-sensitive.",
		run: func(e *env) {
			lower, err := e.create(e.name()+"-case", nil)
			e.must("CreateQueue", err)
			upper, err := e.create(strings.TrimSuffix(lower.name, "case")+"CASE", nil)
			e.must("CreateQueue of the name in capitals", err)
			lower.send("for the lower case")
			upper.none("the queue of the name in capitals")
			want(e, "body", *lower.one().Body, "for the lower case")
		},
	}, {
		ID: "names/fifo-suffix-required", Page: api("CreateQueue"),
		Must: "The name of a FIFO queue must end in .fifo.",
		run: func(e *env) {
			_, err := e.create(e.name(), map[string]string{"FifoQueue": "true"})
			e.refused("CreateQueue with FifoQueue true and a name without .fifo", err)
		},
	}, {
		ID: "names/fifo-suffix-counts", Page: pageIdentifiers,
		Must: "The suffix .fifo counts towards the 80 characters of a name.",
		run: func(e *env) {
			fifo := map[string]string{"FifoQueue": "true"}
			_, err := e.create(padded(e, 75)+".fifo", fifo)
			e.must("CreateQueue with a FIFO name of 80 characters", err)
			_, err = e.create(padded(e, 76)+".fifo", fifo)
			e.refused("CreateQueue with a FIFO name of 81 characters", err)
		},
	}, {
		ID: "names/fifo-suffix-alone", Page: api("CreateQueue"),
		Must: "A name with .fifo is none for a standard queue, whose names have no periods.",
		run: func(e *env) {
			_, err := e.create(e.name()+".fifo", nil)
			e.refused("CreateQueue with a name in .fifo and without FifoQueue", err)
		},
	}, {
		ID: "names/url-case", Page: api("SendMessage"),
		Must: "Queue URLs are case-sensitive.",
		run: func(e *env) {
			q, err := e.create(e.name()+"-case", nil)
			e.must("CreateQueue", err)
			_, err = e.SendMessage(e.ctx, &awssqs.SendMessageInput{
				QueueUrl: aws.String(strings.TrimSuffix(*q.url, "case") + "CASE"), MessageBody: aws.String("a")})
			e.refused("SendMessage to the URL with the name in capitals", err)
		},
	},
}
