package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// Ways of moving messages.
const (
	byAuto = "auto"
	byTask = "task"
	bySend = "send"
)

// settings are what a journal keeps of the flags, so that a resumed run does the same.
type settings struct {
	Criteria letter.Criteria `json:"criteria"`
	Limit    int             `json:"limit,omitempty"`
	To       string          `json:"to,omitempty"`
	Origins  []string        `json:"origins,omitempty"`
	Edit     string          `json:"edit,omitempty"`
	Editor   bool            `json:"editor,omitempty"`
	By       string          `json:"by"`
	// Before is when the run began, by SQS's clock.
	Before time.Time `json:"before"`
}

// A transfer moves messages to other queues: replay and move.
type transfer struct {
	*sender
	settings
	edit  editor         // nil without --edit and --editor
	state *journal.State // of the run that is resumed, nil without one
	began time.Time
}

// An editor changes a message before it is sent. keep false leaves it in the queue.
type editor func(ctx context.Context, l letter.Letter) (edited letter.Letter, keep bool, err error)

func replayCommand(tio cli.IO) *cobra.Command {
	return movingCommand(tio, &cobra.Command{
		Use:   "replay QUEUE",
		Short: "send messages back to the queues that they came from",
		Long:  aboutReplay,
		Example: `sqsbatch dlq replay orders-dead
sqsbatch dlq replay orders-dead --reason 'no such customer' --rate 50 --yes
sqsbatch dlq replay orders-dead --where '.body.customer == 17' \
             --edit '.body.customer = 18' --yes`,
	})
}

func moveCommand(tio cli.IO) *cobra.Command {
	return movingCommand(tio, &cobra.Command{
		Use:   "move QUEUE --to QUEUE",
		Short: "move messages to another queue as they are",
		Long:  aboutMove,
		Example: `sqsbatch dlq move orders-dead --to parked --reason 'no such customer' --yes
sqsbatch dlq move orders-dead --to parked --yes`,
	})
}

func movingCommand(tio cli.IO, cmd *cobra.Command) *cobra.Command {
	o, set := &options{}, settings{By: byAuto}
	o.selectFlags(cmd, 0, "select at most N, and exactly N if there are as many; those that then fail or stay count, too (default: no limit)")
	cli.Section(cmd, "What is done", func(f *pflag.FlagSet) {
		f.BoolVar(&o.yes, "yes", false, "do it; without this flag the command only says what it would do")
		if cmd.Name() == "move" {
			f.Var(cli.Text(&set.To, "QUEUE"), "to", "the queue that they go to: a name, URL or ARN")
		} else {
			f.Var(cli.Text(&set.To, "QUEUE"), "to", "the queue that they go to (default: each to the queue that it came from)")
			f.Var(cli.Texts(&set.Origins, "ARN"), "origin", "the ARN of a queue that messages name as their source and SQS does not: they go back there; may be repeated")
			f.Var(cli.Text(&set.Edit, "JQ"), "edit", "a jq program that changes each message, such as '.body.customer = 18'; it yields the object that it reads, and 'empty' leaves the message in the queue")
			f.BoolVar(&set.Editor, "editor", false, "open each message in $VISUAL or $EDITOR; needs --yes")
		}
		o.rateFlag(f)
		f.Var(cli.Choice(&set.By, byAuto, byTask, bySend), "by", "how messages are moved\ntask: SQS does it (StartMessageMoveTask), which takes all messages, up to 500 a second\nsend: this command sends and deletes\nauto: task if nothing is selected or edited and SQS can do it, else send; also if the task fails before it has moved anything")
		o.forceFlag(f)
	})
	o.journalFlags(cmd, "go on with the run that was interrupted, with its selection, destination and edit",
		"forget the run that was interrupted, and begin anew: messages that it sent and did not delete are sent again")
	o.placeFlags(cmd)
	cli.Section(cmd, "What is shown", o.outputFlag)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return set.check(cmd, o) }
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := o.open(cmd, tio, args[0], true)
		if err != nil {
			return err
		}
		defer s.close()
		set.Criteria, set.Limit, set.Before = o.criteria, o.limit, s.queue.Asked.Add(time.Second)
		t := &transfer{sender: s.newSender(), settings: set}
		defer t.closeJournal()
		return t.run()
	}
	return cmd
}

// given lists the flags that a resumed run takes from its journal.
var given = []string{"where", "reason", "since", "until", "id", "limit", "to", "origin", "edit", "editor", "by"}

func (s *settings) check(cmd *cobra.Command, o *options) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	switch {
	case s.Edit != "" && s.Editor:
		return usagef(cmd, "both --edit and --editor change the messages; give one")
	case slices.ContainsFunc(s.Origins, func(arn string) bool { _, err := endpoint.ParseARN(arn); return err != nil }):
		return usagef(cmd, "--origin is %q: must be the ARN of a queue", s.Origins)
	case s.Editor && !o.yes:
		return usagef(cmd, "--editor needs --yes: nothing would be done with what you edit")
	case o.resume:
		for _, name := range given {
			if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
				return usagef(cmd, "--resume takes --%s from the interrupted run; leave it out", name)
			}
		}
	case s.To != "" && len(s.Origins) > 0:
		return usagef(cmd, "both --to and --origin say where messages go; give one")
	case s.To == "" && cmd.Name() == "move":
		return usagef(cmd, "--to names the queue that the messages go to; to send them back to where they came from, use `sqsbatch dlq replay`")
	}
	return nil
}

func (t *transfer) run() (err error) {
	deleted := ids{}
	if t.resume {
		t.settings = settings{}
		if t.state, err = t.openJournal(&t.settings, deleted.add); err != nil {
			return err
		}
	}
	if err := t.readSettings(); err != nil {
		return err
	}
	noTask := t.noTask()
	if noTask != "" && t.By == byTask {
		return usagef(t.cmd, "--by task: %s", noTask)
	}
	if t.yes && !t.resume {
		if err := t.createJournal(&t.settings); err != nil {
			return err
		}
	}
	t.began = time.Now()
	again := t.state != nil && t.state.Sent+len(t.pending) > 0 // a task is for runs that have sent nothing themselves
	if noTask == "" && t.By != bySend && !again {
		if instead, err := t.task(); err != nil || !instead {
			return err
		}
	}
	return t.sendAndDelete(deleted)
}

// readSettings prepares what the settings say.
func (t *transfer) readSettings() error {
	selection, err := compile(t.cmd, t.Criteria)
	if err != nil {
		return err
	}
	t.pick = &picker{selection: selection, limit: t.Limit, before: t.Before, ordered: t.queue.FIFO()}
	t.routes.origins = t.Origins
	if t.To != "" {
		if t.routes.to, err = t.account.Open(t.soft, t.To, queue.Opening); err != nil {
			return err
		}
		if t.routes.to.ARN == t.queue.ARN {
			return usagef(t.cmd, "--to is %s itself", t.queue.Name())
		}
	}
	if t.Edit != "" {
		edit, err := letter.CompileEdit(t.Edit)
		if err != nil {
			return usagef(t.cmd, "%v", err)
		}
		t.edit = func(_ context.Context, l letter.Letter) (letter.Letter, bool, error) {
			return edit.Apply(l, time.Now())
		}
	}
	if t.Editor {
		if t.edit, err = newEditor(t.session); err != nil {
			return usagef(t.cmd, "%v", err)
		}
	}
	return nil
}

// sendAndDelete moves the messages, and tells how it ended.
func (t *transfer) sendAndDelete(deleted ids) error {
	workers, progress := t.workers, t.progress()
	if t.Editor { // which has the terminal
		workers, progress = 1, nil
	}
	t.scan = t.newScan(workers)
	t.scan.hold.deleted = deleted
	t.plan()
	var err error
	if t.state != nil {
		t.queue.Hidden(hidden+10*time.Second, "the interrupted run") // a call of the killed run may have been under way
		err = t.takeOver(t.kill)
	}
	if err == nil {
		err = t.receive(t.each, progress)
	}
	err = cmp.Or(t.interrupted(), err)
	if err == nil && !t.dryRun() && t.nothingOpen() {
		err = t.endJournal()
	}
	return t.report(err)
}

func (t *transfer) isMove() bool { return t.cmd.Name() == "move" }

// did says what the verb did to messages.
func (t *transfer) did() string {
	if t.isMove() {
		return "moved"
	}
	return "replayed"
}

// nameOf returns the name of a queue, or its ARN if it is not of the account, region and
// partition of the other queue.
func nameOf(arn, other string) string {
	if name := batch.QueueName(arn); strings.TrimSuffix(arn, name) == strings.TrimSuffix(other, batch.QueueName(other)) {
		return name
	}
	return arn
}

// destination says where the messages go.
func (t *transfer) destination() string {
	if t.routes.to != nil {
		return nameOf(t.routes.to.ARN, t.queue.ARN)
	}
	return "the queues that they came from"
}

// plan says what a transfer is going to do.
func (t *transfer) plan() {
	text := fmt.Sprintf("%s: about %s", t.queue.Name(), count(t.queue.Visible))
	if t.queue.InFlight > 0 {
		text += fmt.Sprintf(", %s in flight", show.Number(t.queue.InFlight))
	}
	t.print("%s", text)
	which, pace, all := "those that are selected", "as fast as SQS takes them", t.Criteria.All()
	if all {
		which = "all of them"
	}
	if t.Limit > 0 {
		which += fmt.Sprintf(", at most %s,", show.Number(t.Limit))
	}
	if t.rate > 0 {
		pace = fmt.Sprintf("at most %s a second", show.Number(t.rate))
		if limited := t.Limit > 0 && t.Limit < t.queue.Visible; limited {
			pace += t.about(t.Limit)
		} else if all {
			pace += t.about(t.queue.Visible)
		}
	}
	t.print("%s %s to %s, %s", t.cmd.Name(), which, t.destination(), pace)
	if t.state != nil {
		undeleted := t.undeleted()
		t.print("going on: %s were sent; %s of them are to be deleted still, and for %s more only the attempt is known", show.Number(t.state.Sent), show.Number(undeleted), show.Number(len(t.pending)-undeleted))
	}
}

// about says how long n messages take at the rate.
func (t *transfer) about(n int) string {
	return fmt.Sprintf(", about %s", short(time.Duration(n/t.rate)*time.Second))
}

// progress returns a progress for receive.
func (t *transfer) progress() func(c counts) (done, of int, text string) {
	total := t.queue.Visible
	return func(c counts) (done, of int, text string) {
		text = fmt.Sprintf("%s %s", show.Number(c.Deleted), t.did())
		if t.dryRun() {
			text = show.Number(c.Selected) + " selected"
		}
		if c.NotSelected > 0 {
			text += fmt.Sprintf(", %s not selected", show.Number(c.NotSelected))
		}
		if c.Failed > 0 {
			text += fmt.Sprintf(", %s failed (%s)", show.Number(c.Failed), c.Failures[0].Error)
		}
		if t.Limit > 0 && t.Limit < total && c.NotSelected == 0 {
			return c.Selected, t.Limit, text
		}
		return c.Received, total, text
	}
}

// report says what a transfer did, and returns the error that the command ends with.
func (t *transfer) report(err error) error {
	c := t.result.now()
	line := t.doneLine(c, err)
	line.By, line.ElapsedMS, line.NotDeleted = bySend, time.Since(t.began).Milliseconds(), t.undeleted()
	if t.journal != nil {
		line.Journal = t.journal.Path()
	}
	if t.dryRun() {
		n := 0
		for _, to := range c.Destinations {
			n += to
		}
		t.print("%s would be %s:", count(n), t.did())
	} else {
		t.print("%s %s in %s:", count(c.Deleted), t.did(), short(time.Since(t.began)))
	}
	for _, arn := range slices.SortedFunc(maps.Keys(c.Destinations), func(a, b string) int { return c.Destinations[b] - c.Destinations[a] }) {
		t.row(c.Destinations[arn], "to %s", nameOf(arn, t.queue.ARN))
	}
	t.rows(c)
	t.row(line.NotDeleted, "sent, and not deleted from %s", t.queue.Name())
	t.rowOfTwice(c)
	for _, edit := range t.result.edits {
		t.print("\n%s", strings.TrimSpace(edit))
	}
	if err == nil {
		t.sayDryRun()
	}
	if e := t.json(line); e != nil {
		return e
	}
	again := ""
	if line.Journal != "" {
		again = "; go on with --resume"
	}
	switch left := c.Failed + c.Behind + line.NotDeleted; {
	case errors.Is(err, errInterrupted):
		return interrupted(": %s were %s, the others are in %s%s", count(c.Deleted), t.did(), t.queue.Name(), again)
	case err != nil:
		return fmt.Errorf("%w%s", err, again)
	case left > 0 && t.dryRun():
		return partly("%s would stay in %s, see above", count(left), t.queue.Name())
	case left > 0:
		return partly("%s stay in %s, see above%s", count(left), t.queue.Name(), again)
	}
	return t.verdict(c, nil)
}
