package dlq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// A transfer sends messages to other queues and deletes them: replay and move.
//
// Nothing is lost: a message is deleted only after SQS has confirmed its copy. The journal
// has each step before it is taken, so that a run that was killed can go on without
// sending again what was sent. A message of which only the attempt is noted may have been
// sent; it is sent again and named, unless a FIFO queue drops the copy.
type transfer struct {
	sender // its pending has what could not be deleted, too
	from   *queue.Queue
	routes *routes
	pick   *picker
	edit   editor
	// dryRun counts what would be done.
	dryRun bool
	// move leaves the attribute of sqsbatch on.
	move    bool
	deleted ids // by the run that is resumed
	scan    *scan
}

// An editor changes a message before it is sent. keep false leaves it in the queue.
type editor func(ctx context.Context, l letter.Letter) (edited letter.Letter, keep bool, err error)

// each deals with messages that were received together.
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
			parcel.unsure = known
			parcels = append(parcels, parcel)
		}
	}
	if t.dryRun {
		return nil
	}
	stuck := map[string]bool{} // groups of which a message could not be sent
	for _, round := range rounds(parcels, t.pick.ordered) {
		delivered, err := t.send(ctx, round, stuck)
		sent = append(sent, delivered...)
		if err != nil {
			return errors.Join(err, t.delete(ctx, sent))
		}
	}
	if err := t.delete(ctx, sent); err != nil {
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
func (t *transfer) nothingOpen(a account) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.pending {
		if p.Handle != "" && (p.Sent || !a.sawAll()) {
			return false
		}
	}
	return len(t.result.now().Unsure) == 0
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
		switch v {
		case take:
		case over:
			t.stopAtLimit()
			return nil, nil
		default:
			return nil, nil
		}
	}
	if t.pick.isBlocked(l) {
		t.result.picked(behind)
		return nil, nil
	}
	stay := func(err error) (*parcel, error) {
		t.pick.stays(l)
		if ctx.Err() != nil || sqserror.Passing(err) {
			return nil, err
		}
		t.result.failed(l.ID, err)
		return nil, nil
	}
	to, err := t.routes.of(ctx, l)
	if err != nil {
		t.pick.stays(l)
		if ctx.Err() != nil {
			return nil, err
		}
		t.result.failed(l.ID, err) // of this queue only: messages for others go on
		return nil, nil
	}
	edited := *l
	if t.edit != nil {
		keep := false
		if edited, keep, err = t.edit(ctx, *l); err != nil {
			return stay(err)
		}
		if !keep {
			t.pick.stays(l)
			t.result.count(func(c *counts) { c.LeftByEdit++ })
			return nil, nil
		}
	}
	if t.dryRun {
		t.result.routed(to.ARN, 1)
		if t.edit != nil {
			t.result.edited(*l, edited)
		}
	}
	return &parcel{letter: l, to: to, out: t.outgoing(l, &edited, to)}, nil
}

// outgoing is the message that is sent. On a FIFO queue its deduplication id is the id
// that it has in the dead-letter queue: its own might be that of another message, which
// SQS would drop, and one that is made anew would let a second copy through.
func (t *transfer) outgoing(l, edited *letter.Letter, to *queue.Queue) message.Message {
	m := edited.Message
	if _, has := m.Attributes[partialfailure.OriginAttribute]; has && !t.move {
		m.Attributes = maps.Clone(m.Attributes)
		delete(m.Attributes, partialfailure.OriginAttribute)
	}
	if to.FIFO() {
		m.DeduplicationID = l.ID
	}
	return m
}

// send sends parcels, each to its queue, and returns the letters whose copies SQS has
// confirmed. It adds the groups of others to stuck. An error says that the run cannot go
// on.
func (t *transfer) send(ctx context.Context, parcels []*parcel, stuck map[string]bool) (delivered []*letter.Letter, err error) {
	byQueue := map[*queue.Queue][]*parcel{}
	for _, p := range parcels {
		if t.pick.ordered && stuck[p.letter.GroupID] {
			t.result.picked(behind)
			continue
		}
		byQueue[p.to] = append(byQueue[p.to], p)
	}
	for to, list := range byQueue {
		for part := range slices.Chunk(list, t.burst()) {
			if !t.wait(t.scan.ending, len(part)) {
				continue // the run is to end
			}
			for _, p := range part {
				p.letter.Handle = t.scan.hold.handle(p.letter)
			}
			sent, failed, broken, err := t.sendTo(ctx, to, part)
			delivered = append(delivered, sent...)
			for _, l := range failed {
				t.pick.stays(l)
				stuck[l.GroupID] = true
			}
			if broken != nil && (ctx.Err() != nil || !t.routes.without(to.ARN, broken)) {
				err = errors.Join(broken, err)
			}
			if err != nil {
				return delivered, err
			}
		}
	}
	return delivered, nil
}

// delete deletes what was sent.
func (t *transfer) delete(ctx context.Context, letters []*letter.Letter) error {
	left := map[string]*journal.Pending{}
	deleted, err := t.scan.delete(ctx, letters, func(l *letter.Letter, _ error) {
		left[l.ID] = &journal.Pending{Entry: journal.Entry{ID: l.ID, Handle: l.Handle}, Sent: true}
	})
	t.mu.Lock()
	for _, l := range letters {
		delete(t.pending, l.ID)
	}
	maps.Copy(t.pending, left)
	t.mu.Unlock()
	t.result.count(func(c *counts) { c.Deleted += len(deleted) })
	return errors.Join(err, t.journal.Deleted(deleted))
}

// resume takes over the state of a run that was killed, and deletes what it had sent. SQS
// confirms a deletion with a handle that is no longer valid, so these messages stay known
// until the queue is empty.
func (t *transfer) resume(ctx context.Context, s *journal.State) error {
	t.pending = s.Pending
	t.pick.taken = s.Sent
	var list []*journal.Pending
	var handles []string
	for _, p := range s.Pending {
		if p.Sent {
			list, handles = append(list, p), append(handles, p.Handle)
		} else {
			t.pick.taken++
		}
	}
	for i, err := range t.from.Delete(ctx, handles) {
		if e := fatal(err); e != nil {
			return fmt.Errorf("deleting what the interrupted run has sent: %w", e)
		}
		list[i].Handle = "" // used up, whatever became of it
	}
	return nil
}
