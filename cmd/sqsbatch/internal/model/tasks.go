package model

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// tasks are the containers of a run.
type tasks struct {
	*sim
	cfg     longpoll.Config
	polling []*task       // oldest first
	wanted  time.Duration // since when another number is wanted; -1 if it is not
	grows   bool
}

// task is a container: the rules of internal/longpoll.
type task struct {
	*tasks
	ready    ring[*held]
	holds    []*held // from receipt until settled, some that are settled as well
	held     int     // that wait or run
	running  int
	reserved int
	calls    int
	parallel int
	answered bool
	pace     longpoll.Pace
	stopped  bool // receives and starts nothing more
	over     bool // its process has ended
	drained  func()

	sweepAt      time.Duration
	abandoned    int
	abortedUntil time.Duration
	trialUntil   time.Duration

	deletes, visibility, sends lane
}

// withDefaults returns the configuration with its defaults.
func (c *Containers) withDefaults(fifo bool) *Containers {
	d := *c
	d.Tasks, d.Slots = cmp.Or(d.Tasks, 1), cmp.Or(d.Slots, runner.DefaultConcurrency)
	d.Visibility = cmp.Or(d.Visibility, time.Minute)
	if d.Scaling != nil {
		s := *d.Scaling
		s.Max, s.Every, s.Down = cmp.Or(s.Max, 100), cmp.Or(s.Every, 30*time.Second), cmp.Or(s.Down, 5*time.Minute)
		d.Scaling = &s
	}
	return &d
}

func (c *Containers) validate(checks *checks) {
	within(checks, "Containers.Tasks", c.Tasks, 1, mostTasks)
	within(checks, "Containers.Slots", c.Slots, 1, 10_000)
	within(checks, "Containers.Visibility", c.Visibility, 3*time.Second, 12*time.Hour)
	within(checks, "Containers.Prefetch", c.Prefetch, -1, 10_000)
	if s := c.Scaling; s != nil {
		within(checks, "Containers.Scaling.MessagesPerTask", s.MessagesPerTask, 1, mostMessages)
		within(checks, "Containers.Scaling.Min", s.Min, 0, mostTasks)
		within(checks, "Containers.Scaling.Max", s.Max, max(1, s.Min), mostTasks)
		within(checks, "Containers.Scaling.Every", s.Every, time.Second, time.Hour)
		within(checks, "Containers.Scaling.Up", s.Up, 0, day)
		within(checks, "Containers.Scaling.Down", s.Down, 0, day)
		within(checks, "Containers.Scaling.Start", s.Start, 0, time.Hour)
	}
}

func (t *tasks) count() int {
	if t == nil {
		return 0
	}
	return len(t.polling)
}

func (t *tasks) assumptions() []string {
	list := []string{
		"A process that crashed, was killed, or has abandoned more handlers than it has slots is started again at once.",
		"A task that is removed ends its open receives at once; one that was about to return messages may hide them until their visibility timeout ends.",
	}
	if t.s.Containers.Scaling != nil {
		list = append(list, "The scaler sees the queue as it is; SQS's counts are approximate, and CloudWatch's are some minutes old.")
	}
	return list
}

// startTasks starts the containers.
func (s *sim) startTasks() {
	c := s.s.Containers
	cfg := longpoll.Config{Queue: s.arn, Visibility: c.Visibility, Prefetch: c.Prefetch}
	cfg.Engine = runner.Config{Concurrency: c.Slots, RecordTimeout: s.s.Toolkit.RecordTimeout, Grace: s.s.Toolkit.Grace}
	s.tasks = &tasks{sim: s, cfg: cfg.WithDefaults(nil), wanted: -1}
	for range c.Tasks {
		s.tasks.start()
	}
	if c.Scaling != nil {
		s.after(c.Scaling.Every, s.tasks.scale)
	}
	s.after(time.Second, s.tasks.hour)
}

// hour counts the time of the tasks, once a second.
func (t *tasks) hour() {
	t.r.Totals.TaskHours += float64(len(t.polling)) / 3600
	t.after(time.Second, t.hour)
}

// scale decides on the number of tasks.
func (t *tasks) scale() {
	cfg, n := t.s.Containers.Scaling, len(t.polling)
	backlog := t.queue.visible
	if cfg.InFlight {
		backlog += t.queue.inFlight
	}
	want := min(max(ceil(backlog, cfg.MessagesPerTask), cfg.Min), cfg.Max)
	switch {
	case want == n:
		t.wanted = -1
	case t.wanted < 0 || t.grows != (want > n):
		t.wanted, t.grows = t.now, want > n
	}
	if wait := map[bool]time.Duration{true: cfg.Up, false: cfg.Down}[want > n]; want != n && t.now-t.wanted >= wait {
		t.wanted = -1
		for range want - n {
			t.after(cfg.Start, t.start)
		}
		for range n - want {
			t.polling[len(t.polling)-1].drain(func() {})
		}
	}
	t.after(cfg.Every, t.scale)
}

// start starts a task.
func (t *tasks) start() {
	k := &task{tasks: t, parallel: 1}
	k.deletes, k.visibility = lane{sim: t.sim, linger: settle.PollLinger}, lane{sim: t.sim, linger: settle.PollLinger}
	k.sends = lane{sim: t.sim, linger: settle.PollLinger}
	t.polling = append(t.polling, k)
	k.step()
}

// end ends a task's process.
func (t *task) end() {
	t.over, t.stopped = true, true
	t.polling = slices.DeleteFunc(t.polling, func(other *task) bool { return other == t })
}

// crash ends the process. SQS shows its records when their visibility timeouts end. Another one starts.
func (t *task) crash() {
	if t.over {
		return
	}
	t.end()
	for _, l := range []*lane{&t.deletes, &t.visibility, &t.sends} {
		l.drop()
	}
	t.r.Totals.Errors++
	for _, h := range t.holds {
		if h.state == runs {
			h.state, h.verdict.outcome = failed, crashes
			t.endAttempt(h)
		}
	}
	t.start()
}

// drain stops a task: records that wait are released, those that run have the drain limit. then is called
// when the process has ended.
func (t *task) drain(then func()) {
	t.stopped, t.drained = true, then
	t.polling = slices.DeleteFunc(t.polling, func(other *task) bool { return other == t })
	t.releaseAll()
	t.after(t.cfg.DrainLimit, t.cancelAll)
	t.after(0, t.step)
}

// cancelAll ends the contexts of the handlers of a task that drains: their records are released. Those that
// hang are left alone after a grace.
func (t *task) cancelAll() {
	if t.over {
		return
	}
	for _, h := range t.holds {
		for behind := h; h.state == runs && h.verdict.outcome != hangs && behind != nil; behind = behind.next {
			if behind == h {
				t.endAttempt(h)
				t.running--
			}
			t.held--
			behind.failed, behind.comesIn = t.now, 0
			t.visibility.add(behind, t.changeTen)
		}
		if h.verdict.outcome != hangs && h.state == runs {
			h.state = failed
		}
	}
	t.after(t.cfg.Engine.Grace, func() {
		t.running = 0
		t.step()
	})
	t.step()
}

// mayStart reports whether records may be received and started.
func (t *task) mayStart() bool { return !t.stopped && t.now >= t.abortedUntil }

// trial reports whether, after an abort, one record is tried alone.
func (t *task) trial() bool { return t.now < t.trialUntil }

// step does everything that is due.
func (t *task) step() {
	if t.over {
		return
	}
	t.receiveMore()
	t.run()
	t.flush(t.held == 0 || t.stopped && t.running == 0)
	if t.stopped && t.running == 0 {
		t.over = true
		t.drained()
	}
}

// flush makes the calls that wait, all or those that are due by themselves.
func (t *task) flush(all bool) {
	if all {
		t.deletes.flush()
		t.sends.flush()
		t.visibility.flush()
		t.deletes.flush()
	}
}

func (t *task) requested() int {
	switch {
	case !t.mayStart() || t.calls >= t.parallel:
		return 0
	case t.trial():
		return max(0, 1-t.held-t.calls)
	}
	return t.pace.Requested(t.time(t.now), longpoll.Demand{
		FIFO: t.s.Queue.FIFO, Slots: t.cfg.Engine.Concurrency, Busy: t.running + t.ready.len(), Held: t.held,
		Reserved: t.reserved, Calls: t.calls, Prefetch: t.cfg.Prefetch,
	})
}

// receiveMore begins receives as long as there is room for their messages.
func (t *task) receiveMore() {
	for n := t.requested(); n > 0; n = t.requested() {
		wait := t.rules.longPoll
		if !t.answered {
			wait = 0
		}
		t.calls++
		t.reserved += n
		t.queue.receive(min(n, t.rules.receive), t.cfg.Visibility, wait, func(list []delivery) { t.received(list, n) }).gone = &t.stopped
	}
}

// received holds the messages of a receive that asked for n.
func (t *task) received(list []delivery, n int) {
	t.calls--
	t.reserved -= n
	if t.over {
		return
	}
	t.answered = true
	t.parallel = longpoll.Parallel(t.parallel, t.calls, len(list) == n)
	all := make([]held, len(list))
	tails := map[*group]*held{}
	for k := range list {
		h := &all[k]
		h.delivery, h.shownBy = list[k], t.now+t.cfg.Visibility
		t.holds = append(t.holds, h)
		if tail := tails[h.group]; h.group != nil && tail != nil {
			tail.next = h
		} else {
			t.ready.push(h)
		}
		tails[h.group] = h
	}
	t.held += len(list)
	if len(list) >= 2 {
		t.keepApart(all, t.cfg.Visibility)
	}
	if t.stopped || t.now < t.abortedUntil {
		t.releaseAll()
	}
	t.sweepLater()
	t.step()
}

// run starts records while slots are free.
func (t *task) run() {
	for t.ready.len() > 0 && t.mayStart() {
		most := t.cfg.Engine.Concurrency
		if t.trial() {
			most = 1
		}
		if t.running >= most {
			break
		}
		h := t.ready.pop()
		t.running++
		t.beginAttempt(h)
		deadline := t.now + t.cfg.Engine.RecordTimeout
		t.until(h, deadline, func() { t.finish(h) })
		switch h.verdict.outcome {
		case crashes:
			t.at(min(h.began+h.verdict.takes, deadline), t.crash)
		case hangs:
			t.at(deadline+t.cfg.Engine.Grace, func() { t.abandon(h) })
		}
	}
}

// finish handles the end of a record's handler.
func (t *task) finish(h *held) {
	if t.over || h.state != runs {
		return
	}
	t.running--
	t.endAttempt(h)
	if h.began >= t.abortedUntil && h.verdict.outcome != aborts {
		t.trialUntil = 0
	}
	switch {
	case h.verdict.outcome == succeeds:
		h.done = true
		t.handled(h, handled)
	case h.verdict.outcome == isPermanent && t.s.Toolkit.OnPermanent == partialfailure.Drop:
		t.handled(h, handled)
	default:
		t.fail(h)
	}
	t.step()
}

// handled deletes a record, and makes the next one of its group ready.
func (t *task) handled(h *held, state heldState) {
	h.state = state
	t.held--
	t.pace.Done(t.time(t.now), 1, t.cfg.Prefetch, t.now-h.began)
	if next := h.next; next != nil {
		h.next = nil
		t.ready.unshift(next)
	}
	t.deletes.add(h, t.deleteTen)
}

// fail settles a record that failed, and those behind it.
func (t *task) fail(h *held) {
	h.failed = t.now
	t.abort(h)
	if h.next != nil && !t.stopped && t.deadLetters(h) {
		t.sendOne(h)
		t.handled(h, sentOff)
		return
	}
	n := 1
	for behind := h.next; behind != nil; behind = behind.next {
		behind.state, behind.failed = failed, h.failed
		t.r.Totals.Skipped++
		n++
	}
	h.state = failed
	t.held -= n
	t.pace.Done(t.time(t.now), n, t.cfg.Prefetch, t.now-h.began)
	if h.verdict.outcome == isPermanent && t.s.Toolkit.OnPermanent == partialfailure.DeadLetter && t.s.Queue.MaxReceiveCount > 0 {
		t.sends.add(h, t.sendTen)
		return
	}
	t.comeBack(h, t.waitOf(h))
}

// comeBack has a failed record and those behind it come back after a time.
func (t *task) comeBack(h *held, after time.Duration) {
	t.r.Totals.Retries++
	leave := h.verdict.outcome == hangs && h.failed+after <= h.shownBy
	for ; h != nil; h = h.next {
		switch {
		case h.state != failed:
		case leave:
			h.settled = true
		default:
			h.comesIn = after
			t.visibility.add(h, t.changeTen)
		}
	}
}

// abort stops receiving for the time that a record asks for, and releases those that wait.
func (t *task) abort(h *held) {
	if h.verdict.outcome != aborts || t.stopped {
		return
	}
	after := settle.WholeSeconds(h.verdict.after)
	until := t.now + after
	if until <= t.now || until <= t.abortedUntil {
		return
	}
	t.abortedUntil, t.trialUntil = until, until+min(after, longpoll.MaxTrial)
	t.releaseAll()
	t.at(until, t.step)
	t.at(t.trialUntil, t.step)
}

// releaseWaiting releases records that were not started.
func (t *task) releaseWaiting(such func(*held) bool) {
	t.ready.remove(func(h *held) bool {
		if !such(h) {
			return false
		}
		t.release(h)
		return true
	})
}

// releaseAll releases all records that were not started, those behind running ones as well.
func (t *task) releaseAll() {
	t.releaseWaiting(func(*held) bool { return true })
	for _, h := range t.holds {
		if h.state == runs {
			t.release(h.next)
			h.next = nil
		}
	}
}

// release has a record that was not started, and those behind it, come back: at once, or after an abort.
func (t *task) release(h *held) {
	for ; h != nil; h = h.next {
		h.state, h.failed, h.comesIn = unused, t.now, 0
		t.held--
		t.r.Totals.NotStarted++
		if t.abortedUntil > t.now { // no sooner than after a failure
			r := t.record(h)
			h.comesIn = settle.WholeSeconds(max(t.abortedUntil-t.now, t.policy.Backoff(&r, t.time(t.now))))
		}
		t.visibility.add(h, t.changeTen)
	}
}

// abandon gives up a handler that ignores the end of its context.
func (t *task) abandon(h *held) {
	if t.over || h.state != runs {
		return
	}
	t.running--
	t.endAttempt(h)
	t.r.Totals.Abandoned++
	if t.abandoned++; t.abandoned > t.cfg.MaxAbandoned && !t.stopped {
		t.drain(t.start)
	}
	if h.settled { // others may have it: it is left alone
		t.lose(h)
	} else {
		t.fail(h)
	}
	t.step()
}

// deleteTen deletes records in one call.
func (t *task) deleteTen(list []*held) {
	t.countDeletes(len(list))
	for _, h := range list {
		t.delete(h)
		h.settled = true
	}
	t.queue.serve()
}

// changeTen makes records come back, in one call.
func (t *task) changeTen(list []*held) {
	t.changeVisibility(list)
	for _, h := range list {
		h.settled = true
	}
}

// sendTen sends records to the dead-letter queue, in one call, and deletes them.
func (t *task) sendTen(list []*held) {
	t.countDeadLetters(len(list))
	for _, h := range list {
		h.state = sentOff
		t.deadLetter(h.message)
		t.deletes.add(h, t.deleteTen)
		for behind := h.next; behind != nil; behind = behind.next {
			behind.comesIn = 0
			t.visibility.add(behind, t.changeTen)
		}
	}
	t.step()
}

// sendOne sends a record to the dead-letter queue whose group goes on.
func (t *task) sendOne(h *held) {
	t.countDeadLetters(1)
	t.deadLetter(h.message)
}

// revoke gives up a record that SQS does not extend, because the message has expired or others have received
// it: its handler is cancelled, or not started. Those behind it are released.
func (t *task) revoke(h *held) {
	switch {
	case h.settled:
		return
	case h.state == runs && h.verdict.outcome == hangs:
		h.settled = true
		t.after(t.cfg.Engine.Grace, func() { t.abandon(h) })
		return
	case h.state == runs:
		t.running--
		t.endAttempt(h)
	case h.state == waits && t.ready.len() > 0:
		t.ready.remove(func(other *held) bool { return other == h })
	default:
		return
	}
	t.lose(h)
}

// lose drops a record that others may have, and releases those behind it.
func (t *task) lose(h *held) {
	h.state, h.settled = failed, true
	t.held--
	for behind := h.next; behind != nil; behind = behind.next {
		behind.state, behind.failed, behind.comesIn = unused, t.now, 0
		t.held--
		t.visibility.add(behind, t.changeTen)
	}
}

// sweepLater schedules the next sweep.
func (t *task) sweepLater() {
	if t.now < t.sweepAt || t.over {
		return
	}
	t.holds = slices.DeleteFunc(t.holds, func(h *held) bool { return h.settled })
	if len(t.holds) == 0 {
		return
	}
	t.sweepAt = t.now + longpoll.SweepEvery(t.cfg.Visibility)
	t.sweep()
	t.at(t.sweepAt, t.sweepLater)
}

// sweep extends records that are due, ten in a call, and releases those that have waited too long.
func (t *task) sweep() {
	n := 0
	for _, h := range t.holds {
		if h.settled || h.state == failed || h.state == unused || h.shownBy-t.now > longpoll.ExtendBelow(t.cfg.Visibility) {
			continue
		}
		n++
		if h.latest() {
			h.shownBy = max(h.shownBy, t.now+t.cfg.Visibility)
			t.queue.changeVisibility(&h.delivery, h.shownBy-t.now)
		} else {
			t.revoke(h)
		}
	}
	t.countVisibility(n)
	if !t.s.Queue.FIFO && t.ready.len() > 0 {
		t.releaseWaiting(func(h *held) bool { return h.at <= t.now-longpoll.MaxWaiting })
	}
	t.step()
}
