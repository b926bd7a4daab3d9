package dlq

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// A sender sends messages, and notes each step in the journal. Its methods may be called
// from several goroutines.
type sender struct {
	limiter *rate.Limiter    // nil for none
	journal *journal.Journal // nil in a dry run, and after its end
	result  *result

	mu      sync.Mutex
	pending map[string]*journal.Pending // of the run that is resumed
}

// A parcel is a message on its way.
type parcel struct {
	letter *letter.Letter
	to     *queue.Queue
	out    message.Message
	unsure bool // it may have been sent, by a killed run or a call that failed
}

// rounds divides parcels into parts that are sent one after another. In a round, no group
// of an ordered queue has two messages: the entries of a call fail one by one, so the second
// could arrive without the first.
func rounds(parcels []*parcel, ordered bool) (rounds [][]*parcel) {
	if !ordered {
		return [][]*parcel{parcels}
	}
	next := map[string]int{} // the round of a group's next message
	for _, p := range parcels {
		n := next[p.letter.GroupID]
		next[p.letter.GroupID] = n + 1
		if n == len(rounds) {
			rounds = append(rounds, nil)
		}
		rounds[n] = append(rounds[n], p)
	}
	return rounds
}

// burst is how many messages are sent at once.
func (s *sender) burst() int {
	if s.limiter == nil {
		return 10
	}
	return s.limiter.Burst()
}

// wait waits until n messages may be sent. It returns false if ctx ends before.
func (s *sender) wait(ctx context.Context, n int) bool {
	return s.limiter == nil || s.limiter.WaitN(ctx, n) == nil
}

// sendTo sends at most a burst of parcels to a queue. It returns the letters that SQS has
// confirmed, and the others. broken is an error that every further message to that queue would
// meet; err says that the run cannot go on.
func (s *sender) sendTo(ctx context.Context, to *queue.Queue, parcels []*parcel) (sent, failed []*letter.Letter, broken, err error) {
	entries, messages := make([]journal.Entry, len(parcels)), make([]message.Message, len(parcels))
	for i, p := range parcels {
		entries[i] = journal.Entry{ID: p.letter.ID, Handle: p.letter.Handle}
		messages[i] = p.out
	}
	began := time.Now()
	if err := s.journal.Sending(to.ARN, entries); err != nil {
		return nil, nil, nil, err
	}
	errs, unsure := to.Send(ctx, messages)
	var confirmed, twice, refused []string
	for i, p := range parcels {
		id, e := p.letter.ID, errs[i]
		p.unsure = p.unsure || unsure[i]
		if e == nil {
			sent = append(sent, p.letter)
			confirmed = append(confirmed, id)
			if p.unsure && !s.dropsCopy(to, id, began) {
				twice = append(twice, id)
			}
			continue
		}
		failed = append(failed, p.letter)
		s.result.failed(id, e)
		if p.unsure { // the journal keeps it open
			s.result.count(func(c *counts) { c.Unsure = append(c.Unsure, id) })
		} else {
			refused = append(refused, id)
		}
		broken = cmp.Or(broken, fatal(e))
	}
	s.result.sent(to.ARN, len(sent), twice)
	return sent, failed, broken, errors.Join(s.journal.Sent(confirmed, twice), s.journal.Failed(refused))
}

// deduplication is how long a FIFO queue remembers a deduplication id.
const deduplication = 5 * time.Minute

// dropsCopy reports whether a FIFO queue has dropped the second copy of a message that may
// have been sent before: it does for five minutes after the first.
func (s *sender) dropsCopy(to *queue.Queue, id string, sending time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := sending
	if p := s.pending[id]; p != nil {
		first = p.At
	}
	return to.FIFO() && time.Since(first) < deduplication
}

// end ends the journal, since nothing is left to be done.
func (s *sender) end() error {
	j := s.journal
	s.journal = nil
	return j.End()
}

// close closes the journal of a run that did not end.
func (s *sender) close() {
	if s.journal != nil {
		_ = s.journal.Close()
	}
}

// fatal returns an error that every further message would meet, else nil.
func fatal(err error) error {
	if err != nil && (sqserror.Lasts(err) || sqserror.Passing(err)) {
		return err
	}
	return nil
}
