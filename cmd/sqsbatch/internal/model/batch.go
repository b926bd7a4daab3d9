package model

import (
	"slices"
	"strconv"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// held is a record that a consumer holds.
type held struct {
	delivery
	verdict attempt
	began   time.Duration // of its handler
	failed  time.Duration // when it failed, or was given back
	shownBy time.Duration // when SQS shows it, if its visibility was changed before it began; 0 otherwise
	comesIn time.Duration // the time from failed until it comes back
	next    *held         // behind it in its FIFO group
	last    bool          // it has others behind it, and SQS would not deliver it again
	state   heldState
	settled bool // container: it is deleted or given back
}

type heldState uint8

const (
	waits heldState = iota
	runs
	handled // to be deleted
	failed
	sentOff // dead-lettered: to be deleted
	unused  // not started
)

// invocation is a batch in a function: what package handler does there.
type invocation struct {
	*sim
	list    []held
	ready   ring[*held]
	running int
	paused  bool // nothing starts any more
	over    bool
	pace    runner.Pace
	began   time.Duration
	times   runner.Times
	aborted time.Duration // the longest that an abort asks for; -1 without one

	visibility, sends lane
	ended             func(result) // is called once
}

// result is how an invocation ended.
type result uint8

const (
	answered result = iota
	errored         // by the toolkit, in a process that goes on
	ended           // with its process
)

// begin handles deliveries in an invocation, and calls done at its end.
func (s *sim) begin(list []delivery, done func(result)) *invocation {
	i := &invocation{sim: s, list: make([]held, len(list)), began: s.now, aborted: -1, ended: done}
	deadline := s.time(s.now + s.s.Function.Timeout)
	i.times = runner.TimesBefore(deadline, s.s.Toolkit.Reserve, s.s.Function.Timeout)
	i.visibility, i.sends = lane{sim: s, linger: settle.BatchLinger}, lane{sim: s, linger: settle.BatchLinger}
	var tails map[*group]*held
	if s.s.Queue.FIFO {
		tails = map[*group]*held{}
	}
	for k := range list {
		h := &i.list[k]
		h.delivery = list[k]
		if h.group == nil {
			i.ready.push(h)
			continue
		}
		if tail := tails[h.group]; tail != nil {
			tail.next = h
		} else {
			i.ready.push(h)
		}
		tails[h.group] = h
	}
	s.keepApart(i.list, s.s.Queue.Visibility)
	i.start()
	return i
}

// keepApart changes the visibility of records that may have been in a process that was killed.
func (s *sim) keepApart(list []held, visibility time.Duration) {
	again := 0
	for k := range list {
		if list[k].received > 1 {
			again++
		}
	}
	if again < 2 {
		return
	}
	records := make([]batch.Record, len(list))
	for k := range list {
		records[k] = s.record(&list[k])
	}
	suspects, timeouts := s.policy.ApartBy(records, visibility, s.random.Float64)
	if len(suspects) == 0 {
		return
	}
	s.countVisibility(len(suspects))
	byNumber := map[string]time.Duration{}
	for k, r := range suspects {
		byNumber[r.ReceiptHandle] = timeouts[k]
	}
	for k := range list {
		if timeout, ok := byNumber[records[k].ReceiptHandle]; ok {
			h := &list[k]
			h.shownBy = s.now + timeout
			s.queue.changeVisibility(&h.delivery, timeout)
		}
	}
}

// record returns what the toolkit's rules need of a record.
func (s *sim) record(h *held) batch.Record {
	r := batch.Record{
		MessageID: s.id(h.number), ReceiptHandle: strconv.Itoa(h.number), Attempt: h.receive,
		FirstReceivedAt: s.time(h.first.Truncate(time.Millisecond)), ReceivedAt: s.time(h.at), QueueARN: s.arn,
	}
	if h.group != nil {
		r.GroupID = groupName(h.group.number)
	}
	return r
}

// start starts records while slots are free.
func (i *invocation) start() {
	for i.running < i.s.Toolkit.Concurrency && i.ready.len() > 0 && !i.paused {
		if left := i.since(i.times.Cutoff) - i.now; !i.pace.Enough(left, i.s.Toolkit.MinRemaining) {
			i.paused = true
			break
		}
		i.run(i.ready.pop())
	}
	if i.running == 0 && !i.over {
		i.end()
	}
}

// run starts a record.
func (i *invocation) run(h *held) {
	i.running++
	i.beginAttempt(h)
	cutoff := i.since(i.times.Cutoff)
	h.last = h.next != nil && i.lastAttempt(h)
	deadline := cutoff
	if limit := i.s.Toolkit.RecordTimeout; limit > 0 {
		deadline = min(deadline, i.now+limit)
	}
	if h.last {
		behind := 0
		for next := h.next; next != nil; next = next.next {
			behind++
		}
		left := runner.Leaving(cutoff-i.now, i.pace.Expected(i.s.Toolkit.MinRemaining), i.s.Toolkit.Grace, behind)
		deadline = min(deadline, i.now+left)
	}
	i.until(h, deadline, func() { i.finish(h) })
	switch h.verdict.outcome {
	case crashes:
		i.at(min(h.began+h.verdict.takes, deadline), i.crash)
	case hangs:
		i.at(min(deadline+i.s.Toolkit.Grace, cutoff+i.times.Grace(i.s.Toolkit.Grace)), func() { i.abandon(h) })
	}
}

// lastAttempt reports whether SQS would not deliver a record again.
func (s *sim) lastAttempt(h *held) bool {
	most := s.s.Queue.MaxReceiveCount
	return most > 0 && h.receive >= most && s.s.Toolkit.OnPermanent != partialfailure.Retry
}

// beginAttempt calls a record's handler.
func (s *sim) beginAttempt(h *held) {
	m, t := h.message, &s.r.Totals
	h.state, h.began, h.verdict = runs, s.now, s.s.attemptOf(h.number, h.receive, s.now)
	t.Attempts++
	if m.done || m.running > 0 {
		t.Duplicates++
	}
	m.running++
	m.last = h.verdict
	s.handlers++
}

// until has a record's handler end: after its time, or at its deadline with an error. One that hangs or
// crashes does not end so.
func (s *sim) until(h *held, deadline time.Duration, end func()) {
	v := &h.verdict
	if v.outcome == hangs || v.outcome == crashes {
		return
	}
	at := h.began + v.takes
	if at > deadline {
		at = deadline
		v.outcome, v.after = retries, -1 // the end of its context is an ordinary error
	}
	s.at(at, end)
}

// endAttempt notes that a record's handler has ended, or was given up.
func (s *sim) endAttempt(h *held) {
	h.running--
	s.handlers--
	if h.verdict.outcome != succeeds {
		s.failed++
	}
}

// finish handles the end of a record's handler.
func (i *invocation) finish(h *held) {
	if i.over || h.state != runs {
		return
	}
	i.running--
	i.endAttempt(h)
	v := &h.verdict
	switch {
	case v.outcome == succeeds:
		h.done = true
		i.pace.Add(i.now - h.began)
		i.handled(h, handled)
	case v.outcome == isPermanent && i.s.Toolkit.OnPermanent == partialfailure.Drop:
		i.handled(h, handled)
	default:
		i.failOrDecide(h)
	}
	i.start()
}

// handled finishes a record, and makes the next one of its group ready.
func (i *invocation) handled(h *held, state heldState) {
	h.state = state
	if next := h.next; next != nil {
		h.next = nil
		i.ready.unshift(next)
	}
}

// failOrDecide fails a record, or dead-letters it so that its group goes on.
func (i *invocation) failOrDecide(h *held) {
	h.failed = i.now
	decides := h.next != nil && !i.paused && i.now < i.since(i.times.Cutoff)
	if h.verdict.outcome == aborts {
		i.paused, i.aborted = true, max(i.aborted, h.verdict.after)
	}
	if decides && i.deadLetters(h) {
		i.sendDeadLetters([]*held{h})
		i.handled(h, sentOff)
		return
	}
	i.fail(h)
}

// deadLetters reports whether a failed record of a group is dead-lettered in place.
func (s *sim) deadLetters(h *held) bool {
	permanent := h.verdict.outcome == isPermanent && s.s.Toolkit.OnPermanent == partialfailure.DeadLetter
	return s.s.Queue.MaxReceiveCount > 0 && (permanent || s.lastAttempt(h))
}

// fail settles a record that failed. Those behind it are skipped, and come back together with it.
func (i *invocation) fail(h *held) {
	for behind := h.next; behind != nil; behind = behind.next {
		behind.state, behind.failed = failed, h.failed
		i.r.Totals.Skipped++
	}
	h.state = failed
	if h.verdict.outcome == isPermanent && i.s.Toolkit.OnPermanent == partialfailure.DeadLetter && i.s.Queue.MaxReceiveCount > 0 {
		i.sends.add(h, i.sendDeadLetters)
		return
	}
	i.comeBack(h, i.waitOf(h))
}

// waitOf returns the time until a failed record comes back.
func (s *sim) waitOf(h *held) time.Duration {
	r, v := s.record(h), batch.Verdict{}
	if h.verdict.after >= 0 {
		v.HasAfter, v.After, v.Aborts = true, h.verdict.after, h.verdict.outcome == aborts
	}
	return s.policy.Wait(&r, v, s.time(h.failed))
}

// comeBack has a failed record and those behind it come back after a time.
func (i *invocation) comeBack(h *held, after time.Duration) {
	i.r.Totals.Retries++
	if h.verdict.outcome == hangs { // its handler may still be at work: it is not shown before SQS shows it
		shown := h.shownBy
		if shown == 0 {
			shown = i.began + i.s.Queue.Visibility
		}
		if h.failed+after <= shown {
			return
		}
	}
	for ; h != nil; h = h.next {
		if h.state == failed {
			h.comesIn = after
			i.visibility.add(h, i.changeVisibility)
		}
	}
}

// sendDeadLetters sends records to the dead-letter queue, in one call. They are deleted at the end.
func (i *invocation) sendDeadLetters(list []*held) {
	i.countDeadLetters(len(list))
	for _, h := range list {
		h.state = sentOff
		i.deadLetter(h.message)
		for behind := h.next; behind != nil; behind = behind.next {
			if behind.state == failed { // it was skipped: it comes back at once
				behind.comesIn = 0
				i.visibility.add(behind, i.changeVisibility)
			}
		}
	}
}

// abandon gives up a handler that ignores the end of its context.
func (i *invocation) abandon(h *held) {
	if i.over || h.state != runs {
		return
	}
	i.running--
	i.endAttempt(h)
	i.r.Totals.Abandoned++
	i.failOrDecide(h)
	i.start()
}

// end settles what is left, and answers.
func (i *invocation) end() {
	var unstarted []*held
	for k := range i.list {
		if h := &i.list[k]; h.state == waits {
			h.state, h.failed, h.next = unused, i.now, nil
			unstarted = append(unstarted, h)
		}
	}
	i.over = true
	i.visibility.flush()
	i.sends.flush()
	i.visibility.flush()
	i.release(unstarted)
	i.visibility.flush()
	i.ended(i.answer())
}

// answer returns how the invocation ended. Without ReportBatchItemFailures the function itself deletes
// what is done if a record failed, and then fails.
func (i *invocation) answer() result {
	if i.s.Mapping.ReportBatchItemFailures || !slices.ContainsFunc(i.list, func(h held) bool { return h.state == failed || h.state == unused }) {
		return answered
	}
	i.deleteDone(i.list, func(h *held) bool { return h.done })
	i.deleteDone(i.list, func(h *held) bool { return !h.done })
	return errored
}

// deleteDone deletes the records that are done, ten in a call: those that the filter passes.
func (s *sim) deleteDone(list []held, such func(*held) bool) {
	n := 0
	for k := range list {
		if h := &list[k]; (h.state == handled || h.state == sentOff) && such(h) {
			n++
			s.delete(h)
		}
	}
	s.countDeletes(n)
	s.queue.serve()
}

// countDeletes counts the calls that delete n messages.
func (s *sim) countDeletes(n int) {
	s.r.Totals.Requests.Delete += ceil(n, settle.MaxEntries)
	s.r.Totals.Requests.Billed += ceil(n, settle.MaxEntries)
}

// delete deletes a record, and counts what became of its message.
func (s *sim) delete(h *held) {
	if !s.queue.delete(&h.delivery) || h.state == sentOff {
		return
	}
	if h.verdict.outcome != succeeds {
		s.r.Totals.Dropped++
		return
	}
	s.r.Totals.Handled++
	s.latencies = append(s.latencies, s.now-h.sent)
}

// release has records that were not started come back: at once, or by an abort's time, or after their
// backoff if none of the batch was started and this is not the first delivery.
func (i *invocation) release(list []*held) {
	i.r.Totals.NotStarted += len(list)
	for _, h := range list {
		h.verdict.outcome, h.verdict.after, h.comesIn = retries, -1, 0
		if i.aborted >= 0 {
			h.verdict.outcome, h.verdict.after = aborts, i.aborted
		}
		if i.aborted >= 0 || len(list) == len(i.list) && h.receive > 1 {
			h.comesIn = i.waitOf(h)
		}
		i.visibility.add(h, i.changeVisibility)
	}
}

// crash ends the process: SQS shows the records when their visibility timeouts end.
func (i *invocation) crash() {
	if i.over {
		return
	}
	i.over = true
	i.visibility.drop()
	i.sends.drop()
	for k := range i.list {
		if h := &i.list[k]; h.state == runs {
			h.state = failed
			h.verdict.outcome = crashes
			i.endAttempt(h)
		}
	}
	i.ended(ended)
}

// lane gathers records for calls of ten.
type lane struct {
	*sim
	linger time.Duration // for which the first one waits for others
	list   []*held
	call   func([]*held)
	timers int // of the list
}

// add adds a record. Its call is made when there are ten, or after linger.
func (l *lane) add(h *held, call func([]*held)) {
	l.list, l.call = append(l.list, h), call
	if len(l.list) == settle.MaxEntries {
		l.flush()
	} else if len(l.list) == 1 {
		l.timers++
		timer := l.timers
		l.after(l.linger, func() {
			if l.timers == timer {
				l.flush()
			}
		})
	}
}

// drop forgets the records: their process has ended.
func (l *lane) drop() {
	l.timers++
	l.list = nil
}

// flush makes the call now.
func (l *lane) flush() {
	l.timers++
	if list := l.list; len(list) > 0 {
		l.list = nil
		l.call(list)
	}
}

// changeVisibility makes records come back, in one call.
func (s *sim) changeVisibility(list []*held) {
	s.countVisibility(len(list))
	for _, h := range list {
		timeout, _ := settle.Timeout(h.comesIn, s.now-h.failed, s.now-h.at)
		s.queue.changeVisibility(&h.delivery, timeout)
	}
}

// countDeadLetters counts a call that sends n messages to the dead-letter queue.
func (s *sim) countDeadLetters(n int) {
	s.r.Totals.Requests.DeadLetter++
	s.r.Totals.Requests.Billed += s.chunks(n)
}

// countVisibility counts the calls that change the visibility of n messages.
func (s *sim) countVisibility(n int) {
	s.r.Totals.Requests.Visibility += ceil(n, settle.MaxEntries)
	s.r.Totals.Requests.Billed += ceil(n, settle.MaxEntries)
}
