package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// queue is a queue of a check, with the most frequent calls.
type queue struct {
	*env
	name string
	url  *string
}

func (q *queue) send(body string, options ...func(*awssqs.SendMessageInput)) *awssqs.SendMessageOutput {
	return must(q.SendMessage(q.ctx, q.message(body, options)))
}

func (q *queue) trySend(body string, options ...func(*awssqs.SendMessageInput)) error {
	return errOf(q.SendMessage(q.ctx, q.message(body, options)))
}

func (q *queue) message(body string, options []func(*awssqs.SendMessageInput)) *awssqs.SendMessageInput {
	return with(&awssqs.SendMessageInput{QueueUrl: q.url, MessageBody: &body}, options)
}

// sendTo sends bodies to a FIFO group. Each body is also the deduplication id.
func (q *queue) sendTo(group string, bodies ...string) {
	for _, body := range bodies {
		q.send(body, inGroup(group), withID(body))
	}
}

func inGroup(group string) func(*awssqs.SendMessageInput) {
	return func(in *awssqs.SendMessageInput) { in.MessageGroupId = &group }
}

func withID(id string) func(*awssqs.SendMessageInput) {
	return func(in *awssqs.SendMessageInput) { in.MessageDeduplicationId = &id }
}

func withAttributes(attributes map[string]types.MessageAttributeValue) func(*awssqs.SendMessageInput) {
	return func(in *awssqs.SendMessageInput) { in.MessageAttributes = attributes }
}

// with applies options to a request and returns it.
func with[In any](in *In, options []func(*In)) *In {
	for _, option := range options {
		option(in)
	}
	return in
}

type receiving = func(*awssqs.ReceiveMessageInput)

func atMost(n int32) receiving {
	return func(in *awssqs.ReceiveMessageInput) { in.MaxNumberOfMessages = n }
}
func waiting(seconds int32) receiving {
	return func(in *awssqs.ReceiveMessageInput) { in.WaitTimeSeconds = seconds }
}
func hidden(seconds int32) receiving {
	return func(in *awssqs.ReceiveMessageInput) { in.VisibilityTimeout = seconds }
}
func attempt(id string) receiving {
	return func(in *awssqs.ReceiveMessageInput) { in.ReceiveRequestAttemptId = &id }
}

func asking(names ...types.MessageSystemAttributeName) receiving {
	return func(in *awssqs.ReceiveMessageInput) { in.MessageSystemAttributeNames = names }
}

// receive receives up to ten messages with all their attributes, in one call.
func (q *queue) receive(options ...receiving) []types.Message {
	out := must(q.tryReceive(options...))
	for _, m := range out {
		if m.Body == nil || m.MessageId == nil || m.ReceiptHandle == nil {
			q.fail("ReceiveMessage: want a message with Body, MessageId and ReceiptHandle, got %+v", m)
		}
	}
	return out
}

func (q *queue) tryReceive(options ...receiving) ([]types.Message, error) {
	out, err := q.ReceiveMessage(q.ctx, with(&awssqs.ReceiveMessageInput{
		QueueUrl: q.url, MaxNumberOfMessages: 10,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
	}, options))
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// take receives exactly n messages, in as many calls as necessary.
func (q *queue) take(n int, options ...receiving) []types.Message {
	var all []types.Message
	deadline := time.Now().Add(q.config.Patience)
	for len(all) < n {
		left := time.Until(deadline)
		if left <= 0 {
			q.fail("want %d messages within %v, got %d: %s", n, q.config.Patience, len(all), bodies(all))
		}
		wait := int32(max(1, min(20, left/time.Second)))
		all = append(all, q.some(append([]receiving{atMost(int32(min(10, n-len(all)))), waiting(wait)}, options...)...)...)
	}
	if len(all) > n {
		q.fail("want %d messages at most, got %d: %s", n, len(all), bodies(all))
	}
	return all
}

// some is like receive, for loops: it pauses after an empty answer of a service that does
// not wait.
func (q *queue) some(options ...receiving) []types.Message {
	got := q.receive(options...)
	if len(got) == 0 {
		q.sleep(50 * time.Millisecond)
	}
	return got
}

// one is like take, for a single message.
func (q *queue) one(options ...receiving) types.Message { return q.take(1, options...)[0] }

// received creates a standard queue with one message, and receives that.
func (e *env) received(attributes ...string) (*queue, types.Message) {
	q := e.queue(attributes...)
	q.send("a")
	return q, q.one()
}

// filled creates a standard queue with these messages and a visibility timeout of ten minutes.
func (e *env) filled(bodies ...string) *queue {
	q := e.queue("VisibilityTimeout", "600")
	for _, body := range bodies {
		q.send(body)
	}
	return q
}

// group is like filled, for a FIFO queue. The messages are in the group g.
func (e *env) group(bodies ...string) *queue {
	q := e.fifo("VisibilityTimeout", "600")
	q.sendTo("g", bodies...)
	return q
}

// none ends the check if a receive with a wait of one second gets a message.
func (q *queue) none(why string, options ...receiving) {
	if got := q.receive(append([]receiving{waiting(1)}, options...)...); len(got) > 0 {
		q.fail("%s: want no message, got %s", why, bodies(got))
	}
}

func bodies(messages []types.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, show(aws.ToString(m.Body)))
	}
	return strings.Join(all, ", ")
}

// sorted returns the bodies in alphabetical order, for queues without an order.
func sorted(messages []types.Message) string {
	ordered := slices.Clone(messages)
	slices.SortFunc(ordered, func(a, b types.Message) int { return strings.Compare(*a.Body, *b.Body) })
	return bodies(ordered)
}

func (q *queue) delete(m types.Message) { q.must("DeleteMessage", q.tryDelete(m)) }

func (q *queue) tryDelete(m types.Message) error {
	return errOf(q.DeleteMessage(q.ctx, &awssqs.DeleteMessageInput{QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle}))
}

func (q *queue) hide(m types.Message, seconds int32) {
	q.must(fmt.Sprintf("ChangeMessageVisibility to %d", seconds), q.tryHide(m, seconds))
}

func (q *queue) tryHide(m types.Message, seconds int32) error {
	return errOf(q.ChangeMessageVisibility(q.ctx, &awssqs.ChangeMessageVisibilityInput{
		QueueUrl: q.url, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds}))
}

func (q *queue) attributes(names ...types.QueueAttributeName) map[string]string {
	if len(names) == 0 {
		names = []types.QueueAttributeName{types.QueueAttributeNameAll}
	}
	return must(q.GetQueueAttributes(q.ctx, &awssqs.GetQueueAttributesInput{QueueUrl: q.url, AttributeNames: names})).Attributes
}

func (q *queue) set(attributes ...string) { q.must("SetQueueAttributes", q.trySet(attributes...)) }

func (q *queue) trySet(attributes ...string) error {
	return errOf(q.SetQueueAttributes(q.ctx, &awssqs.SetQueueAttributesInput{QueueUrl: q.url, Attributes: pairs(attributes)}))
}

// arn returns the queue's ARN from its attributes.
func (q *queue) arn() string {
	arn := q.attributes(types.QueueAttributeNameQueueArn)["QueueArn"]
	if strings.Count(arn, ":") != 5 {
		q.fail("QueueArn: want an ARN, got %q", arn)
	}
	return arn
}

// account returns the account number in the queue's ARN.
func (q *queue) account() string { return strings.Split(q.arn(), ":")[4] }

// counts waits until the queue has these numbers of visible, in-flight and delayed messages.
func (q *queue) counts(visible, inFlight, delayed int) {
	wanted := fmt.Sprintf("%d visible, %d in flight, %d delayed", visible, inFlight, delayed)
	q.eventually("counts of "+wanted, func() (string, bool) {
		all := q.attributes("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")
		got := fmt.Sprintf("%s visible, %s in flight, %s delayed", all["ApproximateNumberOfMessages"],
			all["ApproximateNumberOfMessagesNotVisible"], all["ApproximateNumberOfMessagesDelayed"])
		return got, got == wanted
	})
}

// number returns the value of a numeric system attribute.
func (q *queue) number(m types.Message, name string) int64 {
	n, err := strconv.ParseInt(m.Attributes[name], 10, 64)
	if err != nil {
		q.fail("system attribute %s: want a number, got %q", name, m.Attributes[name])
	}
	return n
}
