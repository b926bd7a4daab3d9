package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

func deleteCommand(tio cli.IO) *cobra.Command {
	o, save := &options{}, ""
	cmd := &cobra.Command{
		Use:   "delete QUEUE",
		Short: "delete messages for good",
		Long:  aboutDelete,
		Example: `sqsbatch dlq delete orders-dead --reason timeout
sqsbatch dlq delete orders-dead --reason timeout --save dead.ndjson.gz --yes`,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if o.criteria.All() && o.limit == 0 && o.yes && save == "" {
				return usagef(cmd, "this deletes every message of %s and leaves no copy: select messages, or keep a copy with --save FILE", args[0])
			}
			return nil
		},
		RunE: o.receiving(tio, func(s *session) error { return s.delete(save) }),
	}
	o.selectFlags(cmd, 0, "select at most N, and exactly N if there are as many; those that then fail count, too (default: no limit)")
	cli.Section(cmd, "What is done", func(f *pflag.FlagSet) {
		f.BoolVar(&o.yes, "yes", false, "do it; without this flag the command only says what it would do")
		f.Var(cli.Text(&save, "FILE"), "save", "write each message to this file before it is deleted, as export does; import sends them again")
		o.forceFlag(f)
	})
	o.placeFlags(cmd)
	cli.Section(cmd, "What is shown", o.outputFlag)
	return cmd
}

func (s *session) delete(path string) (err error) {
	var saved *file // nil without --save
	if path != "" && s.yes {
		if saved, err = createFile(path, s.tio.Stdout); err != nil {
			return err
		}
		if saved.f != nil {
			if err := syncFolder(filepath.Dir(path)); err != nil {
				return errors.Join(err, saved.close())
			}
		}
	}
	s.pick.before = s.queue.Asked.Add(time.Second)
	s.scan = s.newScan(s.workers)
	err = s.receive(func(ctx context.Context, letters []letter.Letter) error { return s.deleteChosen(ctx, letters, saved) },
		s.looked(func(c counts) string {
			return fmt.Sprintf("%s selected, %s deleted", show.Number(c.Selected), show.Number(c.Deleted))
		}))
	if saved != nil {
		err = cmp.Or(err, saved.close())
	}
	c := s.result.now()
	if s.dryRun() {
		s.print("%s of %s would be deleted", count(c.Selected), s.queue.Name())
	} else {
		s.print("%s of %s deleted", count(c.Deleted), s.queue.Name())
	}
	s.rows(c)
	if err == nil {
		s.sayDryRun()
	}
	if e := s.json(s.doneLine(c, err)); e != nil {
		return e
	}
	return s.verdict(c, err)
}

// deleteChosen deletes those of letters that are selected, once they are saved.
func (s *session) deleteChosen(ctx context.Context, letters []letter.Letter, saved *file) error {
	var list []*letter.Letter // those that SQS delivered once more, after they were deleted
	letters = slices.DeleteFunc(letters, func(l letter.Letter) bool {
		again := s.scan.hold.wasDeleted(l.ID)
		if again {
			list = append(list, &l)
		}
		return again
	})
	chosen := s.chosen(letters)
	if s.dryRun() {
		return nil
	}
	if saved != nil && len(chosen) > 0 {
		if err := saved.save(chosen); err != nil {
			return err
		}
	}
	_, err := s.deleteReceived(ctx, append(list, chosen...), func(l *letter.Letter, err error) { s.result.failed(l.ID, err) })
	return err
}
