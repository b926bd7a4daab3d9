package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// message is a text as it is told on Lambda and, where its user has other things to
// set right there, in a container. {op} is the permission, {queue} where it was
// called, {timeout} the longest that a call takes.
type message struct{ lambda, container string }

func (s *Settler) say(m message) string {
	if s.cfg.Delete == DeleteAlways && m.container != "" { // it serves a long poll
		return m.container
	}
	return m.lambda
}

// costs says what a failed operation means for the records.
var costs = map[operation]message{
	opVisibility: {
		"failed records come back after the queue's visibility timeout instead of their backoff",
		"failed records come back when their visibility (Visibility; with package handler: SQSBATCH_VISIBILITY) is over, instead of after their backoff",
	},
	opSend: {lambda: "permanent failures stay in the queue and are retried"},
	opDelete: {
		"records that succeeded will be delivered again",
		"records that were handled will be delivered again, unless a later try deletes them",
	},
	opAttributes: {lambda: "the dead-letter queue and maxReceiveCount are unknown: permanent failures are retried, and nothing warns of last attempts, or of the end of the retention"},
}

// staleCosts is what it means for the record, whatever the operation.
var staleCosts = message{lambda: "it may be with another receiver, or come back"}

// diagnosis is what to do about a kind of error.
type diagnosis struct {
	advice         message
	lasts          bool // no further call of the operation is made: see refusedFor
	everyOperation bool // would meet the same: it is told once
}

// ownErrors are those of this package.
var ownErrors = []struct {
	err error
	diagnosis
}{
	{errOwnQueue, diagnosis{advice: message{lambda: "the dead-letter queue {queue} is the queue that the records come from: nothing is sent there"}, lasts: true}},
	{errNoDeadLetterQueue, diagnosis{advice: message{lambda: "there is no dead-letter queue: give the queue a RedrivePolicy, or set DeadLetterQueue; to keep it so, set OnPermanent to \"retry\" or \"drop\" (with package handler: SQSBATCH_DEAD_LETTER_QUEUE, SQSBATCH_ON_PERMANENT)"}}},
	{errNoARN, diagnosis{advice: message{lambda: "the records' eventSourceARN names no queue"}, lasts: true, everyOperation: true}},
	{errNoClient, diagnosis{advice: message{lambda: sqserror.SaysNotSent}, lasts: true, everyOperation: true}},
	{errPolicy, diagnosis{advice: message{lambda: errPolicy.Error()}}},
	{errNoAnswer, diagnosis{advice: message{lambda: "SQS's answer is incomplete"}}},
}

// byKind are the errors of SQS that have a kind.
var byKind = map[sqserror.Kind]diagnosis{
	sqserror.Throttled:   {advice: message{lambda: sqserror.SaysThrottled}},
	sqserror.OverLimit:   {advice: message{lambda: sqserror.SaysThrottled}},
	sqserror.Key:         keyDiagnosis,
	sqserror.KeyDenied:   keyDiagnosis,
	sqserror.Denied:      {advice: message{"the function's role lacks {op} on {queue}", "the role of this process lacks {op} on {queue}"}, lasts: true},
	sqserror.NoQueue:     {advice: message{lambda: "there is no queue {queue}: is its URL or ARN right?"}, lasts: true},
	sqserror.Expired:     {advice: message{lambda: sqserror.SaysExpired}},
	sqserror.Credentials: {advice: message{lambda: sqserror.SaysCredentials}},
	// The causes that SQS does not tell apart, the likeliest first.
	sqserror.Stale: {advice: message{
		"SQS no longer accepts the record's receipt handle: its visibility timeout was over before its handler was done (AWS advises 6 × the function's timeout), " +
			"or it was deleted meanwhile, or the queue was purged or recreated",
		"SQS no longer accepts the record's receipt handle: its visibility was over and others may have it (was this process suspended, or SQS out of reach, for as long as Visibility, with package handler SQSBATCH_VISIBILITY?), " +
			"or it was deleted meanwhile, or the queue was purged or recreated, or its server restarted",
	}},
}

var keyDiagnosis = diagnosis{advice: message{
	"the queue's key cannot be used: is it enabled, and does it allow the function's role kms:GenerateDataKey and kms:Decrypt?",
	"the queue's key cannot be used: is it enabled, and does it allow the role of this process kms:GenerateDataKey and kms:Decrypt?",
}, lasts: true}

func diagnose(err error) diagnosis {
	for _, o := range ownErrors {
		if errors.Is(err, o.err) {
			return o.diagnosis
		}
	}
	kind := sqserror.Of(err)
	known, ok := byKind[kind]
	switch {
	case ok:
		return known
	case kind == sqserror.None && errors.Is(err, context.DeadlineExceeded):
		return diagnosis{advice: message{
			"no answer from SQS within {timeout}: a function in a VPC needs a route to it (VPC endpoint or NAT)",
			"no answer from SQS within {timeout}: is it slow or down, or is there no route to it?",
		}}
	case kind == sqserror.None:
		text := sqserror.NoAnswer(err)
		return diagnosis{advice: message{lambda: text}, lasts: text == sqserror.SaysNotSent, everyOperation: true}
	case sqserror.Passing(err):
		return diagnosis{advice: message{lambda: "SQS has an internal error"}}
	}
	return diagnosis{advice: message{lambda: sqserror.SaysRefused}}
}

// remindAfter is after how long a poller tells of the same again.
const remindAfter = 5 * time.Minute

// refuse tells of an error of an operation, once for each cause.
func (s *Settler) refuse(op operation, target string, err error) {
	if s.ctx.Err() != nil {
		s.late = true // Batch.Settle tells that, Poller.reportLeft what is left
		return
	}
	if errors.Is(err, errRefused) || errors.Is(err, errUnknown) {
		return // what that comes from was told
	}
	d, now := diagnose(err), time.Now()
	cause, cost := d.advice.lambda+sqserror.Code(err), costs[op]
	if !d.everyOperation {
		cause = op.String() + cause
	}
	if told, ok := s.causes[cause]; ok && now.Sub(told) < remindAfter {
		return
	}
	s.causes[cause] = now
	if sqserror.Of(err) == sqserror.Stale {
		cost = staleCosts
	}
	advice := strings.NewReplacer("{op}", "sqs:"+op.String(), "{queue}", target, "{timeout}", callTimeout.String()).Replace(s.say(d.advice))
	s.owner.Warn(batch.Warning{Message: fmt.Sprintf("%v: %s (%s)", op, advice, s.say(cost)), Err: err})
}

// warnLate tells what it means for the records that SQS did not answer in time.
func (s *Settler) warnLate(results []batch.Result) {
	var cost []string
	if slices.ContainsFunc(results, func(r batch.Result) bool { return !r.Outcome.Done() && !r.VisibilitySet }) {
		cost = append(cost, s.say(message{
			"records whose backoff was not set come back after the queue's visibility timeout",
			"records whose backoff was not set come back when their visibility (Visibility; with package handler: SQSBATCH_VISIBILITY) is over",
		}))
	}
	if slices.ContainsFunc(results, func(r batch.Result) bool { return r.DeleteErr != nil }) {
		cost = append(cost, s.say(costs[opDelete]))
	}
	if len(cost) == 0 {
		cost = []string{"no record is affected"}
	}
	s.owner.Warn(batch.Warning{Message: fmt.Sprintf("the time was over before SQS had answered all calls: %s. %s", strings.Join(cost, ", and "), s.say(message{
		"Raise the reserve (Reserve; with package handler: SQSBATCH_RESERVE) or the function's timeout, or find out why SQS is slow to answer",
		"Find out why SQS is slow to answer",
	}))})
}
