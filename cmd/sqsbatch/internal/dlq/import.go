package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
)

// importing are the flags of import.
type importing struct {
	common
	sending
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
		v.rateFlag(f)
	})
	v.journalFlags(cmd, "go on with the import that was interrupted", "forget the run that was interrupted, and begin anew")
	v.common.flags(cmd)
	cli.Section(cmd, "What is shown", v.outputFlag)
	return cmd
}

// An importer sends the messages of a file. Their ids in the journal and in the output are
// "line 17".
type importer struct {
	sender
	to      *queue.Queue
	workers int
	pick    picker // of which groups a message could not be sent
}

func (v *importing) run(cmd *cobra.Command, tio cli.IO, name, path string) (err error) {
	if err := v.sending.check(cmd); err != nil {
		return err
	}
	s, err := v.open(cmd, tio, name, false)
	if err != nil {
		return err
	}
	defer s.close()
	in, closeFile, err := openFile(path, tio.Stdin)
	if err != nil {
		return err
	}
	defer func() { _ = closeFile() }()
	i := &importer{sender: sender{limiter: v.limiter(), result: &result{}}, to: s.queue, workers: s.workers, pick: picker{ordered: s.queue.FIFO()}}
	defer i.close()
	if v.yes || v.resume {
		if err := v.takeUp(cmd, i, path); err != nil {
			return err
		}
	}
	s.status.begin(func() (int, int, string) {
		c := i.result.now()
		return c.Sent, 0, number(c.Sent) + " sent"
	})
	err = i.read(s.soft, s.kill, letter.NewReader(in))
	s.status.end()
	return v.end(s, i, cmp.Or(s.interrupted(), err))
}

// takeUp begins a journal, or takes up that of the import that was interrupted.
func (v *importing) takeUp(cmd *cobra.Command, i *importer, path string) (err error) {
	set := importSettings{File: path}
	if info, err := os.Stat(path); err == nil {
		set.Size = info.Size()
	}
	if !v.resume {
		i.journal, err = v.createJournal(cmd, i.to, &set)
		return err
	}
	var old importSettings
	var state *journal.State
	if i.journal, state, err = v.openJournal(cmd, i.to, &old, func(string) {}); err != nil {
		return err
	}
	if old != set {
		return fmt.Errorf("the interrupted import is of %s (%d bytes), not of %s (%d bytes)", old.File, old.Size, set.File, set.Size)
	}
	i.pending = state.Pending
	i.result.sent("", 0, state.Twice)
	return nil
}

// chunk is how many messages are read ahead.
const chunk = 200

// read sends the messages of a file, a chunk at a time. On a FIFO queue the messages of a
// group go one after another.
func (i *importer) read(soft, kill context.Context, in *letter.Reader) error {
	for n := 1; soft.Err() == nil; {
		var list []*parcel
		bytes := 0
		var end error
		for ; len(list) < chunk && bytes < 16<<20 && end == nil; n++ {
			l, err := in.Next()
			if end = err; err != nil {
				break
			}
			if l.DeduplicationID == "" {
				l.DeduplicationID = l.ID // it comes from a standard queue
			}
			l.ID = fmt.Sprint("line ", n)
			i.result.picked(take)
			known := i.pending[l.ID]
			if known != nil && known.Sent {
				continue
			}
			if i.to.FIFO() && l.GroupID == "" {
				i.result.failed(l.ID, noGroup(i.to))
				continue
			}
			list = append(list, &parcel{letter: &l, out: l.Message, unsure: known != nil})
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
func (i *importer) send(soft, kill context.Context, list []*parcel) error {
	if i.journal == nil {
		return nil // a dry run
	}
	for _, round := range rounds(list, i.to.FIFO()) {
		var calls errgroup.Group
		calls.SetLimit(i.workers)
		for part := range slices.Chunk(round, i.burst()) {
			calls.Go(func() error {
				part := i.unblocked(part)
				if len(part) == 0 || !i.wait(soft, len(part)) {
					return nil
				}
				_, failed, broken, err := i.sendTo(kill, i.to, part)
				for _, l := range failed {
					i.pick.stays(l)
				}
				return errors.Join(broken, err)
			})
		}
		if err := calls.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// unblocked leaves out messages behind one of their group that could not be sent.
func (i *importer) unblocked(part []*parcel) []*parcel {
	return slices.DeleteFunc(slices.Clone(part), func(p *parcel) bool {
		blocked := i.pick.isBlocked(p.letter)
		if blocked {
			i.result.picked(behind)
		}
		return blocked
	})
}

func (v *importing) end(s *session, i *importer, err error) error {
	c := i.result.now()
	if i.journal == nil {
		s.print("%s would be sent to %s", count(c.Selected-c.Failed), s.queue.Name())
	} else {
		s.print("%s sent to %s", count(c.Sent), s.queue.Name())
	}
	s.rows(c, account{})
	s.row(len(c.SentTwice), "may have been sent twice: %s", someIDs(c.SentTwice))
	if i.journal == nil && err == nil {
		s.print("Nothing was sent. To send them, add --yes.")
	}
	if e := s.json(newDoneLine("import", s, i.journal == nil, c, account{}, err)); e != nil {
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
		if err := i.end(); err != nil {
			return err
		}
	}
	if n := len(c.SentTwice); n > 0 {
		return partly("%s may have been sent twice, see above", count(n))
	}
	return nil
}
