package dlq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
)

// importing are the flags of import.
type importing struct {
	common
	yes   bool
	rate  int
	steps journaling
}

// importSettings are what a journal keeps.
type importSettings struct {
	File string `json:"file"`
	Size int64  `json:"size"`
}

func importCommand(tio cli.IO) *cobra.Command {
	v := &importing{}
	cmd := &cobra.Command{
		Use:   "import QUEUE FILE",
		Short: "send the messages of a file that export wrote",
		Long:  aboutImport,
		Example: `sqsbatch dlq import orders dead.ndjson.gz
sqsbatch dlq import orders dead.ndjson.gz --rate 50 --yes`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, tio, args[0], args[1]) },
	}
	cli.Section(cmd, "What is done", func(f *pflag.FlagSet) {
		f.BoolVar(&v.yes, "yes", false, "do it; without this flag the command only reads the file and says what it would do")
		f.IntVar(&v.rate, "rate", 0, "at most N messages a second (default: as fast as SQS takes them)")
	})
	v.steps.flags(cmd, "go on with the import that was interrupted", "forget the run that was interrupted, and begin anew")
	v.common.flags(cmd)
	cli.Section(cmd, "What is shown", v.outputFlag)
	return cmd
}

// An importer sends the messages of a file.
type importer struct {
	to      *queue.Queue
	limiter *rate.Limiter
	journal *journal.Journal
	known   map[string]*journal.Pending // lines that the interrupted run dealt with
	result  *result
	workers int

	mu      sync.Mutex
	blocked map[string]bool // groups of a FIFO queue of which a message could not be sent
}

// A numbered message is one of a line of a file.
type numbered struct {
	id string // "line 17"
	message.Message
}

func (v *importing) run(cmd *cobra.Command, tio cli.IO, name, path string) (err error) {
	if err := v.common.check(cmd); err != nil {
		return err
	}
	switch {
	case v.rate < 0:
		return usagef(cmd, "--rate is %d; it must not be negative", v.rate)
	case v.steps.resume && v.steps.discard:
		return v.steps.bothGiven(cmd)
	}
	s, err := v.open(cmd.Context(), tio, name, false)
	if err != nil {
		return err
	}
	defer s.close()
	in, closeFile, err := openFile(path, tio.Stdin)
	if err != nil {
		return err
	}
	defer func() { _ = closeFile() }()
	i := &importer{to: s.queue, result: &result{}, workers: s.workers}
	if v.rate > 0 {
		i.limiter = rate.NewLimiter(rate.Limit(v.rate), min(10, v.rate))
	}
	defer func() {
		if i.journal != nil {
			_ = i.journal.Close()
		}
	}()
	if v.yes || v.steps.resume {
		if err := v.openJournal(cmd, i, path); err != nil {
			return err
		}
	}
	s.status.begin(func() (int, int, string) {
		c := i.result.now()
		return c.Sent, 0, number(c.Sent) + " sent"
	})
	err = i.read(s.soft, s.kill, letter.NewReader(in))
	s.status.end()
	return v.end(s, i, first(s.interrupted(), err))
}

// openJournal begins a journal, or takes up that of the import that was interrupted.
func (v *importing) openJournal(cmd *cobra.Command, i *importer, path string) (err error) {
	set := importSettings{File: path}
	if info, err := os.Stat(path); err == nil {
		set.Size = info.Size()
	}
	if !v.steps.resume {
		i.journal, err = v.steps.create(cmd, i.to, &set)
		return err
	}
	var old importSettings
	var state *journal.State
	if i.journal, state, err = v.steps.open(cmd, i.to, &old, func(string) {}); err != nil {
		return err
	}
	if old != set {
		return fmt.Errorf("the interrupted import is of %s (%d bytes), not of %s (%d bytes)", old.File, old.Size, set.File, set.Size)
	}
	i.known = state.Pending
	i.result.sent("", 0, state.Twice)
	return nil
}

// chunk is how many messages are read ahead.
const chunk = 200

// read sends the messages of a file, a chunk at a time. On a FIFO queue the messages of a
// group go one after another.
func (i *importer) read(soft, kill context.Context, in *letter.Reader) error {
	for n := 1; soft.Err() == nil; {
		var list []numbered
		bytes := 0
		var end error
		for ; len(list) < chunk && bytes < 16<<20 && end == nil; n++ {
			l, err := in.Next()
			if end = err; err != nil {
				break
			}
			id := fmt.Sprint("line ", n)
			i.result.picked(take)
			if p := i.known[id]; p != nil && p.Sent {
				continue
			}
			if i.to.FIFO() && l.GroupID == "" {
				i.result.failed(&letter.Letter{ID: id}, noGroup(i.to))
				continue
			}
			if l.DeduplicationID == "" {
				l.DeduplicationID = l.ID // it comes from a standard queue
			}
			list = append(list, numbered{id, l.Message})
			bytes += l.Size()
		}
		if err := i.send(soft, kill, list); err != nil {
			return err
		}
		if errors.Is(end, io.EOF) {
			return nil
		}
		if end != nil {
			return end
		}
	}
	return nil
}

// send sends a chunk.
func (i *importer) send(soft, kill context.Context, list []numbered) error {
	if i.journal == nil {
		return nil // a dry run
	}
	for _, round := range rounds(list, i.to.FIFO(), func(m numbered) string { return m.GroupID }) {
		var calls errgroup.Group
		calls.SetLimit(i.workers)
		for len(round) > 0 {
			size := 10
			if i.limiter != nil {
				size = min(size, i.limiter.Burst())
			}
			part := round[:min(size, len(round))]
			round = round[len(part):]
			calls.Go(func() error { return i.sendPart(soft, kill, part) })
		}
		if err := calls.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// unblocked leaves out messages behind one of their group that could not be sent.
func (i *importer) unblocked(part []numbered) []numbered {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(part), func(m numbered) bool {
		if i.blocked[m.GroupID] {
			i.result.picked(behind)
		}
		return i.blocked[m.GroupID]
	})
}

// block keeps what follows a message in its group from being sent.
func (i *importer) block(m numbered) {
	if !i.to.FIFO() {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.blocked == nil {
		i.blocked = map[string]bool{}
	}
	i.blocked[m.GroupID] = true
}

func (i *importer) sendPart(soft, kill context.Context, part []numbered) error {
	if part = i.unblocked(part); len(part) == 0 {
		return nil
	}
	if i.limiter != nil {
		if err := i.limiter.WaitN(soft, len(part)); err != nil {
			return nil // the run is to end
		}
	}
	entries, messages := make([]journal.Entry, len(part)), make([]message.Message, len(part))
	for k, m := range part {
		entries[k], messages[k] = journal.Entry{ID: m.id}, m.Message
	}
	if err := i.journal.Sending(i.to.ARN, entries); err != nil {
		return err
	}
	errs, unsure := i.to.Send(kill, messages)
	var sent, twice, failed []string
	var err error
	for k, m := range part {
		p := i.known[m.id] // the interrupted run may have sent it
		switch e := errs[k]; {
		case e == nil:
			sent = append(sent, m.id)
			if (p != nil || unsure[k]) && !(i.to.FIFO() && m.DeduplicationID != "" && (p == nil || time.Since(p.At) < deduplication)) {
				twice = append(twice, m.id)
			}
		case p != nil || unsure[k]:
			i.block(m)
			i.result.unsure(&letter.Letter{ID: m.id}, e)
			err = first(err, fatal(e))
		default:
			i.block(m)
			failed = append(failed, m.id)
			i.result.failed(&letter.Letter{ID: m.id}, e)
			err = first(err, fatal(e))
		}
	}
	i.result.sent(i.to.ARN, len(sent), twice)
	return first(err, errors.Join(i.journal.Sent(sent, twice), i.journal.Failed(failed)))
}

func (v *importing) end(s *session, i *importer, err error) error {
	c := i.result.now()
	out := &printer{session: s}
	if i.journal == nil {
		out.print("%s would be sent to %s", count(c.Selected-c.Failed), s.queue.Name())
	} else {
		out.print("%s sent to %s", count(c.Sent), s.queue.Name())
	}
	out.rows(c, account{})
	out.row(len(c.SentTwice), "may have been sent twice: %s", someIDs(c.SentTwice))
	if i.journal == nil && err == nil {
		out.print("Nothing was sent. To send them, add --yes.")
	}
	if e := out.json(newDoneLine("import", s, i.journal == nil, c, account{}, err)); e != nil {
		return e
	}
	switch {
	case err != nil && i.journal != nil:
		return asInterrupted(fmt.Errorf("%w; go on with --resume", err))
	case err != nil:
		return asInterrupted(err)
	}
	if n := c.Failed + c.Behind; n > 0 {
		again := ""
		if i.journal != nil { // it stays, since another import would send the others a second time
			again = "; send only these with --resume"
		}
		return partly("%s of the file were not sent, see above%s", count(n), again)
	}
	if i.journal != nil {
		if err := i.journal.End(); err != nil {
			return err
		}
		i.journal = nil
	}
	if n := len(c.SentTwice); n > 0 {
		return partly("%s may have been sent twice, see above", count(n))
	}
	return nil
}
