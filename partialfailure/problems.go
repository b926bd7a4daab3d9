package partialfailure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// refusal is an error of an operation, told once per batch and cause.
type refusal struct {
	op, cause, target string
	advice            said
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
	r := refusal{op: op, target: target, err: err}
	r.cause, r.advice, stops = diagnose(err)
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
		advice := strings.NewReplacer("{op}", r.op, "{queue}", r.target, "{timeout}", callTimeout.String()).Replace(st.say(r.advice))
		cost := costs[r.op]
		if r.advice == saysStale {
			cost = staleCosts
		}
		st.warn(results, batch.Warning{
			Message: fmt.Sprintf("%s: %s (%s)", strings.TrimPrefix(r.op, "sqs:"), advice, st.say(cost)),
			Err:     r.err,
		})
	}
	if !answered {
		st.warn(results, batch.Warning{Message: fmt.Sprintf("the time was over before SQS had answered all calls: %s. %s", st.unanswered(results), st.say(saysLate))})
	}
}

// unanswered says what it means for the records that SQS did not answer in time.
func (st *Settlement) unanswered(results []batch.Result) string {
	var says []string
	if slices.ContainsFunc(results, func(r batch.Result) bool { return !r.Outcome.Done() && !r.VisibilitySet }) {
		says = append(says, st.say(saysNoBackoff))
	}
	if slices.ContainsFunc(results, func(r batch.Result) bool { return r.DeleteErr != nil }) {
		says = append(says, st.say(saysUndeleted))
	}
	if len(says) == 0 {
		says = append(says, st.say(saysNothing))
	}
	return strings.Join(says, ", and ")
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
func diagnose(err error) (cause string, advice said, stops scope) {
	var entry *entryError
	code, kind := sqserror.Code(err), sqserror.Of(err)
	if errors.As(err, &entry) {
		code, kind = entry.code, sqserror.KindOf(entry.code)
	}
	switch {
	case errors.Is(err, errOwnQueue):
		return "own queue", saysOwnQueue, thisOperation
	case errors.Is(err, errNoDeadLetterQueue):
		return "no queue", saysNoDeadLetter, thisCall
	case errors.Is(err, errNoARN):
		return "no ARN", saysNoARN, everyOperation
	}
	switch kind {
	case sqserror.Throttled, sqserror.OverLimit:
		return code, saysThrottled, thisCall
	case sqserror.Key, sqserror.KeyDenied:
		return code, saysKey, thisOperation
	case sqserror.Denied:
		return code, saysDenied, thisOperation
	case sqserror.NoQueue:
		return code, saysNoQueue, thisOperation
	case sqserror.Stale:
		return code, saysStale, thisCall
	case sqserror.Expired:
		return code, saysExpired, thisCall
	case sqserror.Credentials:
		return code, saysCredentials, thisCall
	case sqserror.None: // SQS did not answer
	default:
		return code, saysRefused, thisCall
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", saysNoAnswer, thisOperation
	case errors.Is(err, errNoAnswer):
		return "answer", saysIncomplete, thisCall
	default:
		return "connection", saysUnreachable, everyOperation
	}
}
