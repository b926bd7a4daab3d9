package dlq

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

// A sender sends messages, and notes each step in the journal: replay, move and import.
type sender struct {
	*session
	limiter *rate.Limiter    // nil without --rate
	journal *journal.Journal // nil in a dry run, and after its end
	routes  *routes

	mu      sync.Mutex
	pending map[string]*journal.Pending // of the run that is resumed
}

func (s *session) newSender() *sender {
	out := &sender{session: s, routes: newRoutes(s), pending: map[string]*journal.Pending{}}
	if s.rate > 0 {
		out.limiter = rate.NewLimiter(rate.Limit(s.rate), min(10, s.rate))
	}
	return out
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

// deliver sends parcels, each to its queue, by some calls at the same time, and returns the
// letters whose copies SQS has confirmed. With a rate, it sends no more once soft ends. An
// error says that the run cannot go on.
func (s *sender) deliver(soft, kill context.Context, parcels []*parcel, atOnce int) (sent []*letter.Letter, err error) {
	burst := 10
	if s.limiter != nil {
		burst = s.limiter.Burst()
	}
	stuck := map[string]bool{} // groups of which a message could not be sent
	for _, round := range rounds(parcels, s.pick.ordered) {
		byQueue := map[*queue.Queue][]*parcel{}
		for _, p := range round {
			if stuck[p.letter.GroupID] && s.pick.ordered {
				s.result.picked(behind)
				continue
			}
			byQueue[p.to] = append(byQueue[p.to], p)
		}
		calls, going := errgroup.WithContext(context.Background())
		calls.SetLimit(atOnce)
		for to, list := range byQueue {
			for part := range slices.Chunk(list, burst) {
				calls.Go(func() error {
					if going.Err() != nil || s.limiter != nil && s.limiter.WaitN(soft, len(part)) != nil {
						return nil
					}
					done, failed, err := s.send(kill, to, part)
					s.mu.Lock()
					defer s.mu.Unlock()
					sent = append(sent, done...)
					for _, l := range failed {
						s.pick.stays(l)
						stuck[l.GroupID] = true
					}
					return err
				})
			}
		}
		if err := calls.Wait(); err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// send sends at most a burst of parcels to a queue. It returns the letters that SQS has
// confirmed, and the others. An error says that the run cannot go on.
func (s *sender) send(ctx context.Context, to *queue.Queue, parcels []*parcel) (sent, failed []*letter.Letter, err error) {
	entries, messages := make([]journal.Entry, len(parcels)), make([]message.Message, len(parcels))
	for i, p := range parcels {
		if s.scan != nil {
			p.letter.Handle = s.scan.hold.handle(p.letter)
		}
		entries[i] = journal.Entry{ID: p.letter.ID, Handle: p.letter.Handle}
		messages[i] = p.out
	}
	began := time.Now()
	if err := s.journal.Sending(to.ARN, entries); err != nil {
		return nil, nil, err
	}
	errs, unsure := to.Send(ctx, messages)
	var confirmed, twice, refused, open []string
	var broken error // which every further message to that queue would meet
	for i, p := range parcels {
		id := p.letter.ID
		p.unsure = p.unsure || unsure[i]
		if errs[i] == nil {
			sent, confirmed = append(sent, p.letter), append(confirmed, id)
			if p.unsure && !s.dropsCopy(to, id, began) {
				twice = append(twice, id)
			}
			continue
		}
		failed = append(failed, p.letter)
		s.result.failed(id, errs[i])
		if p.unsure { // the journal keeps it open
			open = append(open, id)
		} else {
			refused = append(refused, id)
		}
		broken = cmp.Or(broken, fatal(errs[i]))
	}
	s.result.count(func(c *counts) {
		c.Sent += len(sent)
		if len(sent) > 0 {
			c.routed(to.ARN, len(sent))
		}
		c.SentTwice, c.Unsure = append(c.SentTwice, twice...), append(c.Unsure, open...)
	})
	if broken != nil && ctx.Err() == nil && s.routes.without(to.ARN, broken) {
		broken = nil
	}
	return sent, failed, errors.Join(broken, s.journal.Sent(confirmed, twice), s.journal.Failed(refused))
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

// fatal returns an error that every further message would meet, else nil.
func fatal(err error) error {
	if err != nil && (sqserror.Lasts(err) || sqserror.Passing(err)) {
		return err
	}
	return nil
}

// endJournal ends the journal, since nothing is left to be done.
func (s *sender) endJournal() error {
	j := s.journal
	s.journal = nil
	return j.End()
}

// closeJournal closes the journal of a run that did not end.
func (s *sender) closeJournal() {
	if s.journal != nil {
		_ = s.journal.Close()
	}
}

// journalPath is the file of --journal, or that of the queue.
func (s *sender) journalPath() (string, error) {
	if s.file != "" {
		return s.file, nil
	}
	dir, err := stateDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for the journal (%w); name a file with --journal", err)
	}
	sum := sha256.Sum256([]byte(s.queue.ARN + " " + s.queue.URL)) // several servers have queues with the same ARN
	return filepath.Join(dir, "sqsbatch", "dlq", s.queue.Name()+"-"+hex.EncodeToString(sum[:6])+".journal"), nil
}

// stateDir is the user's directory for what programs keep between runs.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return os.UserCacheDir()
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state"), err
}

// createJournal begins the journal of a new run with its settings.
func (s *sender) createJournal(settings any) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	path, err := s.journalPath()
	if err == nil && s.discard {
		err = journal.Discard(path)
	}
	if err != nil {
		return err
	}
	s.journal, err = journal.Create(path, journal.Header{Queue: s.queue.ARN, Verb: s.cmd.Name(), Started: time.Now().UTC(), Settings: text})
	if unfinished, is := errors.AsType[*journal.UnfinishedError](err); is {
		return fmt.Errorf("%w: go on with it by %s, or forget it with --discard (then messages that it sent and did not delete are sent again)",
			err, resuming(s.cmd, unfinished.Header.Verb))
	}
	return err
}

// resuming is the command that goes on with a run of a verb.
func resuming(cmd *cobra.Command, verb string) string {
	file := ""
	if verb == "import" {
		file = " FILE"
	}
	return fmt.Sprintf("`%s %s QUEUE%s --resume`", cmd.Parent().CommandPath(), verb, file)
}

// openJournal takes up the journal of the run that was interrupted, and reads its settings. It
// calls deleted with the id of each message that the run has deleted.
func (s *sender) openJournal(settings any, deleted func(id string)) (*journal.State, error) {
	path, err := s.journalPath()
	if err != nil {
		return nil, err
	}
	j, h, state, err := journal.Resume(path, deleted)
	switch {
	case errors.Is(err, journal.ErrNothing):
		return nil, usagef(s.cmd, "--resume: %v (journal %s)", journal.ErrNothing, path)
	case err != nil:
		return nil, err
	}
	s.journal, s.pending = j, state.Pending
	s.result.count(func(c *counts) { c.SentTwice = state.Twice })
	switch {
	case h.Verb != s.cmd.Name():
		return nil, fmt.Errorf("the interrupted run is one of %s: %s", h.Verb, resuming(s.cmd, h.Verb))
	case h.Queue != s.queue.ARN:
		return nil, fmt.Errorf("the journal %s is of %s, not of %s", path, h.Queue, s.queue.ARN)
	}
	return state, json.Unmarshal(h.Settings, settings)
}
