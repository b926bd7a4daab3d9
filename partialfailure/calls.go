package partialfailure

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Limits of a batch call, see "Amazon SQS batch actions" in the Developer Guide.
const (
	maxEntries = 10
	maxPayload = 1 << 20 // bytes over all messages of a call
)

const (
	// maxCalls bounds an operation's calls under way for one batch. It is above
	// the number of connections that it takes to release a batch of 10,000 within
	// the reserve of a long function.
	maxCalls = 16
	// callTimeout ends a call to an endpoint that does not answer.
	callTimeout = 3 * time.Second
	// maxTries bounds the calls for an entry that fails for a passing reason.
	maxTries   = 3
	retryDelay = 50 * time.Millisecond
	// Bounds of the time between tries while SQS does not answer, or throttles.
	firstDelay = 200 * time.Millisecond
	lastDelay  = 2 * time.Second
	// patience is for how long after the batch's last handler a call is still made
	// again that SQS does not answer. More would cost the time of a function, and
	// one of its places, for nothing but the backoff.
	patience = 5 * time.Second
	// lastWord is left of the time until times.SettleBy when the last try must have
	// begun, so that the batch can say what is wrong.
	lastWord = 20 * time.Millisecond
)

// The operations, by the names of their IAM actions.
const (
	opVisibility = "sqs:ChangeMessageVisibility"
	opSend       = "sqs:SendMessage"
	opDelete     = "sqs:DeleteMessage"
	opAttributes = "sqs:GetQueueAttributes"
)

// lane is how an operation fares in a batch. The settlement's lock guards what is
// no channel.
type lane struct {
	calls   chan struct{} // a token for each call under way
	retry   chan struct{} // the token of the one call that is made again while SQS answers none
	worked  time.Time     // when SQS last answered
	refused bool          // no further call is made
}

// lane returns an operation's. The caller holds the lock.
func (st *Settlement) lane(op string) *lane {
	l := st.lanes[op]
	if l == nil {
		l = &lane{calls: make(chan struct{}, maxCalls), retry: make(chan struct{}, 1)}
		st.lanes[op] = l
	}
	return l
}

// sendFunc makes one call for the entries at some positions, which are also their
// ids: message ids repeat, positions do not. It returns the answer's two lists.
type sendFunc func(ctx context.Context, q queue, left []int) (confirmed []*string, failed []types.BatchResultErrorEntry, err error)

// batchCall is a call, with all its tries and parts.
type batchCall struct {
	*Settlement
	lane     *lane
	op, arn  string
	queue    queue
	send     sendFunc
	errs     []error   // by position
	began    time.Time // the latest try
	retrying bool      // it has the token of lane.retry
}

// call makes a batch call of n entries of the queue arn, to the queue at target (URL or
// ARN; "" for the same), and again for those that failed for a passing reason; where
// SQS refuses it as a whole, for its halves. It returns each entry's error, nil where
// SQS confirmed it.
func (st *Settlement) call(op, arn, target string, n int, send sendFunc) []error {
	target = cmp.Or(target, st.cfg.QueueURL, arn)
	st.mu.Lock()
	c := &batchCall{Settlement: st, lane: st.lane(op), op: op, arn: arn, send: send, errs: make([]error, n)}
	st.mu.Unlock()
	all := make([]int, n)
	for k := range n {
		all[k] = k
	}
	select {
	case c.lane.calls <- struct{}{}:
		defer func() { <-c.lane.calls }()
	case <-st.ctx.Done():
	}
	err := c.ended()
	if err == nil {
		c.queue, err = st.queueAt(st.ctx, target)
	}
	if err != nil {
		c.fail(all, err)
	} else {
		sqserror.Divide(all, c.deliver)
	}
	for _, err := range c.errs {
		if err != nil {
			st.refuse(op, target, err)
		}
	}
	return c.errs
}

// deliver makes the call until SQS has answered it, and then for the entries that
// failed for a passing reason. It returns the entries that its error is about.
//
// A send whose answer was lost is made again as well: a standard dead-letter queue
// may then have the message twice, which is better than not at all.
func (c *batchCall) deliver(left []int) (_ []int, err error) {
	defer c.release()
	for tries, unanswered := 1, 0; ; {
		if ended := c.ended(); ended != nil {
			err = cmp.Or(err, ended)
			c.fail(left, err)
			return left, err
		}
		err = c.try(left)
		switch {
		case errors.Is(err, errTooLate):
			return nil, nil
		case sqserror.Passing(err):
			if !c.waitForAnswer(unanswered) {
				return left, err
			}
			unanswered++
			continue
		}
		c.mu.Lock()
		c.lane.worked = time.Now()
		c.mu.Unlock()
		c.release()
		if err != nil {
			return left, err
		}
		left = slices.DeleteFunc(left, func(k int) bool { return !sqserror.Passing(c.errs[k]) })
		if len(left) == 0 || tries == maxTries || !sleep.For(c.again, retryDelay<<tries) {
			return nil, nil
		}
		tries, unanswered = tries+1, 0
	}
}

// try makes the call once and reads its answer.
func (c *batchCall) try(left []int) error {
	ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
	defer cancel()
	c.began = time.Now()
	confirmed, failed, err := c.send(ctx, c.queue, left)
	if errors.Is(err, errTooLate) {
		return err
	}
	c.fail(left, cmp.Or(err, errNoAnswer)) // unless the answer says otherwise
	throttled := sqserror.ReadAnswer(c.errs, confirmed, failed)
	c.noteCall(len(left), len(confirmed), throttled, err)
	return err
}

func (c *batchCall) fail(left []int, err error) {
	for _, k := range left {
		c.errs[k] = err
	}
}

// ended returns why no call is made any more.
func (c *batchCall) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lane.refused {
		return errRefused
	}
	return c.ctx.Err()
}

// answeredSince reports whether SQS has answered a call of the operation since the
// latest try began.
func (c *batchCall) answeredSince() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.lane.worked.Before(c.began)
}

// waitForAnswer waits a moment before a call is made again that SQS did not answer,
// answered with what cannot be read, or throttled. While SQS answers none of the
// operation's calls, one at a time is made again: an endpoint that is out of reach is
// tried seldom. It returns false when there is no time left.
func (c *batchCall) waitForAnswer(unanswered int) bool {
	if c.op == opDelete && c.cfg.Delete == DeleteAlways {
		return false // a long poll makes them again by itself, and must know soon that none works
	}
	if !c.retrying {
		select {
		case c.lane.retry <- struct{}{}:
			c.retrying = true
			if c.answeredSince() { // this call alone fails
				c.release()
			}
		case <-c.again.Done():
		}
	}
	delay := min(firstDelay<<min(unanswered, 10), lastDelay)
	if sleep.For(c.again, delay/2+rand.N(delay/2+1)) {
		return true
	}
	if !c.answeredSince() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lane.refused = true // the time is over for those that wait, too
	}
	return false
}

// release lets another call be made again.
func (c *batchCall) release() {
	if c.retrying {
		c.retrying = false
		<-c.lane.retry
	}
}

// idOf is the id of the entry at a position.
func idOf(k int) *string { return aws.String(strconv.Itoa(k)) }

// idsOf returns the ids of the entries that an answer confirms.
func idsOf[E any](confirmed []E, id func(E) *string) []*string {
	ids := make([]*string, len(confirmed))
	for i, e := range confirmed {
		ids[i] = id(e)
	}
	return ids
}

var (
	// errTooLate ends the tries of a call for whose entries there is no time left.
	errTooLate = errors.New("too late for another try")
	// errNoAnswer is the error of an entry that SQS did not mention.
	errNoAnswer = errors.New("SQS's answer does not mention the entry")
	errRefused  = errors.New("not called: SQS refused the same before")
)
