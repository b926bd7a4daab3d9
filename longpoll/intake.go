package longpoll

import (
	"context"
	"crypto/rand"
	"slices"
	"time"
)

const (
	// attemptKept is for how long SQS gives the messages of a receive again to
	// one with the same attempt id (ReceiveRequestAttemptId, FIFO queues).
	attemptKept = 5*time.Minute - 10*time.Second
	// cutKept is for how long receives stay shorter after that.
	cutKept = time.Hour
	// receiveGrace is how long an open receive may still be answered when the
	// poller stops or pauses.
	receiveGrace = 200 * time.Millisecond
	// busyGrace is for how long in all one may have been open then that may be
	// on its way with messages, since the answer before it was a full one.
	busyGrace = 2 * time.Second
)

// intake is the state of receiving; the poller's lock guards it.
type intake struct {
	ctx       context.Context // of the receives that are open
	abandon   context.CancelFunc
	calls     int           // receives that are open
	reserved  int           // messages that they may return
	parallel  int           // how many may be open: more while they come back full
	wait      time.Duration // instead of the configured one, because receives were cut; or 0
	cuts      int           // one after another
	cutAt     time.Time     // the last of them
	began     time.Time     // the oldest that is open, roughly: the latest that began when none was
	again     []attempt     // that got no answer
	notBefore time.Time     // of the next receive, when the latest was answered too soon
	last      time.Time     // when the latest one was answered
	latest    time.Time     // when the latest one began
	busy      bool          // the latest answer brought all that were asked for: there is more
	endBy     time.Time     // when open receives are given up, once none may begin any more
}

// attempt is a FIFO queue's receive that was not answered.
type attempt struct {
	id    string
	since time.Time
	n     int // messages that SQS may have taken for it
}

// next takes an attempt to make again that brings no more than n messages, or a new one.
func (in *intake) next(n int) attempt {
	in.again = slices.DeleteFunc(in.again, func(a attempt) bool { return time.Since(a.since) > attemptKept })
	for i, a := range in.again {
		if a.n <= n {
			in.again = slices.Delete(in.again, i, i+1)
			return a
		}
	}
	return attempt{rand.Text(), time.Now(), n}
}

// cut notes a long poll that ended early. One is a connection that broke; the
// second in a row is something on the way that cuts them all, so that shorter
// ones are made.
func (in *intake) cut(now time.Time, took time.Duration) {
	in.cuts++
	in.cutAt = now
	if in.cuts > 1 {
		in.wait = max(time.Second, (took - time.Second).Truncate(time.Second))
	}
}

// uncut notes a receive that was answered, and whether it took its whole time.
// Now and then a long one is tried again.
func (in *intake) uncut(now time.Time, whole bool) {
	switch {
	case whole:
		in.cuts = 0
	case in.wait > 0 && now.Sub(in.cutAt) > cutKept:
		in.wait, in.cuts = 0, 1
	}
}

// open lets receives begin, and those go on that are still open.
func (in *intake) open(base context.Context) {
	in.endBy = time.Time{}
	if in.ctx == nil || in.ctx.Err() != nil {
		in.ctx, in.abandon = context.WithCancel(base)
		in.parallel = 1
	}
}

// end is until when open receives may be answered, from the first time that it is
// asked for, when nothing more is to be received: SQS may have taken messages for
// them already.
func (in *intake) end(now time.Time) time.Time {
	if !in.endBy.IsZero() {
		return in.endBy
	}
	in.endBy = now.Add(receiveGrace)
	if busy := in.latest.Add(busyGrace); (in.busy || in.last.IsZero()) && busy.After(in.endBy) {
		in.endBy = busy
	}
	return in.endBy
}
