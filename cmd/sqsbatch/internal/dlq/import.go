package dlq

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

// importSettings are what a journal keeps.
type importSettings struct {
	File string `json:"file"`
	Size int64  `json:"size"`
}

func importCommand(tio cli.IO) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "import QUEUE FILE",
		Short: "send the messages of a file that export wrote",
		Long:  aboutImport,
		Example: `sqsbatch dlq import orders dead.ndjson.gz
sqsbatch dlq import orders dead.ndjson.gz --rate 50 --yes`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.open(cmd, tio, args[0], false)
			if err != nil {
				return err
			}
			defer s.close()
			s.pick = &picker{ordered: s.queue.FIFO()}
			i := &importer{s.newSender()}
			defer i.closeJournal()
			return i.run(args[1])
		},
	}
	cli.Section(cmd, "What is done", func(f *pflag.FlagSet) {
		f.BoolVar(&o.yes, "yes", false, "do it; without this flag the command only reads the file and says what it would do")
		o.rateFlag(f)
	})
	o.journalFlags(cmd, "go on with the import that was interrupted", "forget the run that was interrupted, and begin anew")
	o.placeFlags(cmd)
	cli.Section(cmd, "What is shown", o.outputFlag)
	return cmd
}

// An importer sends the messages of a file. Their ids in the journal and in the output are
// "line 17".
type importer struct{ *sender }

func (i *importer) run(path string) error {
	in, closeFile, err := openFile(path, i.tio.Stdin)
	if err != nil {
		return err
	}
	defer func() { _ = closeFile() }()
	if !i.dryRun() {
		if err := i.openOrCreateJournal(path); err != nil {
			return err
		}
	}
	i.status.begin(func() (int, int, string) {
		sent := i.result.now().Sent
		return sent, 0, show.Number(sent) + " sent"
	})
	err = i.read(in)
	i.status.end()
	return i.report(cmp.Or(i.interrupted(), err))
}

// openOrCreateJournal begins a journal, or takes up that of the import that was interrupted.
func (i *importer) openOrCreateJournal(path string) error {
	set := importSettings{File: path}
	if info, err := os.Stat(path); err == nil {
		set.Size = info.Size()
	}
	if !i.resume {
		return i.createJournal(&set)
	}
	var old importSettings
	if _, err := i.openJournal(&old, func(string) {}); err != nil {
		return err
	}
	if old != set {
		return fmt.Errorf("the interrupted import is of %s (%d bytes), not of %s (%d bytes)", old.File, old.Size, set.File, set.Size)
	}
	return nil
}

// How much is read ahead.
const (
	chunk      = 200 // messages
	chunkBytes = 16 << 20
)

// read sends the messages of a file, a chunk at a time. On a FIFO queue the messages of a
// group go one after another.
func (i *importer) read(in io.Reader) error {
	var list []*parcel
	n, bytes := 0, 0
	for l, err := range letter.Read(in) {
		if err != nil {
			return cmp.Or(i.deliverAll(list), err)
		}
		n++
		if p := i.prepare(&l, n); p != nil {
			list = append(list, p)
			bytes += l.Size()
		}
		if len(list) < chunk && bytes < chunkBytes {
			continue
		}
		if err := i.deliverAll(list); err != nil || i.soft.Err() != nil {
			return err
		}
		list, bytes = nil, 0
	}
	return i.deliverAll(list)
}

// deliverAll sends parcels, except in a dry run.
func (i *importer) deliverAll(list []*parcel) error {
	if i.dryRun() {
		return nil
	}
	_, err := i.deliver(i.soft, i.kill, list, i.workers)
	return err
}

// prepare returns nil for a message that is not sent.
func (i *importer) prepare(l *letter.Letter, n int) *parcel {
	l.DeduplicationID = cmp.Or(l.DeduplicationID, l.ID) // it comes from a standard queue
	l.ID = fmt.Sprint("line ", n)
	i.result.picked(take)
	known := i.pending[l.ID]
	switch {
	case known != nil && known.Sent:
		return nil
	case i.queue.FIFO() && l.GroupID == "":
		i.result.failed(l.ID, noGroup(i.queue))
		return nil
	case i.pick.isBlocked(l):
		i.result.picked(behind)
		return nil
	}
	return &parcel{letter: l, to: i.queue, out: l.Message, unsure: known != nil}
}

func (i *importer) report(err error) error {
	c := i.result.now()
	again := ""
	if i.dryRun() {
		i.print("%s would be sent to %s", count(c.Selected-c.Failed), i.queue.Name())
	} else {
		again = "; go on with --resume"
		i.print("%s sent to %s", count(c.Sent), i.queue.Name())
	}
	i.rows(c)
	i.rowOfTwice(c)
	if i.dryRun() && err == nil {
		i.print("Nothing was sent. To send them, add --yes.")
	}
	if e := i.json(i.doneLine(c, err)); e != nil {
		return e
	}
	if err != nil {
		return asInterrupted(fmt.Errorf("%w%s", err, again))
	}
	if n := c.Failed + c.Behind; n > 0 {
		if !i.dryRun() { // the journal stays, since another import would send the others a second time
			again = "; send only these with --resume"
		}
		return partly("%s of the file were not sent, see above%s", count(n), again)
	}
	if !i.dryRun() {
		err = i.endJournal()
	}
	return i.verdict(c, err)
}
