package longpoll

import (
	"slices"
	"time"
)

// load is what this poller holds; the poller's lock guards it.
type load struct {
	held    int // records that wait or run
	running int // chains that have a slot
	waiting []*chain

	// byID has every message that is held, or done and not deleted yet.
	byID map[string]*message
	// groups has the FIFO groups of which a chain waits or runs, with those
	// that came after it.
	groups    map[string][]*chain
	begun     map[*chain]struct{}
	recent    recent
	abandoned int // handlers that were given up and still run

	extensionsFail bool // since the latest call
	extensionLine  line
	extensionTries int       // that failed since then
	extendAfter    time.Time // the next one

	finished []time.Time   // of the latest records, for ahead
	pace     time.Duration // how long they took, on average
}

// Records are received ahead for the slots to take soon, judged by what they
// took lately.
const (
	horizon     = time.Second            // for as many records as there are slots
	slowReceive = 100 * time.Millisecond // for more: what a slow receive takes must not leave slots idle
)

// ahead is how many records may wait for one of the slots.
func (l *load) ahead(now time.Time, slots, most int) int {
	l.finished = l.finished[l.finishedBefore(now.Add(-horizon)):]
	n := min(len(l.finished), max(slots, maxReceive))
	lately := len(l.finished) - l.finishedBefore(now.Add(-slowReceive))
	if l.pace > 0 { // they may have finished all at once, and be slow nevertheless
		n = min(n, int(time.Duration(slots)*horizon/l.pace))
		lately = min(lately, int(time.Duration(slots)*slowReceive/l.pace))
	}
	return min(most, max(n, lately))
}

// finishedBefore counts the records in finished that are older than t.
func (l *load) finishedBefore(t time.Time) int {
	n, _ := slices.BinarySearchFunc(l.finished, t, time.Time.Compare)
	return n
}

// finish notes that records need no slot any more, of which the first was
// handled in the time that it took.
func (l *load) finish(n, most int, took time.Duration) {
	l.held -= n
	if l.pace == 0 {
		l.pace = took
	}
	l.pace += (took - l.pace) / 16
	now := time.Now()
	for range n {
		l.finished = append(l.finished, now)
	}
	if extra := len(l.finished) - most; extra > 0 {
		l.finished = l.finished[extra:]
	}
}

// takeIn puts chains in line for a slot, or makes them visible again if nothing
// is started any more. The caller holds the lock.
func (p *Poller) takeIn(list []*chain) {
	l := &p.load
	var back []*message
	for _, c := range list {
		if !p.adopt(c) {
			continue
		}
		if p.phase != polling || p.paused || p.aborted(time.Now()) || p.settling.deletes.refused && p.deletesHold(time.Now()) {
			for i := range c.messages {
				back = append(back, &c.messages[i])
			}
			continue
		}
		for i := range c.messages {
			l.byID[c.records[i].MessageID] = &c.messages[i]
		}
		l.held += len(c.records)
		if c.group != "" {
			line, busy := l.groups[c.group]
			if busy {
				l.groups[c.group] = append(line, c)
				continue
			}
			l.groups[c.group] = nil
		}
		l.waiting = append(l.waiting, c)
	}
	p.releaseAll(back)
	p.sweepOn()
}

// adopt finds what of a chain is known already: SQS delivers a message again
// when its visibility could not be extended, and standard queues now and then
// for no reason. One that is held goes on with the new receipt handle; one that
// was handled is deleted by it, and not handled again. It reports whether
// anything new is left, which c then holds.
func (p *Poller) adopt(c *chain) bool {
	fresh := &chain{group: c.group}
	for i := range c.messages {
		m, id := &c.messages[i], c.records[i].MessageID
		held := p.load.byID[id]
		switch {
		case held != nil && held.state != failed:
			held.handle, held.receivedAt, held.visibleAt, held.extendAt = m.handle, m.receivedAt, m.visibleAt, m.extendAt
			held.lost = false
			p.counts.Repeated++
		case held == nil && p.load.recent.has(id):
			p.counts.Repeated++
			p.deleteAgain(c.records[i], *m)
		default:
			fresh.records = append(fresh.records, c.records[i])
			fresh.messages = append(fresh.messages, *m)
		}
	}
	if len(fresh.records) == len(c.records) {
		return true
	}
	if len(fresh.records) == 0 {
		return false
	}
	*c = *fresh
	c.open = len(c.records)
	for i := range c.messages {
		c.messages[i].chain, c.messages[i].index = c, i
	}
	return true
}

// pump gives free slots to what waits.
func (p *Poller) pump() {
	for {
		p.mu.Lock()
		c := p.next()
		p.mu.Unlock()
		if c == nil {
			return
		}
		p.start(c)
	}
}

// pop takes the first chain in line.
func (l *load) pop() *chain {
	c := l.waiting[0]
	l.waiting[0] = nil
	l.waiting = l.waiting[1:]
	return c
}

// next takes the first chain in line, if there is a slot for it.
func (p *Poller) next() *chain {
	l := &p.load
	for p.phase == polling && p.fatal == nil && !p.paused && len(l.waiting) > 0 {
		now := time.Now()
		if l.running >= p.slots(now) || p.deletesHold(now) {
			return nil
		}
		c := l.pop()
		if p.expired(c) || p.tooLate(c) {
			continue
		}
		for i := range c.messages {
			c.messages[i].state = begun
		}
		c.started, c.times = now, p.times(c)
		l.running++
		l.begun[c] = struct{}{}
		return c
	}
	return nil
}

// expired drops a chain of which a message may be visible to others again
// before it was started, and what came behind it of its group.
func (p *Poller) expired(c *chain) bool {
	now, lost := time.Now(), 0
	for i := range c.messages {
		if p.lapsed(&c.messages[i], now) {
			lost++
		}
	}
	if lost == 0 {
		return false
	}
	p.giveBackLine(c)
	return true
}

// giveBackLine makes visible what a chain holds that was not started, and what
// came behind it of its group, which must not overtake it.
func (p *Poller) giveBackLine(c *chain) {
	list := append([]*chain{c}, p.load.groups[c.group]...)
	if c.group != "" {
		p.load.groups[c.group] = nil
	}
	var back []*message
	for _, c := range list {
		back = append(back, p.giveBack(c)...)
	}
	p.leave(c)
	p.releaseAll(back)
	p.receiveMore() // what they held is free
}

// lapsed reports whether others may have a message, and counts it when that is
// new. The caller holds the lock.
func (p *Poller) lapsed(m *message, now time.Time) bool {
	if !m.lost && !m.visibleAt.After(now) {
		m.lost = true
		p.counts.Lost++
	}
	return m.lost
}

// maxWaiting is how long a record of a standard queue waits for a slot here.
const maxWaiting = 20 * time.Second

// giveUpWaiting makes visible what has waited long, behind records that take
// longer than those before: another task may have a slot for it. A FIFO queue's
// stay, since their groups are locked by what runs.
func (p *Poller) giveUpWaiting(now time.Time) {
	if p.fifo() {
		return
	}
	l := &p.load
	for len(l.waiting) > 0 && now.Sub(l.waiting[0].messages[0].receivedAt) >= maxWaiting {
		p.releaseAll(p.giveBack(l.pop()))
	}
}

// tooLate gives back a chain that has waited so long that, without heartbeats,
// less time is left than records take, and what came behind it of its group.
func (p *Poller) tooLate(c *chain) bool {
	first := &c.messages[0]
	if !p.cfg.NoHeartbeat || time.Since(first.receivedAt) < time.Second || time.Until(p.times(c).Cutoff) >= p.load.pace {
		return false
	}
	p.giveBackLine(c)
	return true
}

// giveBack ends the holding of a chain that was not started, and returns those
// of its messages that this poller can make visible. The caller holds the lock.
func (p *Poller) giveBack(c *chain) (back []*message) {
	p.load.held -= len(c.records)
	for i := range c.messages {
		m := &c.messages[i]
		m.state = failed
		if p.lapsed(m, time.Now()) {
			p.forget(m)
		} else {
			back = append(back, m)
		}
	}
	return back
}

// leave lets the next chain of c's group come after c.
func (p *Poller) leave(c *chain) {
	l := &p.load
	if c.group == "" {
		return
	}
	line := l.groups[c.group]
	if len(line) == 0 {
		delete(l.groups, c.group)
		return
	}
	l.groups[c.group] = line[1:]
	l.waiting = append(l.waiting, line[0])
}

// forget ends the holding of a message; the caller holds the lock.
func (p *Poller) forget(m *message) {
	id := m.record().MessageID
	if p.load.byID[id] == m {
		delete(p.load.byID, id)
	}
}
