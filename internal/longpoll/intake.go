package longpoll

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// intake is the state of receiving.
type intake struct {
	ctx        context.Context // context of the open receives
	abandon    context.CancelFunc
	calls      int           // open receives
	reserved   int           // messages that they may return
	parallel   int           // how many may be open; it grows while they come back full
	unanswered []attempt     // attempts to make again
	notBefore  time.Time     // no receive may begin before
	answered   time.Time     // when the latest one was answered
	begun      time.Time     // when the latest one began
	full       bool          // the latest answer had as many messages as were asked for, so there are more
	took       time.Duration // from the beginning of that receive to its answer
	// endBy is when open receives are abandoned, and after that, when SQS has noticed it.
	// It is zero as long as receives may begin.
	endBy time.Time
}

// attempt is a receive of a FIFO queue. If it gets no answer, or an error of the service,
// SQS may have taken messages for it. SQS returns them to the next receive with the same id
// (ReceiveRequestAttemptId).
type attempt struct {
	id *string // nil for a standard queue
	n  int     // messages that SQS may have taken for it
}

// newAttempt returns an attempt for at most n messages. It repeats one of unanswered, if
// there is one.
func (in *intake) newAttempt(n int) attempt {
	i := slices.IndexFunc(in.unanswered, func(a attempt) bool { return a.n <= n })
	if i < 0 {
		return attempt{aws.String(rand.Text()), n}
	}
	a := in.unanswered[i]
	in.unanswered = slices.Delete(in.unanswered, i, i+1)
	return a
}

// open lets receives begin. Receives that are open go on.
func (in *intake) open(base context.Context) {
	in.endBy = time.Time{}
	if in.ctx == nil || in.ctx.Err() != nil {
		in.ctx, in.abandon = context.WithCancel(base)
		in.parallel = 1
	}
}

const (
	// receiveGrace is how long an open receive may still be answered after a stop or a
	// pause.
	receiveGrace = 200 * time.Millisecond
	// fullGrace is how long after its start a receive may be answered after a stop or a
	// pause, if the answer before it was full: it may be about to return messages. It is ten
	// times what that answer took, within these limits.
	leastFullGrace = 500 * time.Millisecond
	mostFullGrace  = 2 * time.Second
	// noticeTime is how long SQS may take to notice that the client of a receive is gone.
	noticeTime = 50 * time.Millisecond
)

// endSoon abandons open receives a moment after its first call. No receive may begin from
// now on.
func (in *intake) endSoon(now time.Time) {
	if !in.endBy.IsZero() {
		return
	}
	in.endBy = now.Add(receiveGrace)
	grace := time.Duration(0)
	switch {
	case in.answered.IsZero():
		grace = mostFullGrace
	case in.full:
		grace = min(max(leastFullGrace, 10*in.took), mostFullGrace)
	}
	if late := in.begun.Add(grace); late.After(in.endBy) {
		in.endBy = late
	}
}

// abandonLate abandons open receives when their time is over.
func (in *intake) abandonLate(now time.Time) {
	if in.ending(now) && in.ctx.Err() == nil && !now.Before(in.endBy) {
		in.abandon()
		in.endBy = now.Add(noticeTime)
	}
}

// ending reports whether there are receives that end soon or were just abandoned. An open
// one would receive records again that are released now, which costs each a delivery. An
// abandoned one, which SQS may still serve, would hide them from everyone.
func (in *intake) ending(now time.Time) bool {
	if in.ctx.Err() != nil {
		return now.Before(in.endBy)
	}
	return in.calls > 0 && !in.endBy.IsZero()
}

// answersInTime reports whether SQS answers the open receives in time.
func (in *intake) answersInTime(now time.Time, wait time.Duration) bool {
	return in.calls == 0 || now.Sub(in.begun) < wait+2*receiveMargin || now.Sub(in.answered) < wait+2*receiveMargin
}
