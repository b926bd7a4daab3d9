package dlq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

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
	from   *queue.Queue
	routes *routes
	pick   *picker
	edit   editor
	// dryRun counts what would be done.
	dryRun bool
	// move leaves the attribute of sqsbatch on.
	move    bool
	limiter *rate.Limiter // nil for none
	journal *journal.Journal
	deleted ids // by the run that is resumed
	scan    *scan
	result  *result

	mu      sync.Mutex
	pending map[string]*journal.Pending // of the run that is resumed, and what could not be deleted
}

// An editor changes a message before it is sent. keep false leaves it in the queue.
type editor func(ctx context.Context, l letter.Letter) (edited letter.Letter, keep bool, err error)

// A parcel is a message on its way.
type parcel struct {
	letter *letter.Letter
	to     *queue.Queue
	out    message.Message
	unsure bool // a killed run may have sent it
}

// each deals with messages that were received together.
func (t *transfer) each(ctx context.Context, letters []letter.Letter) error {
	var parcels []*parcel
	var sent []*letter.Letter // before; only their deletion is missing
	for i := range letters {
		l := &letters[i]
		p, known := t.known(l)
		switch {
		case known && p == nil: // SQS delivered it once more, after it was deleted
			sent = append(sent, l)
			continue
		case known && p.Sent:
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
	for _, round := range rounds(parcels, t.pick.ordered, func(p *parcel) string { return p.letter.GroupID }) {
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
	if t.pick.full() && !t.waits() {
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

// waits reports whether there are messages that a killed run has sent or may have sent,
// and that have not come up yet.
func (t *transfer) waits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.pending) > 0
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
			t.result.failed(l, err)
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
		t.result.failed(l, err)
		return nil, nil
	}
	to, err := t.routes.of(ctx, l)
	if err != nil {
		return stay(err)
	}
	edited := *l
	if t.edit != nil {
		keep := false
		if edited, keep, err = t.edit(ctx, *l); err != nil {
			return stay(err)
		}
		if !keep {
			t.pick.stays(l)
			t.result.leftByEdit()
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

// rounds divides messages into parts that are sent one after another. In a round, no group
// of an ordered queue has two messages: the entries of a call fail one by one, so the second
// could arrive without the first.
func rounds[M any](messages []M, ordered bool, groupOf func(M) string) (rounds [][]M) {
	if !ordered {
		return [][]M{messages}
	}
	next := map[string]int{} // the round of a group's next message
	for _, m := range messages {
		group := groupOf(m)
		n := next[group]
		next[group] = n + 1
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], m)
	}
	return rounds
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
		for len(list) > 0 && err == nil {
			n := min(len(list), t.burst())
			var part []*letter.Letter
			part, err = t.sendTo(ctx, to, list[:n], stuck)
			delivered = append(delivered, part...)
			list = list[n:]
		}
	}
	return delivered, err
}

// burst is how many messages are sent at once.
func (t *transfer) burst() int {
	if t.limiter == nil {
		return 10
	}
	return min(10, t.limiter.Burst())
}

func (t *transfer) sendTo(ctx context.Context, to *queue.Queue, parcels []*parcel, stuck map[string]bool) (delivered []*letter.Letter, err error) {
	if t.limiter != nil {
		if err := t.limiter.WaitN(t.scan.ending, len(parcels)); err != nil {
			return nil, nil // the run is to end
		}
	}
	entries, messages := make([]journal.Entry, len(parcels)), make([]message.Message, len(parcels))
	for i, p := range parcels {
		entries[i] = journal.Entry{ID: p.letter.ID, Handle: t.scan.hold.handle(p.letter)}
		messages[i] = p.out
	}
	began := time.Now()
	if err := t.journal.Sending(to.ARN, entries); err != nil {
		return nil, err
	}
	errs, unsure := to.Send(ctx, messages)
	var sent, twice, failed []string
	for i, p := range parcels {
		id := p.letter.ID
		switch e := errs[i]; {
		case e == nil:
			sent = append(sent, id)
			delivered = append(delivered, p.letter)
			if (p.unsure || unsure[i]) && !t.dropsCopy(to, id, began) {
				twice = append(twice, id)
			}
			continue
		case p.unsure || unsure[i]: // it may have been sent, so the journal keeps it open
			t.result.unsure(p.letter, e)
			err = first(err, fatal(e))
		default:
			failed = append(failed, id)
			t.result.failed(p.letter, e)
			err = first(err, fatal(e))
		}
		t.pick.stays(p.letter)
		stuck[p.letter.GroupID] = true
	}
	t.result.sent(to.ARN, len(sent), twice)
	return delivered, errors.Join(err, t.journal.Sent(sent, twice), t.journal.Failed(failed))
}

// deduplication is how long a FIFO queue remembers a deduplication id.
const deduplication = 5 * time.Minute

// dropsCopy reports whether a FIFO queue has dropped the second copy of a message that may
// have been sent before: it does for five minutes after the first.
func (t *transfer) dropsCopy(to *queue.Queue, id string, sending time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := sending
	if p := t.pending[id]; p != nil {
		first = p.At
	}
	return to.FIFO() && time.Since(first) < deduplication
}

// fatal returns an error that every further message would meet, else nil.
func fatal(err error) error {
	if err != nil && (sqserror.Lasts(err) || sqserror.Passing(err)) {
		return err
	}
	return nil
}

// first is the first error of two.
func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// delete deletes what was sent.
func (t *transfer) delete(ctx context.Context, letters []*letter.Letter) error {
	left := map[string]*journal.Pending{}
	deleted, err := t.scan.delete(ctx, letters, func(l *letter.Letter, _ error) {
		left[l.ID] = &journal.Pending{Entry: journal.Entry{ID: l.ID, Handle: l.Handle}, Sent: true}
	})
	t.settle(letters, left)
	t.result.deleted(len(deleted))
	return errors.Join(err, t.journal.Deleted(deleted))
}

// settle notes which of the messages that were to be deleted are left.
func (t *transfer) settle(letters []*letter.Letter, left map[string]*journal.Pending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range letters {
		delete(t.pending, l.ID)
	}
	if t.pending == nil {
		t.pending = map[string]*journal.Pending{}
	}
	maps.Copy(t.pending, left)
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
