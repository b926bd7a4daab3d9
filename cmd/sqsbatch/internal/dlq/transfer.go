package dlq

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// each deals with messages that were received together.
//
// Nothing is lost: a message is deleted only after SQS has confirmed its copy. The journal
// has each step before it is taken, so that a run that was killed can go on without
// sending again what was sent. A message of which only the attempt is noted may have been
// sent; it is sent again and named, unless a FIFO queue drops the copy.
func (t *transfer) each(ctx context.Context, letters []letter.Letter) error {
	var parcels []*parcel
	var sent []*letter.Letter // before; only their deletion is missing
	for i := range letters {
		l := &letters[i]
		p, known := t.known(l)
		if known && (p == nil || p.Sent) { // nil: SQS delivered it once more, after it was deleted
			sent = append(sent, l)
			continue
		}
		parcel, err := t.prepare(ctx, l, known)
		if err != nil {
			return err
		}
		if parcel != nil {
			parcels = append(parcels, parcel)
		}
	}
	if t.dryRun() {
		return nil
	}
	delivered, err := t.deliver(t.scan.ending, ctx, parcels, 1)
	if err := errors.Join(err, t.delete(ctx, append(sent, delivered...))); err != nil {
		return err
	}
	t.stopAtLimit()
	return nil
}

// stopAtLimit ends receiving once the limit is reached, unless messages of the run that is
// resumed are still to come.
func (t *transfer) stopAtLimit() {
	t.mu.Lock()
	waits := len(t.pending) > 0 // for messages that a killed run has sent, or may have sent
	t.mu.Unlock()
	if t.pick.full() && !waits {
		t.scan.stop()
	}
}

// known reports whether a message was dealt with before. p is nil if it was deleted.
func (t *transfer) known(l *letter.Letter) (p *journal.Pending, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.pending[l.ID]; p != nil {
		return p, true
	}
	return nil, t.scan.hold.wasDeleted(l.ID)
}

// nothingOpen reports whether no message was sent without being deleted, and none may have
// been. Messages of the run that is resumed which are not in the queue any more are done.
func (t *transfer) nothingOpen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.result.now()
	for _, p := range t.pending {
		if p.Handle != "" && (p.Sent || !c.sawAll()) {
			return false
		}
	}
	return len(c.Unsure) == 0
}

// undeleted is how many messages were sent and not deleted.
func (t *transfer) undeleted() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pending {
		if p.Sent && p.Handle != "" {
			n++
		}
	}
	return n
}

// prepare decides about a message: it returns nil for one that stays. A message that a
// killed run may have sent was selected then.
func (t *transfer) prepare(ctx context.Context, l *letter.Letter, again bool) (*parcel, error) {
	if !again {
		v, err := t.pick.pick(l)
		if err != nil {
			t.result.failed(l.ID, err)
			return nil, nil
		}
		t.result.picked(v)
		if v == over {
			t.stopAtLimit()
		}
		if v != take {
			return nil, nil
		}
	}
	if t.pick.isBlocked(l) {
		t.result.picked(behind)
		return nil, nil
	}
	edited, keep := *l, true
	to, err := t.routes.of(l)
	if err == nil && t.edit != nil {
		edited, keep, err = t.edit(ctx, *l)
	}
	if err != nil || !keep {
		t.pick.stays(l)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil: // of this queue only: messages for others go on
		t.result.failed(l.ID, err)
		return nil, nil
	case !keep:
		t.result.count(func(c *counts) { c.LeftByEdit++ })
		return nil, nil
	}
	if t.dryRun() {
		t.result.count(func(c *counts) { c.routed(to.ARN, 1) })
		if t.edit != nil {
			t.result.edited(*l, edited)
		}
	}
	return &parcel{letter: l, to: to, out: t.outgoing(l, &edited, to), unsure: again}, nil
}

// outgoing is the message that is sent. On a FIFO queue its deduplication id is the id
// that it has in the dead-letter queue: its own might be that of another message, which
// SQS would drop, and one that is made anew would let a second copy through.
func (t *transfer) outgoing(l, edited *letter.Letter, to *queue.Queue) message.Message {
	m := edited.Message
	if _, has := m.Attributes[partialfailure.OriginAttribute]; has && !t.isMove() {
		m.Attributes = maps.Clone(m.Attributes)
		delete(m.Attributes, partialfailure.OriginAttribute)
	}
	if to.FIFO() {
		m.DeduplicationID = l.ID
	}
	return m
}

// delete deletes what was sent.
func (t *transfer) delete(ctx context.Context, letters []*letter.Letter) error {
	left := map[string]*journal.Pending{}
	deleted, err := t.deleteReceived(ctx, letters, func(l *letter.Letter, _ error) {
		left[l.ID] = &journal.Pending{Entry: journal.Entry{ID: l.ID, Handle: l.Handle}, Sent: true}
	})
	t.mu.Lock()
	for _, l := range letters {
		delete(t.pending, l.ID)
	}
	maps.Copy(t.pending, left)
	t.mu.Unlock()
	return errors.Join(err, t.journal.Deleted(deleted))
}

// takeOver takes over the state of a run that was killed, and deletes what it had sent. SQS
// confirms a deletion with a handle that is no longer valid, so these messages stay known
// until the queue is empty.
func (t *transfer) takeOver(ctx context.Context) error {
	t.pick.taken = t.state.Sent
	var list []*journal.Pending
	var handles []string
	for _, p := range t.pending {
		if p.Sent {
			list, handles = append(list, p), append(handles, p.Handle)
		} else {
			t.pick.taken++
		}
	}
	for i, err := range t.queue.Delete(ctx, handles) {
		if e := fatal(err); e != nil {
			return fmt.Errorf("deleting what the interrupted run has sent: %w", e)
		}
		list[i].Handle = "" // used up, whatever became of it
	}
	return nil
}
