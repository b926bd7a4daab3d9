package simulate

import (
	"cmp"
	"slices"
)

// groupKey names a message group.
type groupKey struct{ queue, id string }

// members are the messages of each group in the order in which they were sent.
func (c *checker) members() map[groupKey][]*story {
	members := map[groupKey][]*story{}
	for _, m := range c.ordered {
		if m.queue.FIFO() {
			g := groupKey{m.queue.Name, m.sent.MessageGroupID}
			members[g] = append(members[g], m)
		}
	}
	for _, list := range members {
		slices.SortFunc(list, func(a, b *story) int { return cmp.Compare(a.sent.SequenceNumber, b.sent.SequenceNumber) })
	}
	return members
}

// groups: Ordered, of both modes.
func (c *checker) groups() {
	members := c.members()
	type place struct {
		groupKey
		process *Process // nil on Lambda
	}
	running := map[place]*Handling{} // the latest of each group
	for _, h := range c.Handlings {
		m := c.messages[h.MessageID]
		if m == nil || !m.queue.FIFO() || h.Told && c.Blocked[h.Receipt] { // it was written before the hook blocked
			continue
		}
		g := groupKey{m.queue.Name, m.sent.MessageGroupID}
		for _, earlier := range members[g] {
			if earlier == m {
				break
			}
			if !c.done(earlier, h) {
				c.violated(Ordered, h.Started, "%v of group %s is handled before %v, which was sent before it and is not done", m, h.Group, earlier)
			}
		}
		at := place{g, h.Process}
		if before := running[at]; before != nil && c.overlap(before, h) {
			c.violated(Ordered, h.Started, "%v of group %s is handled while message %d still is", m, h.Group, before.Number)
		}
		running[at] = h
	}
}

// done reports whether nothing of a message was left to do when a handling of a later
// one of its group began, or only to delete it by the same invocation or process.
func (c *checker) done(m *story, when *Handling) bool {
	if m.gone.Before(when.Started) || c.heldAtLast(m, when.Started) {
		return true
	}
	return slices.ContainsFunc(c.Handlings, func(h *Handling) bool {
		return h.MessageID == m.id && h.Invocation == when.Invocation && h.Process == when.Process &&
			(h.End.done() && h.Ended.Before(when.Started) || h.endsBefore(when.Started) && c.buried(h, when.Started))
	})
}

// overlap reports whether a handling was not over when the next one of its group began.
func (c *checker) overlap(before, next *Handling) bool {
	if next.Process != nil {
		return before.overIn().At.After(next.Started.At)
	}
	return !before.over().Before(next.Started) && !(before.late() && c.buried(before, next.Started))
}

// over is when a handling ended for all that its group knows: it returned, its
// invocation was answered without it, or its environment died.
func (h *Handling) over() Moment {
	first := h.Ended
	for _, m := range []Moment{h.Invocation.Answered, h.Invocation.Killed} {
		if m.Before(first) {
			first = m
		}
	}
	return first
}
