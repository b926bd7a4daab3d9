package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// endpoint is one of the two servers.
type endpoint struct {
	name   string
	url    string
	client *sqs.Client
}

// newEndpoint speaks to the server at url with AWS's SDK, which repeats nothing:
// a second try would be a second operation.
func newEndpoint(name, url string, transport http.RoundTripper) endpoint {
	return endpoint{name: name, url: url, client: sqs.New(sqs.Options{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(url),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:   &http.Client{Transport: transport},
		Retryer:      aws.NopRetryer{},
	})}
}

// session is one run of a sequence on one server, with what operations need to
// know of earlier answers.
type session struct {
	endpoint
	prefix string // of its queues' names
	fifo   bool
	phase  time.Duration
	began  time.Time

	urls      map[int]string
	others    []string            // URLs of queues that the sequence has no number for
	receipts  map[string][]string // handles by queue and message, oldest first
	handles   map[string]bool     // all that were ever given out
	ids       map[string]string   // message id to the message's body
	sequences map[string]string   // sequence number to the message's body
	latest    map[string]string   // highest sequence number by queue and group
	untold    map[string]bool     // messages whose send was answered without a sequence number
	ownSide   bool                // a call failed for errOwnSide
}

// errLate is a run that did not keep to the timetable, by no one's fault.
var errLate = errors.New("the machine was too slow for the timetable")

// errOwnSide is an answer that was not read to its end because the connection
// was closed on the client's side, which no server can do: one that closes it is
// seen as the end of the stream, or a reset. Go's client does it now and then on
// a loaded machine, why is not known. It is done again, as a late run is.
var errOwnSide = fmt.Errorf("the client closed its connection: %w", errLate)

// countsAfter is how long before the numbers of messages count what was just
// done: ElasticMQ takes what was sent within the millisecond for delayed, and
// AWS promises them only some time after everything has stopped.
const countsAfter = 5 * time.Millisecond

// run does the sequence's operations on queues whose names begin with prefix,
// and returns one answer for each.
func (e endpoint) run(ctx context.Context, s sequence, prefix string) ([]answer, error) {
	n := &session{
		endpoint: e, prefix: prefix, fifo: s.fifo, phase: s.phase(),
		began: time.Now().Truncate(time.Millisecond), // servers' timestamps have milliseconds
		urls:  map[int]string{}, receipts: map[string][]string{}, handles: map[string]bool{},
		ids: map[string]string{}, sequences: map[string]string{}, latest: map[string]string{}, untold: map[string]bool{},
	}
	defer n.cleanUp(ctx)
	var answers []answer
	now := n.began // when this phase began
	for _, o := range s.operations {
		if time.Since(now) > s.budget() {
			return nil, errLate
		}
		if o.Name == "Pause" {
			answers = append(answers, answer{})
		} else {
			if o.Name == "GetQueueAttributes" {
				if !sleep.For(ctx, countsAfter) {
					return nil, ctx.Err()
				}
			}
			answers = append(answers, n.do(ctx, s.call(o)))
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if n.ownSide {
			return nil, errOwnSide
		}
		if o.phases() == 0 {
			if time.Since(now) > s.budget() {
				return nil, errLate
			}
			continue
		}
		now = now.Add(time.Duration(o.phases()) * n.phase)
		if time.Now().After(now) { // a receive waited into the next phase
			return nil, errLate
		}
		if !sleep.Until(ctx, now) {
			return nil, ctx.Err()
		}
	}
	return answers, nil
}

// cleanUp deletes the session's queues, so that the servers stay small.
func (n *session) cleanUp(ctx context.Context) {
	for _, url := range append(slices.Collect(maps.Values(n.urls)), n.others...) {
		_, _ = n.client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: aws.String(url)}) // it may be gone
	}
}

// queueName is the name of the session's queue of that number.
func (n *session) queueName(number int) string {
	name := fmt.Sprintf("%s-%d", n.prefix, number)
	if n.fifo {
		name += ".fifo"
	}
	return name
}

func (n *session) queueURL(o operation) *string {
	if o.NoQueue {
		return aws.String(n.url + "/000000000000/" + n.prefix + "-none")
	}
	if url, ok := n.urls[o.Queue]; ok {
		return aws.String(url)
	}
	return aws.String(n.url + "/000000000000/" + n.queueName(o.Queue))
}

// chosenName is the name that an operation asks by.
func (n *session) chosenName(o operation) *string {
	if o.QueueName != "" {
		name := strings.ReplaceAll(o.QueueName, "{prefix}", n.prefix)
		for _, length := range []int{80, 81} {
			padded := n.prefix + strings.Repeat("x", max(0, length-len(n.prefix)))
			name = strings.ReplaceAll(name, fmt.Sprintf("{prefix:%d}", length), padded)
		}
		return aws.String(name)
	}
	return aws.String(n.queueName(o.Queue))
}

const arnPrefix = "arn:aws:sqs:us-east-1:000000000000:"

// expand puts queues' ARNs into attributes.
func (n *session) expand(attributes map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range attributes {
		for number := range 2 {
			value = strings.ReplaceAll(value, fmt.Sprintf("{arn:%d}", number), arnPrefix+n.queueName(number))
		}
		out[name] = value
	}
	return out
}

// generic replaces in a text what is the session's own: names, and addresses.
func (n *session) generic(text string) string {
	text = strings.ReplaceAll(text, n.url+"/000000000000/", "{url}")
	text = strings.ReplaceAll(text, arnPrefix, "{arn}")
	return strings.ReplaceAll(text, n.prefix, "{prefix}")
}

// when says in which phase a server's timestamp is.
func (n *session) when(at time.Time) string {
	since := at.Sub(n.began)
	if since < 0 {
		return "before the run"
	}
	return fmt.Sprintf("in phase %d", since/n.phase)
}

func (n *session) receiptKey(queue int, of string) string { return fmt.Sprint(queue, " ", of) }

// handle resolves a receipt; ok is false when no such message was received.
func (n *session) handle(queue int, r receipt) (handle string, ok bool) {
	if r.Handle != "" {
		return r.Handle, true
	}
	if r.Elsewhere {
		queue = 1 - queue
	}
	handles := n.receipts[n.receiptKey(queue, r.Of)]
	if len(handles) == 0 {
		return "", false
	}
	if r.First {
		return handles[0], true
	}
	return handles[len(handles)-1], true
}
