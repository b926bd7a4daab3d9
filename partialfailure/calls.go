package partialfailure

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
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
	// burialPatience is how long a group waits for a burial, whose calls are then
	// made again beside it. It is more than a settlement of a long poll has.
	burialPatience = 12 * time.Second
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

// actions are the operations as calls.
var actions = map[string]string{
	opVisibility: "ChangeMessageVisibilityBatch",
	opSend:       "SendMessageBatch",
	opDelete:     "DeleteMessageBatch",
	opAttributes: "GetQueueAttributes",
}

// answer is what one batch call said of its entries.
type answer struct {
	ok     []string
	failed []types.BatchResultErrorEntry
}

// lane is how an operation fares in a batch. The settlement's lock guards what is
// no channel.
type lane struct {
	calls   chan struct{} // a token for each call under way
	probe   chan struct{} // the token of the one call that is made again while SQS answers none
	worked  time.Time     // when SQS last answered
	refused bool          // no further call is made
}

func (st *Settlement) lane(op string) *lane {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.lanes == nil {
		st.lanes = make(map[string]*lane, 1)
	}
	l := st.lanes[op]
	if l == nil {
		l = &lane{calls: make(chan struct{}, maxCalls), probe: make(chan struct{}, 1)}
		st.lanes[op] = l
	}
	return l
}

// call makes a batch call of n entries of the queue arn to the queue arnOrURL, and
// again for those that failed for a passing reason; where SQS refuses it as a
// whole, for its halves. send is given the positions of the entries to send, which
// are also their ids: message ids repeat, positions do not. It returns each entry's
// error, nil where SQS confirmed it.
func (st *Settlement) call(op, arn, arnOrURL string, n int, send func(ctx context.Context, q queue, left []int) (answer, error)) []error {
	errs, all := make([]error, n), make([]int, n)
	for k := range n {
		all[k] = k
	}
	fail := func(left []int, err error) error { // until there is an answer
		for _, k := range left {
			errs[k] = cmp.Or(err, errNoAnswer)
		}
		return err
	}
	l := st.lane(op)
	select {
	case l.calls <- struct{}{}:
		defer func() { <-l.calls }()
	case <-st.ctx.Done():
	}
	if st.isRefused(l) {
		_ = fail(all, errRefused)
		return errs
	}
	q, err := st.queueAt(st.ctx, arnOrURL)
	if err != nil {
		_ = fail(all, err)
	} else {
		again := st.again
		if op == opDelete && st.cfg.Delete == DeleteAlways {
			again = never // a long poll makes them again by itself, and must know soon that none works
		}
		sqserror.Divide(all, func(left []int) ([]int, error) {
			for try := 1; ; try++ {
				a, err := st.answered(again, l, func() (answer, error) {
					ctx, cancel := context.WithTimeout(st.ctx, callTimeout)
					defer cancel()
					began := time.Now()
					a, err := send(ctx, q, left)
					if errors.Is(err, errTooLate) {
						return a, err
					}
					st.made(op, arn, q.url, began, len(left), a, err)
					return a, fail(left, err)
				})
				if err != nil {
					return left, fail(left, err)
				}
				left = a.read(errs, left[:0])
				if len(left) == 0 || try == maxTries || !sleep.For(st.again, retryDelay<<try) {
					return nil, nil
				}
			}
		})
	}
	for _, err := range errs {
		if err != nil {
			st.refuse(op, arnOrURL, err)
		}
	}
	return errs
}

// answered makes a call, and makes it again a moment later while SQS does not
// answer it, answers what cannot be read, throttles or has trouble of its own,
// until the context again ends. While SQS answers none of the operation's calls,
// one at a time is made again: an endpoint that is out of reach is tried seldom.
func (st *Settlement) answered(again context.Context, l *lane, call func() (answer, error)) (a answer, err error) {
	probing := false
	defer func() {
		if probing {
			<-l.probe
		}
	}()
	for tries := 0; ; tries++ {
		if st.isRefused(l) {
			return a, cmp.Or(err, errRefused)
		}
		if ended := st.ctx.Err(); ended != nil {
			return a, cmp.Or(err, ended)
		}
		began, before := time.Now(), err
		a, err = call()
		if errors.Is(err, errTooLate) {
			return a, before
		}
		if !sqserror.Passing(err) {
			st.mu.Lock()
			defer st.mu.Unlock()
			l.worked = time.Now()
			return a, err
		}
		if !probing {
			select {
			case l.probe <- struct{}{}:
				if probing = !st.worked(l, began); !probing { // this call alone fails
					<-l.probe
				}
			case <-again.Done():
			}
		}
		delay := min(firstDelay<<min(tries, 10), lastDelay)
		if !sleep.For(again, delay/2+rand.N(delay/2+1)) {
			if st.again.Err() != nil && !st.worked(l, began) {
				st.stop(l) // the time is over for those that wait, too
			}
			return a, err
		}
	}
}

// worked reports whether SQS has answered a call of the operation since.
func (st *Settlement) worked(l *lane, since time.Time) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return !l.worked.Before(since)
}

// answerOf makes an answer of an operation's two lists.
func answerOf[S any](ok []S, id func(S) *string, failed []types.BatchResultErrorEntry) answer {
	a := answer{ok: make([]string, len(ok)), failed: failed}
	for i, s := range ok {
		a.ok[i] = aws.ToString(id(s))
	}
	return a
}

// read takes over what a call said, and returns the entries worth another try.
func (a answer) read(errs []error, again []int) []int {
	for _, id := range a.ok {
		if k, err := strconv.Atoi(id); err == nil && k >= 0 && k < len(errs) {
			errs[k] = nil
		}
	}
	for _, f := range a.failed {
		k, err := strconv.Atoi(aws.ToString(f.Id))
		if err != nil || k < 0 || k >= len(errs) {
			continue
		}
		errs[k] = sqserror.OfEntry(f)
		if sqserror.Passing(errs[k]) {
			again = append(again, k)
		}
	}
	return again
}

// never is a context that has ended.
var never = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// errTooLate ends the tries of a call for whose entries there is no time left.
var errTooLate = errors.New("too late for another try")

// errNoAnswer is the error of an entry that SQS did not mention.
var errNoAnswer = errors.New("SQS's answer does not mention the entry")
