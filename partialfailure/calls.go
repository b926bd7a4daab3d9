package partialfailure

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// Limits of a batch call, see "Amazon SQS batch actions" in the Developer Guide.
const (
	maxEntries = 10
	maxPayload = 1 << 20 // bytes over all messages of a call
)

const (
	// maxCalls bounds the calls under way for one batch. It is above the
	// number of connections that it takes to release a batch of 10,000 within
	// the reserve of a long function.
	maxCalls = 16
	// callTimeout ends a call to an endpoint that does not answer.
	callTimeout = 3 * time.Second
	// maxTries bounds the calls for an entry that fails for a passing reason.
	maxTries   = 3
	retryDelay = 50 * time.Millisecond
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

// call makes a batch call of n entries of the queue arn to the queue arnOrURL, and
// again for those that failed for a passing reason. send is given the positions
// of the entries to send, which are also their ids: message ids repeat,
// positions do not. It returns each entry's error, nil where SQS confirmed it.
func (st *Settlement) call(op, arn, arnOrURL string, n int, send func(ctx context.Context, q queue, left []int) (answer, error)) []error {
	errs := make([]error, n)
	left := make([]int, n)
	for k := range n {
		errs[k], left[k] = errNoAnswer, k
	}
	fail := func(err error) []error {
		st.refuse(op, arnOrURL, err)
		for _, k := range left {
			errs[k] = err
		}
		return errs
	}

	select {
	case st.calls <- struct{}{}:
		defer func() { <-st.calls }()
	case <-st.ctx.Done():
		return fail(st.ctx.Err())
	}
	if st.isRefused(op) {
		for k := range errs {
			errs[k] = errRefused
		}
		return errs
	}
	ctx, cancel := context.WithTimeout(st.ctx, callTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil { // there is no time left, though select chose the other way
		return fail(err)
	}
	q, err := st.queueAt(ctx, arnOrURL)
	if err != nil {
		return fail(err)
	}
	for try := 1; ; try++ {
		began := time.Now()
		a, err := send(ctx, q, left)
		st.made(op, arn, q.url, began, len(left), a, err)
		if err != nil {
			return fail(err)
		}
		left = a.read(errs, left[:0])
		if len(left) == 0 || try == maxTries || !sleep.For(ctx, retryDelay<<try) {
			break
		}
	}
	for _, err := range errs {
		if err != nil {
			st.refuse(op, arnOrURL, err)
		}
	}
	return errs
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
		e := &entryError{code: aws.ToString(f.Code), message: aws.ToString(f.Message), senderFault: f.SenderFault}
		errs[k] = e
		if e.passing() {
			again = append(again, k)
		}
	}
	return again
}

// errNoAnswer is the error of an entry that SQS did not mention.
var errNoAnswer = errors.New("SQS's answer does not mention the entry")

// entryError is a failure of one entry in a call that succeeded.
type entryError struct {
	code, message string
	senderFault   bool
}

func (e *entryError) Error() string { return fmt.Sprintf("%s: %s", e.code, e.message) }

// ErrorCode, ErrorMessage and ErrorFault make it a [smithy.APIError], as the
// error of a call is.
func (e *entryError) ErrorCode() string    { return e.code }
func (e *entryError) ErrorMessage() string { return e.message }
func (e *entryError) ErrorFault() smithy.ErrorFault {
	if e.senderFault {
		return smithy.FaultClient
	}
	return smithy.FaultServer
}

// passing reports whether the entry may succeed if it is sent again.
func (e *entryError) passing() bool {
	kind := sqserror.KindOf(e.code)
	return !e.senderFault || kind == sqserror.Throttled || kind == sqserror.OverLimit
}

// limitRetries keeps the SDK's own retries within what a reserve can hold: its
// default waits for up to 20 s.
func limitRetries(o *sqs.Options) {
	if o.Retryer != nil {
		o.Retryer = retry.AddWithMaxBackoffDelay(o.Retryer, 200*time.Millisecond)
	}
}
