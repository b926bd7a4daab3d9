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
	trouble   error // of the latest receive; nil if it succeeded

	ready     chan struct{}
	err       error // why the queue could not be created
	name, url string
	usable    time.Time // end of settling
}

// AliveTag is the tag of a reply queue with the time of the process's latest sign of life, in
// UTC by RFC 3339. `sqsbatch reply sweep` deletes queues whose time is too old.
const AliveTag = "sqsbatch:reply-alive"

const (
	refresh = 5 * time.Minute // interval of AliveTag updates
	// retention is how long the queue keeps an answer that is not received.
	retention = 5 * time.Minute
	// hidden is the queue's visibility timeout. A received answer needs it only until the
	// delete. It is short, since the answers of a receive that broke off are hidden for as
	// long.
	hidden = 2 * time.Second
	// settling is how long a new queue cannot be used (CreateQueue in the API reference).
	settling = time.Second
	// young is how long SQS may still answer that a new queue does not exist.
	young = time.Minute

	receiveWait    = 20 * time.Second // the longest wait that SQS accepts
	receiveTimeout = receiveWait + 10*time.Second
	callTimeout    = 10 * time.Second
	makeTimeout    = 30 * time.Second
	full           = 10 // messages of a full receive
	maxReceivers   = 8

	lasting    = 3                      // failed receives in a row that end the calls
	firstPause = 200 * time.Millisecond // after a failed receive
	lastPause  = 5 * time.Second
)

// Open creates the reply queue, if there is none. Without Open, the first call creates it,
// which takes a second longer. It returns [ErrClosed] after Close.
func (c *Client) Open(ctx context.Context) error {
	_, err := c.open(ctx)
	return err
}

// open returns the reply queue. One goroutine, which lives as long as the queue, creates it
// for all callers.
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

// keep creates a reply queue, and refreshes its AliveTag until Close or until it is deleted.
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

// jittered returns the time to the next tag, with jitter for processes that started together.
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
		return ErrClosed // `sqsbatch reply sweep` deletes the queue if it was created
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

// lost reports whether err means that the queue was deleted.
func (c *Client) lost(q *queue, err error) bool {
	return sqserror.Of(err) == sqserror.NoQueue && time.Since(q.usable) > young
}

// forget ends the calls that wait, so that the next call creates a new queue.
func (c *Client) forget(q *queue, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queue == q && !c.closed {
		c.queue = nil
		c.fail(err)
	}
}

// receive receives answers while calls wait.
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

// receiveOnce receives once, and passes answers to their calls. n is the number of messages.
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
		_, _ = c.sqs.DeleteMessageBatch(ctx, in) // duplicate answers are dropped anyway
	})
	return len(out.Messages), nil
}

// failed records the error of a receive. An error that retries cannot fix ends the calls after
// several receives in a row: they would only wait until their deadlines.
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

// goOn reports whether a receiver continues after it has received n answers. It starts
// another receiver if there may be more answers.
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

// startReceiver starts a receiver. Callers hold the lock.
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
