package partialfailure

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// costs says what a failed operation means for the records.
var costs = map[string]string{
	opVisibility: "failed records come back after the queue's visibility timeout instead of their backoff",
	opSend:       "permanent failures stay in the queue and are retried",
	opDelete:     "records that succeeded will be delivered again",
	opAttributes: "the dead-letter queue and maxReceiveCount are unknown: permanent failures are retried, and nothing warns of last attempts",
}

// refusal is an error of an operation, told once per batch and cause.
type refusal struct {
	op, cause, advice string
	err               error
}

// refuse notes an error of an operation, and that no further call shall be made
// which would meet the same: a refused permission costs one call a batch, a
// dead endpoint one timeout.
func (st *Settlement) refuse(op, target string, err error) {
	if errors.Is(err, errRefused) {
		return // it was told when it was refused
	}
	if st.ctx.Err() != nil {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.cutShort = true // Finish tells that
		return
	}
	stops := st.note(op, target, err)
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.refused == nil {
		st.refused = make(map[string]bool, 1)
	}
	switch stops {
	case thisOperation:
		st.refused[op] = true
	case everyOperation:
		for o := range costs {
			st.refused[o] = true
		}
	}
}

// note keeps an error of an operation to be told, and returns how much it
// stops. Each cause is told once.
func (st *Settlement) note(op, target string, err error) (stops scope) {
	r := refusal{op: op, err: err}
	r.cause, r.advice, stops = diagnose(op, target, err)
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, told := range st.refusal {
		if told.cause == r.cause && (told.op == op || stops == everyOperation) {
			return stops
		}
	}
	st.refusal = append(st.refusal, r)
	return stops
}

// warnRefused tells the hooks what was refused during the batch.
func (st *Settlement) warnRefused(results []batch.Result, answered bool) {
	st.mu.Lock()
	refusal := st.refusal
	st.mu.Unlock()
	for _, r := range refusal {
		st.warn(results, batch.Warning{
			Message: fmt.Sprintf("%s: %s (%s)", strings.TrimPrefix(r.op, "sqs:"), r.advice, costs[r.op]),
			Err:     r.err,
		})
	}
	if !answered {
		advice := "Raise the reserve (SQSBATCH_RESERVE) or the function's timeout, or look why SQS is slow to answer"
		if st.cfg.Delete == DeleteAlways { // in a container
			advice = "Look why SQS is slow to answer"
		}
		st.warn(results, batch.Warning{Message: "the time was over before SQS had answered all calls: " +
			"records whose backoff was not set come back after the queue's visibility timeout. " + advice})
	}
}

func (st *Settlement) isRefused(op string) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.refused[op]
}

// scope is what an error stops for the rest of the batch.
type scope int

const (
	thisCall scope = iota
	thisOperation
	everyOperation
)

// diagnose tells what kind of error it is, what to do about it, and how much it stops.
func diagnose(op, target string, err error) (cause, advice string, stops scope) {
	var entry *entryError
	code := sqserror.Code(err)
	if errors.As(err, &entry) {
		code = entry.code
	}
	switch {
	case errors.Is(err, errOwnQueue):
		return "own queue", fmt.Sprintf("the dead-letter queue %s is the queue that the records come from: nothing is sent there", target), thisOperation
	case errors.Is(err, errNoDeadLetterQueue):
		return "no queue", "there is no dead-letter queue: give the queue a RedrivePolicy, or set SQSBATCH_DEAD_LETTER_QUEUE; SQSBATCH_ON_PERMANENT=retry or drop says that this is as it should be", thisCall
	case errors.Is(err, errNoARN):
		return "no ARN", "the records' eventSourceARN names no queue", everyOperation
	}
	switch sqserror.KindOf(code) {
	case sqserror.Throttled, sqserror.OverLimit:
		return code, sqserror.SaysThrottled, thisCall
	case sqserror.Key, sqserror.KeyDenied:
		return code, "the queue's key cannot be used: is it enabled, and does it allow the function's role kms:GenerateDataKey and kms:Decrypt?", thisOperation
	case sqserror.Denied:
		return code, fmt.Sprintf("the function's role lacks %s on %s", op, target), thisOperation
	case sqserror.NoQueue:
		return code, fmt.Sprintf("there is no queue %s: is its URL or ARN right?", target), thisOperation
	case sqserror.Stale:
		return code, "the record is no longer in flight: its visibility timeout is shorter than its handler takes (for Lambda, AWS advises 6 × the function's timeout)", thisCall
	case sqserror.None: // SQS did not answer
	default:
		return code, sqserror.SaysRefused, thisCall
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", fmt.Sprintf("no answer from SQS within %v: a function in a VPC needs a route to it (VPC endpoint or NAT)", callTimeout), thisOperation
	case errors.Is(err, errNoAnswer):
		return "answer", "SQS's answer is incomplete", thisCall
	default:
		return "connection", sqserror.SaysUnreachable, everyOperation
	}
}
