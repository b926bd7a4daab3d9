package reply

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// queue is a reply queue. The client's lock guards the first fields. The others do not change
// after ready is closed.
type queue struct {
	receivers int
	trouble   error // of the latest receive

	ready     chan struct{}
	err       error // the queue could not be made
	name, url string
	usable    time.Time // since when
}

// AliveTag is the tag of a reply queue with the time at which its process last said that it
// lives, in UTC by RFC 3339. `sqsbatch reply sweep` deletes queues by it.
const AliveTag = "sqsbatch:reply-alive"

const (
	refresh = 5 * time.Minute // between two settings of AliveTag
	// retention is how long the queue keeps an answer that is not received.
	retention = 5 * time.Minute
	// hidden is how long an answer is hidden after a receive. Received answers need no more
	// time than their delete takes. It is short, since answers of a receive that breaks off
	// are lost for as long.
	hidden = 2 * time.Second
	// settling is how long a new queue cannot be used (CreateQueue in the API reference).
	settling = time.Second
	// young is for how long SQS may still say of a new queue that there is none.
	young = time.Minute

	receiveWait    = 20 * time.Second // the longest that SQS takes
	receiveTimeout = receiveWait + 10*time.Second
	callTimeout    = 10 * time.Second
	makeTimeout    = 30 * time.Second
	full           = 10 // messages, the most that a receive returns
	maxReceivers   = 8

	lasting    = 3                      // failures in a row
	firstPause = 200 * time.Millisecond // after a receive that failed
	lastPause  = 5 * time.Second
)

// Open makes the reply queue, if there is none. Otherwise the first call does, which takes a
// second longer.
func (c *Client) Open(ctx context.Context) error {
	_, err := c.open(ctx)
	return err
}

// open returns the reply queue. It is made once for all who wait, by a goroutine that lives
// as long as the queue.
func (c *Client) open(ctx context.Context) (*queue, error) {
	c.mu.Lock()
	q, closed := c.queue, c.closed
	switch {
	case closed:
		c.mu.Unlock()
		return nil, ErrClosed
	case q == nil:
		name := c.cfg.Prefix + c.cfg.Name + "-" + strconv.FormatUint(rand.Uint64(), 36)
		q = &queue{name: name, ready: make(chan struct{})}
		c.queue = q
		c.tasks.Go(func() { c.keep(q) })
	}
	c.mu.Unlock()
	select {
	case <-q.ready:
		return q, q.err
	case <-ctx.Done():
		return nil, fmt.Errorf("reply: the reply queue %s is not ready: %w", q.name, context.Cause(ctx))
	}
}

// keep makes a reply queue, and keeps it alive until Close or until it is gone.
func (c *Client) keep(q *queue) {
	if q.err = c.make(q); q.err != nil {
		c.forget(q, q.err)
		close(q.ready)
		return
	}
	close(q.ready)
	for wait := jittered(); sleep.For(c.ctx, wait); {
		err := c.tag(q)
		switch wait = jittered(); {
		case c.lost(q, err):
			c.forget(q, ErrQueueGone)
			return
		case err != nil:
			wait /= 5
		}
	}
}

// jittered is the time to the next tag. Processes that started together do not call together.
func jittered() time.Duration { return refresh - rand.N(refresh/10) }

func (c *Client) make(q *queue) error {
	in := &sqs.CreateQueueInput{
		QueueName:  &q.name,
		Attributes: map[string]string{"MessageRetentionPeriod": seconds(retention), "VisibilityTimeout": seconds(hidden)},
		Tags:       map[string]string{AliveTag: now()},
	}
	maps.Copy(in.Attributes, c.cfg.Attributes)
	maps.Copy(in.Tags, c.cfg.Tags)
	ctx, cancel := context.WithTimeout(c.ctx, makeTimeout)
	defer cancel()
	out, err := c.sqs.CreateQueue(ctx, in)
	for tries := 1; sqserror.Passing(err) && sleep.For(ctx, sleep.Backoff(tries, firstPause, lastPause)); tries++ {
		out, err = c.sqs.CreateQueue(ctx, in) // the SDK has tried three times
	}
	switch {
	case c.ctx.Err() != nil:
		return ErrClosed // a queue that was made all the same is swept
	case err != nil:
		return fmt.Errorf("reply: the reply queue %s cannot be made: %s: %w", q.name, sqserror.Advice(err, "sqs:CreateQueue and sqs:TagQueue", q.name), err)
	}
	q.url, q.usable = aws.ToString(out.QueueUrl), time.Now().Add(settling)
	sleep.For(c.ctx, settling)
	return nil
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

func (c *Client) tag(q *queue) error {
	ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
	defer cancel()
	_, err := c.sqs.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: &q.url, Tags: map[string]string{AliveTag: now()}})
	return err
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// lost reports whether an error says that the queue was deleted.
func (c *Client) lost(q *queue, err error) bool {
	return sqserror.Of(err) == sqserror.NoQueue && time.Since(q.usable) > young
}

// forget ends the calls that wait, and has the next one make a new queue.
func (c *Client) forget(q *queue, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue == q && !c.closed {
		c.queue = nil
		c.fail(err)
	}
}

// receive is a receiver. It receives while calls wait.
func (c *Client) receive(q *queue) {
	failures := 0
	for {
		n, err := c.receiveOnce(q)
		if err == nil {
			failures = 0
		} else if failures++; c.ctx.Err() == nil {
			c.failed(q, err, failures)
			sleep.For(c.ctx, sleep.Backoff(failures, firstPause, lastPause))
		}
		if !c.goOn(q, n, err) {
			return
		}
	}
}

// receiveOnce delivers what it receives.
func (c *Client) receiveOnce(q *queue) (n int, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, receiveTimeout)
	defer cancel()
	out, err := c.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: full, WaitTimeSeconds: int32(receiveWait / time.Second),
		MessageAttributeNames: []string{answerAttribute},
	}, sqscall.Once)
	if err != nil || len(out.Messages) == 0 {
		return 0, err
	}
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &q.url}
	for i, m := range out.Messages {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
		var a answer
		if json.Unmarshal([]byte(aws.ToString(m.MessageAttributes[answerAttribute].StringValue)), &a) == nil {
			c.finish(a.ID, outcome{answer: a, body: aws.ToString(m.Body)})
		}
	}
	c.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
		defer cancel()
		_, _ = c.sqs.DeleteMessageBatch(ctx, in) // an answer that comes again is dropped
	})
	return len(out.Messages), nil
}

// failed notes the error of a receive. One that lasts, and has come several times, ends the
// calls, which would only wait until their deadline.
func (c *Client) failed(q *queue, err error, times int) {
	trouble := fmt.Errorf("reply: answers cannot be received from %s: %s: %w", q.name, sqserror.Advice(err, "sqs:ReceiveMessage", q.name), err)
	switch {
	case c.lost(q, err):
		c.forget(q, ErrQueueGone)
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		q.trouble = trouble
		if times >= lasting && c.queue == q && sqserror.Lasts(err) && sqserror.Of(err) != sqserror.NoQueue {
			c.fail(trouble)
		}
	}
}

// goOn reports whether a receiver goes on after it has received n answers. Another one
// starts if there may be more.
func (c *Client) goOn(q *queue, n int, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		q.trouble = nil
	}
	if c.closed || c.queue != q || len(c.calls) == 0 || n == 0 && q.receivers > 1 {
		q.receivers--
		return false
	}
	if n == full && q.receivers < maxReceivers {
		c.startReceiver(q)
	}
	return true
}

// startReceiver is called with the lock.
func (c *Client) startReceiver(q *queue) {
	q.receivers++
	c.tasks.Go(func() { c.receive(q) })
}

func (c *Client) delete(ctx context.Context, q *queue) error {
	_, err := c.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &q.url})
	if err == nil || sqserror.Of(err) == sqserror.NoQueue {
		return nil
	}
	return fmt.Errorf("reply: the reply queue %s was not deleted (`sqsbatch reply sweep` will): %s: %w", q.name, sqserror.Advice(err, "sqs:DeleteQueue", q.name), err)
}
