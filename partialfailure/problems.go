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
	diagnosis
	op, target string
	err        error
}

// refuse notes an error of an operation, to be told, and that no further call shall
// be made if every one would meet the same: a refused permission costs one call a
// batch.
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
	if st.note(op, target, err) {
		st.stop(st.lane(op))
	}
}

// note keeps an error of an operation to be told, and reports whether it will be
// the same for the rest of the batch. Each cause is told once.
func (st *Settlement) note(op, target string, err error) (lasts bool) {
	d := diagnose(err)
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, told := range st.refusal {
		if told.cause == d.cause && (told.op == op || d.everyOperation) {
			return d.lasts
		}
	}
	st.refusal = append(st.refusal, refusal{diagnosis: d, op: op, target: target, err: err})
	return d.lasts
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

func (st *Settlement) isRefused(l *lane) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return l.refused
}

// stop has no further call made of an operation.
func (st *Settlement) stop(l *lane) {
	st.mu.Lock()
	defer st.mu.Unlock()
	l.refused = true
}

// diagnosis is what kind of error it is, and what to do about it.
type diagnosis struct {
	cause          string
	advice         said
	lasts          bool // for the rest of the batch
	everyOperation bool // would meet the same
}

func diagnose(err error) diagnosis {
	code := sqserror.Code(err)
	switch {
	case errors.Is(err, errOwnQueue):
		return diagnosis{"own queue", saysOwnQueue, true, false}
	case errors.Is(err, errNoDeadLetterQueue):
		return diagnosis{"no queue", saysNoDeadLetter, false, false}
	case errors.Is(err, errNoARN):
		return diagnosis{"no ARN", saysNoARN, true, true}
	case errors.Is(err, errNoClient):
		return diagnosis{"no client", alike(sqserror.NoAnswer(err)), true, true}
	case errors.Is(err, errPolicy):
		return diagnosis{"policy", alike(errPolicy.Error()), false, false}
	case errors.Is(err, errNoAnswer):
		return diagnosis{"answer", saysIncomplete, false, false}
	}
	switch sqserror.Of(err) {
	case sqserror.Throttled, sqserror.OverLimit:
		return diagnosis{code, saysThrottled, false, false}
	case sqserror.Key, sqserror.KeyDenied:
		return diagnosis{code, saysKey, true, false}
	case sqserror.Denied:
		return diagnosis{code, saysDenied, true, false}
	case sqserror.NoQueue:
		return diagnosis{code, saysNoQueue, true, false}
	case sqserror.Stale:
		return diagnosis{code, saysStale, false, false}
	case sqserror.Expired:
		return diagnosis{code, saysExpired, false, false}
	case sqserror.Credentials:
		return diagnosis{code, saysCredentials, false, false}
	case sqserror.None:
		if errors.Is(err, context.DeadlineExceeded) {
			return diagnosis{"timeout", saysNoAnswer, false, false}
		}
		text := sqserror.NoAnswer(err)
		return diagnosis{text, alike(text), text == sqserror.SaysNotSent, true}
	}
	if sqserror.Passing(err) {
		return diagnosis{code, saysTrouble, false, false}
	}
	return diagnosis{code, saysRefused, false, false}
}
