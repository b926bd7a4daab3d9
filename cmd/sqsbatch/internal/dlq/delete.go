package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
)

// deleting are the flags of delete.
type deleting struct {
	receiving
	yes  bool
	save string
}

func deleteCommand(tio cli.IO) *cobra.Command {
	d := &deleting{}
	cmd := &cobra.Command{
		Use:   "delete QUEUE",
		Short: "delete messages for good",
		Long:  aboutDelete,
		Example: `sqsbatch dlq delete orders-dead --reason timeout
sqsbatch dlq delete orders-dead --reason timeout --save dead.ndjson.gz --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, tio, args[0]) },
	}
	d.selecting.flags(cmd, 0, "select at most N, and exactly N if there are as many; those that then fail count, too (default: no limit)")
	cli.Section(cmd, "What is done", func(f *pflag.FlagSet) {
		f.BoolVar(&d.yes, "yes", false, "do it; without this flag the command only says what it would do")
		f.Var(cli.Text(&d.save, "FILE"), "save", "write each message to this file before it is deleted, as export does; import sends them again")
		d.forceFlag(f)
	})
	d.common.flags(cmd)
	cli.Section(cmd, "What is shown", d.outputFlag)
	return cmd
}

func (d *deleting) run(cmd *cobra.Command, tio cli.IO, name string) error {
	selection, err := d.selection(cmd)
	if err != nil {
		return err
	}
	if selection.All() && d.limit == 0 && d.yes && d.save == "" {
		return usagef(cmd, "this deletes every message of %s and leaves no copy: select messages, or keep a copy with --save FILE", name)
	}
	s, err := d.openFor(cmd, tio, name, selection)
	if err != nil {
		return err
	}
	defer s.close()
	var saved *file
	if d.save != "" && d.yes {
		if saved, err = createFile(d.save, tio.Stdout); err != nil {
			return err
		}
		if saved.f != nil {
			if err := syncFolder(filepath.Dir(d.save)); err != nil {
				return errors.Join(err, saved.close())
			}
		}
	}
	r := &remover{
		pick:   &picker{selection: s.selection, limit: s.limit, before: s.queue.Asked.Add(time.Second)},
		result: &result{}, dryRun: !d.yes, saved: saved,
	}
	r.scan = s.newScan(s.workers)
	r.scan.each = r.each
	a, err := s.scan(r.scan, r.result, func(c counts) string {
		return fmt.Sprintf("%s selected, %s deleted", number(c.Selected), number(c.Deleted))
	})
	if saved != nil {
		err = cmp.Or(err, saved.close())
	}
	return d.end(s, r, a, err)
}

func (d *deleting) end(s *session, r *remover, a account, err error) error {
	c := r.result.now()
	if r.dryRun {
		s.print("%s of %s would be deleted", count(c.Selected), s.queue.Name())
	} else {
		s.print("%s of %s deleted", count(c.Deleted), s.queue.Name())
	}
	s.rows(c, a)
	if r.dryRun && err == nil {
		s.print("Nothing was changed. To delete them, add --yes.")
	}
	if e := s.json(newDoneLine("delete", s, r.dryRun, c, a, err)); e != nil {
		return e
	}
	return s.verdict(c, a, err, r.pick.full())
}

// A remover deletes messages.
type remover struct {
	pick   *picker
	scan   *scan
	result *result
	dryRun bool
	saved  *file // nil without --save
}

func (r *remover) each(ctx context.Context, letters []letter.Letter) error {
	var chosen, again []*letter.Letter
	for i := range letters {
		l := &letters[i]
		if r.scan.hold.wasDeleted(l.ID) { // SQS delivered it once more
			again = append(again, l)
			continue
		}
		v, err := r.pick.pick(l)
		if err != nil {
			r.result.failed(l.ID, err)
			continue
		}
		if r.result.picked(v); v == take {
			chosen = append(chosen, l)
		}
	}
	if r.pick.full() {
		r.scan.stop()
	}
	if r.dryRun {
		return nil
	}
	if r.saved != nil && len(chosen) > 0 {
		if err := r.saved.save(chosen); err != nil {
			return err
		}
	}
	return r.delete(ctx, append(chosen, again...))
}

func (r *remover) delete(ctx context.Context, letters []*letter.Letter) error {
	deleted, err := r.scan.delete(ctx, letters, func(l *letter.Letter, err error) { r.result.failed(l.ID, err) })
	r.result.count(func(c *counts) { c.Deleted += len(deleted) })
	return err
}
