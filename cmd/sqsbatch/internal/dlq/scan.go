package dlq

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// A scan receives every message of a queue once. It holds what it received until its end,
// so that nothing comes twice, and then makes it visible again.
type scan struct {
	queue   *queue.Queue
	workers int
	say     func(format string, args ...any)

	hold      *hold
	ending    context.Context // ended by an interrupt or an error: nothing waits any more
	end       context.CancelCauseFunc
	receiving context.Context // ended by stop
	stop      context.CancelFunc

	mu       sync.Mutex
	inHand   int       // batches that are dealt with
	active   time.Time // when the last batch came or was done
	full     bool      // holdLimit was reached
	received int
	expected int // what the queue had when the scan began, about
	size     int // bytes of the largest messages of late; 0 before the first
	// waitingUntil is until when it waits for hidden messages; zero once some have come.
	waitingUntil time.Time

	// The state of more.
	empty  int       // rounds since the last wait
	waited bool      // for messages that were hidden, before the last round
	said   time.Time // until when more has said that it waits
}

func (s *session) newScan(workers int) *scan {
	q := s.queue
	scan := &scan{queue: q, workers: workers, say: s.status.say, hold: &hold{queue: q, byID: map[string]*held{}, deleted: ids{}}, expected: q.Visible + q.InFlight}
	scan.ending, scan.end = context.WithCancelCause(context.Background())
	scan.receiving, scan.stop = context.WithCancel(scan.ending)
	return scan
}

// An account says how a scan ended.
type account struct {
	// Received is how many messages were received.
	Received int `json:"received"`
	// Unseen is about how many messages were there and could not be received: those of
	// FIFO groups behind messages that are held, and those beyond the number that may be
	// in flight.
	Unseen int `json:"unseen"`
	// Newer is about how many messages became visible while the scan ended.
	Newer int `json:"newer"`
	// Elsewhere is about how many messages another reader has in flight.
	Elsewhere int `json:"inFlightElsewhere"`
	// Hidden is how many messages could not be made visible; they appear by themselves.
	Hidden int `json:"stillHidden"`
	// Whole reports whether the queue was received to its end.
	Whole bool `json:"-"`
}

// sawAll reports whether a message that was not received is not in the queue.
func (a *account) sawAll() bool { return a.Whole && a.Unseen+a.Newer+a.Elsewhere == 0 }

// run scans until the queue is empty, stop is called, soft ends, or an error comes up. each
// deals with letters that were received together, in the order of the queue. It calls
// [hold.drop] for those that it deleted. Its error ends the scan. When kill ends, run gives up
// at once: what is held appears by itself when its time is over.
func (s *scan) run(soft, kill context.Context, each func(context.Context, []letter.Letter) error) (a account, err error) {
	defer context.AfterFunc(soft, func() { s.end(nil) })()
	defer s.end(nil)
	extending, stopExtending := context.WithCancel(kill)
	var extended sync.WaitGroup
	extended.Go(func() { s.hold.extend(extending, kill) })
	for more := true; more; {
		// A round receives with all workers until each of them finds the queue empty.
		var workers sync.WaitGroup
		for range s.workers {
			workers.Go(func() {
				if err := s.work(kill, each); err != nil {
					s.end(err)
				}
			})
		}
		if workers.Wait(); s.receiving.Err() != nil || kill.Err() != nil {
			break
		}
		if more, err = s.more(kill, &a); err != nil {
			s.end(err)
		}
		a.Whole = !more && err == nil
	}
	stopExtending()
	extended.Wait()
	a.Received = s.received
	a.Hidden = s.hold.len()
	if kill.Err() == nil {
		a.Hidden = s.hold.release(kill)
	}
	if err = context.Cause(s.ending); errors.Is(err, context.Canceled) { // by an interrupt
		err = nil
	}
	return a, errors.Join(err, kill.Err())
}

// work is one worker. An open receive is never cut off, because what it receives would be
// hidden.
func (s *scan) work(kill context.Context, each func(context.Context, []letter.Letter) error) error {
	for s.receiving.Err() == nil && kill.Err() == nil {
		if s.hold.len() >= holdLimit {
			s.mu.Lock()
			s.full = true
			s.mu.Unlock()
			return nil
		}
		began := time.Now()
		asked := s.batch()
		letters, err := s.queue.Receive(kill, asked, hidden)
		if err != nil {
			return err
		}
		if len(letters) == 0 {
			if s.drained(began) {
				return nil
			}
			continue
		}
		few := len(letters) < asked
		s.take(letters)
		err = each(kill, s.hold.add(letters))
		if last := s.dealt(few); err != nil || last {
			return err
		}
	}
	return nil
}

// deleteReceived deletes messages, counts them, and returns the ids of those that were not
// deleted before. It calls failed for those that it could not delete. err is one that every
// further message would meet.
func (s *session) deleteReceived(ctx context.Context, letters []*letter.Letter, failed func(*letter.Letter, error)) (deleted []string, err error) {
	hold := s.scan.hold
	for len(letters) > 0 {
		handles := make([]string, len(letters))
		for i, l := range letters {
			handles[i] = hold.handle(l)
		}
		var again []*letter.Letter
		for i, e := range s.queue.Delete(ctx, handles) {
			l := letters[i]
			if e != nil {
				failed(l, e)
				err = cmp.Or(err, fatal(e))
				continue
			}
			switch isNew, ok := hold.drop(l.ID, handles[i]); {
			case !ok:
				again = append(again, l)
			case isNew:
				deleted = append(deleted, l.ID)
			}
		}
		letters = again
	}
	s.result.count(func(c *counts) { c.Deleted += len(deleted) })
	return deleted, err
}

func (s *scan) take(letters []letter.Letter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inHand++
	s.received += len(letters)
	s.active, s.waitingUntil = time.Now(), time.Time{}
	s.size = max(1, s.size*7/8)
	for i := range letters {
		s.size = max(s.size, letters[i].Size())
	}
}

// handful is about how many bytes a worker receives at once, which bounds the memory: it is
// needed several times, in the text of answers and requests.
const handful = 512 << 10

// batch is how many messages a worker receives at once: one until the first messages show
// their size. Those of a FIFO queue come in tens however large they are: SQS shows no more of
// a group while its first messages are held.
func (s *scan) batch() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.queue.FIFO():
		return 10
	case s.size == 0:
		return 1
	}
	return max(1, min(10, handful/s.size))
}

// dealt notes that a worker has dealt with some messages. It reports whether they are the
// last ones: more messages were received than the queue had, and fewer than asked for came at
// once. The others come as fast as senders send them, so waiting for an empty answer might
// not end.
func (s *scan) dealt(few bool) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inHand--
	s.active = time.Now()
	return few && s.received > s.expected
}

// drained reports whether a receive that began at a time and returned nothing shows that
// the queue is empty. While another worker has messages in hand it does not: deleting them
// makes the next ones of their FIFO groups visible.
func (s *scan) drained(began time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inHand == 0 && !began.Before(s.active)
}

// emptyRounds is how many more rounds there are although SQS counts messages: its counts are
// approximate, and messages may come as fast as they are received.
const emptyRounds = 3

// more asks SQS whether there are more messages, and waits for those that are hidden
// although nobody holds them.
func (s *scan) more(kill context.Context, a *account) (bool, error) {
	if err := s.queue.Refresh(kill); err != nil {
		return false, err
	}
	a.Elsewhere = max(0, s.queue.InFlight-s.hold.len())
	a.Unseen, a.Newer = s.queue.Visible, 0
	if !s.full && !s.queue.FIFO() {
		a.Unseen, a.Newer = 0, s.queue.Visible
	}
	switch until, by := s.queue.HiddenUntil(); {
	case s.full:
		return false, nil
	case a.Elsewhere > 0 && time.Now().Before(until):
		s.empty, s.waited = 0, true
		return s.wait(a.Elsewhere, until, by), nil
	case a.Unseen+a.Newer > 0 && s.waited: // they became visible after the last receive
		s.waited = false
		return true, nil
	case a.Newer > 0 && s.empty < emptyRounds:
		s.empty++
		return true, nil
	}
	return false, nil
}

// wait waits a moment for n messages that are hidden, and says so at first, because the wait may
// take minutes. It returns false if the scan is to end.
func (s *scan) wait(n int, until time.Time, by string) bool {
	if !until.Equal(s.said) {
		s.said = until
		s.say("waiting for %s that %s may have hidden, at most until %s", count(n), by, until.Local().Format(time.TimeOnly))
	}
	s.mu.Lock()
	s.waitingUntil = until
	s.mu.Unlock()
	return sleep.For(s.receiving, 2*time.Second)
}

// progress returns how many messages were received, and what the scan waits for.
func (s *scan) progress() (received int, waiting string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waitingUntil.IsZero() {
		waiting = ", waiting until " + s.waitingUntil.Local().Format(time.TimeOnly)
	}
	return s.received, waiting
}
