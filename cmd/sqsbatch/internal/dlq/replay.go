package dlq

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// Ways of moving messages.
const (
	byAuto = "auto"
	byTask = "task"
	bySend = "send"
)

// moving are the flags of replay and move.
type moving struct {
	receiving
	sending
	verb, did string // "replay", "replayed"
	move      bool   // the verb is move
	to        string
	origins   []string
	edit      string
	editor    bool
	by        string
}

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

func replayCommand(tio cli.IO) *cobra.Command {
	m := &moving{verb: "replay", did: "replayed", by: byAuto}
	cmd := &cobra.Command{
		Use:   "replay QUEUE",
		Short: "send messages back to the queues that they came from",
		Long:  aboutReplay,
		Example: `sqsbatch dlq replay orders-dead
sqsbatch dlq replay orders-dead --reason 'no such customer' --rate 50 --yes
sqsbatch dlq replay orders-dead --where '.body.customer == 17' \
             --edit '.body.customer = 18' --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd, tio, args[0]) },
	}
	m.flags(cmd)
	return cmd
}

func moveCommand(tio cli.IO) *cobra.Command {
	m := &moving{verb: "move", did: "moved", move: true, by: byAuto}
	cmd := &cobra.Command{
		Use:   "move QUEUE --to QUEUE",
		Short: "move messages to another queue as they are",
		Long:  aboutMove,
		Example: `sqsbatch dlq move orders-dead --to parked --reason 'no such customer' --yes
sqsbatch dlq move orders-dead --to parked --yes`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd, tio, args[0]) },
	}
	m.flags(cmd)
	return cmd
}

func (m *moving) flags(cmd *cobra.Command) {
	m.selecting.flags(cmd, 0, "select at most N, and exactly N if there are as many; those that then fail or stay count, too (default: no limit)")
	cli.Section(cmd, "What is done", func(f *pflag.FlagSet) {
		f.BoolVar(&m.yes, "yes", false, "do it; without this flag the command only says what it would do")
		if m.move {
			f.Var(cli.Text(&m.to, "QUEUE"), "to", "the queue that they go to: a name, URL or ARN")
		} else {
			f.Var(cli.Text(&m.to, "QUEUE"), "to", "the queue that they go to (default: each to the queue that it came from)")
			f.Var(cli.Texts(&m.origins, "ARN"), "origin", "the ARN of a queue that messages name as their source and SQS does not: they go back there; may be repeated")
			f.Var(cli.Text(&m.edit, "JQ"), "edit", "a jq program that changes each message, such as '.body.customer = 18'; it yields the object that it reads, and 'empty' leaves the message in the queue")
			f.BoolVar(&m.editor, "editor", false, "open each message in $VISUAL or $EDITOR; needs --yes")
		}
		m.rateFlag(f)
		f.Var(cli.Choice(&m.by, byAuto, byTask, bySend), "by", "how messages are moved\ntask: SQS does it (StartMessageMoveTask), which takes all messages, up to 500 a second\nsend: this command sends and deletes\nauto: task if nothing is selected or edited and SQS can do it, else send; also if the task fails before it has moved anything")
		m.forceFlag(f)
	})
	m.journalFlags(cmd, "go on with the run that was interrupted, with its selection, destination and edit",
		"forget the run that was interrupted, and begin anew: messages that it sent and did not delete are sent again")
	m.common.flags(cmd)
	cli.Section(cmd, "What is shown", m.outputFlag)
}

// given lists the flags that a resumed run takes from its journal.
var given = []string{"where", "reason", "since", "until", "id", "limit", "to", "origin", "edit", "editor", "by"}

func (m *moving) check(cmd *cobra.Command) error {
	if err := m.sending.check(cmd); err != nil {
		return err
	}
	switch {
	case m.edit != "" && m.editor:
		return usagef(cmd, "both --edit and --editor change the messages; give one")
	case slices.ContainsFunc(m.origins, func(arn string) bool { _, err := endpoint.ParseARN(arn); return err != nil }):
		return usagef(cmd, "--origin is %q: must be the ARN of a queue", m.origins)
	case m.editor && !m.yes:
		return usagef(cmd, "--editor needs --yes: nothing would be done with what you edit")
	case m.resume:
		for _, name := range given {
			if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
				return usagef(cmd, "--resume takes --%s from the interrupted run; leave it out", name)
			}
		}
	case m.to != "" && len(m.origins) > 0:
		return usagef(cmd, "both --to and --origin say where messages go; give one")
	case m.move && m.to == "":
		return usagef(cmd, "--to names the queue that the messages go to; to send them back to where they came from, use `sqsbatch dlq replay`")
	}
	return nil
}

func (m *moving) run(cmd *cobra.Command, tio cli.IO, name string) error {
	if err := m.check(cmd); err != nil {
		return err
	}
	criteria, err := m.criteria(cmd, time.Now())
	if err != nil {
		return err
	}
	s, err := m.open(cmd, tio, name, true)
	if err != nil {
		return err
	}
	defer s.close()
	set := settings{Criteria: criteria, Limit: m.limit, To: m.to, Origins: m.origins, Edit: m.edit, Editor: m.editor, By: m.by, Before: s.queue.Asked.Add(time.Second)}
	t := &transfer{from: s.queue, move: m.move, dryRun: !m.yes && !m.resume}
	t.result, t.limiter, t.pending = &result{}, m.limiter(), map[string]*journal.Pending{}
	defer t.close()
	var state *journal.State
	if m.resume {
		set = settings{}
		if t.journal, state, err = m.openJournal(cmd, s.queue, &set, t.deleted.add); err != nil {
			return err
		}
	}
	if err := m.prepare(cmd, s, t, &set); err != nil {
		return err
	}
	whole, err := m.whole(cmd, t, &set, state)
	if err != nil {
		return err
	}
	if !t.dryRun && !m.resume {
		if t.journal, err = m.createJournal(cmd, s.queue, &set); err != nil {
			return err
		}
	}
	out := &report{session: s, m: m, t: t, began: time.Now()}
	if whole {
		return m.task(s, t, &set, state, out)
	}
	return m.transfer(s, t, &set, state, out)
}

// prepare reads the settings into a transfer.
func (m *moving) prepare(cmd *cobra.Command, s *session, t *transfer, set *settings) error {
	selection, err := compile(cmd, set.Criteria)
	if err != nil {
		return err
	}
	t.pick = &picker{selection: selection, limit: set.Limit, before: set.Before, ordered: s.queue.FIFO()}
	t.routes = &routes{account: s.account, from: s.queue, origins: set.Origins}
	if set.To != "" {
		if t.routes.to, err = s.account.Open(s.soft, set.To, queue.Opening); err != nil {
			return err
		}
		if t.routes.to.ARN == s.queue.ARN {
			return usagef(cmd, "--to is %s itself", s.queue.Name())
		}
	}
	if set.Edit != "" {
		edit, err := letter.CompileEdit(set.Edit)
		if err != nil {
			return usagef(cmd, "%v", err)
		}
		t.edit = func(_ context.Context, l letter.Letter) (letter.Letter, bool, error) {
			return edit.Apply(l, time.Now())
		}
	}
	if set.Editor {
		if t.edit, err = newEditor(s); err != nil {
			return usagef(cmd, "%v", err)
		}
	}
	return nil
}

// transfer runs a transfer by send and delete, and tells how it ended.
func (m *moving) transfer(s *session, t *transfer, set *settings, state *journal.State, out *report) error {
	workers := s.workers
	if set.Editor {
		workers = 1
	}
	t.scan = s.newScan(workers)
	t.scan.each, t.scan.hold.deleted = t.each, t.deleted
	if state != nil {
		s.queue.Hidden(hidden+10*time.Second, "the interrupted run") // a call of the killed run may have been under way
	}
	out.plan(set, state)
	var err error
	if state != nil {
		err = t.resume(s.kill, state)
	}
	var a account
	if err == nil {
		if !set.Editor { // which has the terminal
			out.begin(set)
		}
		a, err = t.scan.run(s.soft, s.kill)
		s.status.end()
	}
	err = cmp.Or(s.interrupted(), err)
	if err == nil && !t.dryRun && t.nothingOpen(a) {
		err = t.end()
	}
	return out.end(a, err)
}
