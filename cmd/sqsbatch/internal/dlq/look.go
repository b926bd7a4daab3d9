package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/s3client"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

// A look receives the messages of a queue, gives those that are selected to see, and makes
// them all visible again.
type look struct {
	pick *picker
	scan *scan
	see  func(ctx context.Context, l *letter.Letter) error

	mu     sync.Mutex
	seen   ids
	result result
}

func (s *session) newLook(workers int, see func(context.Context, *letter.Letter) error) *look {
	v := &look{pick: &picker{selection: s.selection, limit: s.limit}, see: see}
	v.scan = s.newScan(workers)
	v.scan.each = v.each
	return v
}

func (v *look) each(ctx context.Context, letters []letter.Letter) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range letters {
		l := &letters[i]
		if v.seen.has(l.ID) { // its time was over before it could be extended
			continue
		}
		v.seen.add(l.ID)
		verdict, err := v.pick.pick(l)
		if err != nil {
			v.result.failed(l.ID, err)
			continue
		}
		v.result.picked(verdict)
		if verdict == take {
			if err := v.see(ctx, l); err != nil {
				return err
			}
		}
		if verdict == over || v.pick.full() {
			v.scan.stop()
		}
	}
	return nil
}

// run looks, with a status, and returns what was counted.
func (v *look) run(s *session) (counts, account, error) {
	a, err := s.scan(v.scan, &v.result, func(c counts) string { return count(c.Selected) })
	return v.result.now(), a, err
}

// stats

type counting struct {
	receiving
	by string
}

func statsCommand(tio cli.IO) *cobra.Command {
	v := &counting{}
	cmd := &cobra.Command{
		Use:   "stats QUEUE",
		Short: "count the messages: how old, why they failed, when it began",
		Long:  aboutStats,
		Example: `sqsbatch dlq stats orders-dead
sqsbatch dlq stats orders-dead --by .body.customer --since 2h`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, tio, args[0]) },
	}
	v.selecting.flags(cmd, 0, "count at most N (default: no limit)")
	cli.Section(cmd, "What is counted", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&v.by, "reason|source|hour|shape|JQ"), "by", "what makes a group: the reason (default; of messages without one the shape of the body and the source queue), the source queue, the hour, the shape of the body, or the output of a jq program")
		v.forceFlag(f)
	})
	v.common.flags(cmd)
	cli.Section(cmd, "What is shown", v.outputFlag)
	return cmd
}

func (v *counting) run(cmd *cobra.Command, tio cli.IO, name string) error {
	s, err := v.receive(cmd, tio, name)
	if err != nil {
		return err
	}
	defer s.close()
	stats, err := letter.NewStats(v.by, s.queue.Retention, s.queue.FIFO())
	if err != nil {
		return usagef(cmd, "%v", err)
	}
	visible, inFlight, delayed := s.queue.Visible, s.queue.InFlight, s.queue.Delayed
	look := s.newLook(s.workers, func(_ context.Context, l *letter.Letter) error {
		return stats.Add(l, time.Now())
	})
	c, a, err := look.run(s)
	if err != nil && !errors.Is(err, errInterrupted) {
		return err
	}
	report := stats.Report(time.Now())
	if e := s.json(statsLine{
		Type: "stats", Queue: s.queue.ARN, Visible: visible, InFlight: inFlight, Delayed: delayed, RetentionSeconds: int(s.queue.Retention.Seconds()),
		Report: report, NotSelected: c.NotSelected, Unseen: a.Unseen, Failures: c.Failures,
	}); e != nil {
		return e
	}
	if s.output == "text" {
		s.print("%s: about %s, %s in flight, %s delayed; kept for %s", s.queue.Name(), count(visible), number(inFlight), number(delayed), days(s.queue.Retention))
		report.Text(tio.Stdout, view.Detect(tio.Stdout))
		s.rows(c, a)
	}
	return s.verdict(c, a, err, look.pick.full())
}

// statsLine is the JSON output of stats.
type statsLine struct {
	Type             string `json:"type"`
	Queue            string `json:"queue"`
	Visible          int    `json:"visible"`
	InFlight         int    `json:"inFlight"`
	Delayed          int    `json:"delayed"`
	RetentionSeconds int    `json:"retentionSeconds"`
	letter.Report
	NotSelected int       `json:"notSelected"`
	Unseen      int       `json:"unseen"`
	Failures    []failure `json:"failures,omitempty"`
}

// days is a time in whole days, or else as short.
func days(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == day:
		return "1 day"
	case d > 0 && d%day == 0:
		return fmt.Sprintf("%d days", d/day)
	default:
		return short(d)
	}
}

// show

type showing struct {
	receiving
	buckets []string
}

// pageSize is how many messages are shown by default, and between two questions.
const pageSize = 10

func showCommand(tio cli.IO) *cobra.Command {
	v := &showing{}
	cmd := &cobra.Command{
		Use: "show QUEUE", Aliases: []string{"peek"},
		Short: "show messages with their bodies",
		Long:  aboutShow,
		Example: `sqsbatch dlq show orders-dead
sqsbatch dlq show orders-dead --id 059f36b4-87a3-44ab-83d2-661975830a7d`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, tio, args[0]) },
	}
	v.selecting.flags(cmd, pageSize, "show at most N; 0 shows all. On a terminal, a question comes after each ten, unless --limit is given")
	cli.Section(cmd, "What is shown", func(f *pflag.FlagSet) {
		f.Var(cli.Texts(&v.buckets, "NAME"), "s3-bucket", "read bodies that are in this bucket, in the queue's region, where a message only points to them; may be repeated")
		v.forceFlag(f)
		f.Var(cli.Choice(&v.output, "text", "json"), "output", "the form of the output\njson: one message a line, as export writes it")
	})
	v.common.flags(cmd)
	return cmd
}

func (v *showing) run(cmd *cobra.Command, tio cli.IO, name string) error {
	if len(v.buckets) > 0 && v.output == "json" {
		return usagef(cmd, "--output json writes messages as they are; leave --s3-bucket out")
	}
	s, err := v.receive(cmd, tio, name)
	if err != nil {
		return err
	}
	defer s.close()
	ask := false
	if in, ok := tio.Stdin.(*os.File); ok && !cmd.Flags().Changed("limit") && v.output == "text" {
		ask = term.IsTerminal(int(in.Fd())) && view.Detect(tio.Stdout).Redraw
	}
	if ask {
		s.limit = 0
	}
	terminal := view.Detect(tio.Stdout)
	fetch := s.fetcher(v.buckets)
	shown := 0
	var look *look
	look = s.newLook(1, func(_ context.Context, l *letter.Letter) error {
		if v.output == "json" {
			_, err := tio.Stdout.Write(append(l.AppendJSON(nil), '\n'))
			return err
		}
		if shown++; ask && shown > 1 && shown%pageSize == 1 {
			s.status.end()
			fmt.Fprintf(tio.Stderr, "-- Enter shows the next %d, q ends --", pageSize)
			if !again(s.soft, tio.Stdin) {
				look.scan.stop()
				return nil
			}
		}
		return letter.Show(tio.Stdout, fetch(l), time.Now(), terminal)
	})
	a, err := look.scan.run(s.soft, s.kill)
	c := look.result.now()
	err = cmp.Or(s.interrupted(), err)
	if v.output == "text" && c.Selected == 0 && err == nil {
		s.print("%s: no message is selected of %s", s.queue.Name(), count(a.Received))
	}
	if err != nil || c.Failed > 0 {
		for _, f := range c.Failures {
			s.status.say("%s: %s", count(f.Count), f.Error)
		}
		return s.verdict(c, a, err, true)
	}
	if a.Hidden > 0 {
		s.status.say("%s could not be given back; they are visible again in two minutes at most", count(a.Hidden))
	}
	return nil
}

// export

type exporting struct {
	receiving
	file string
}

func exportCommand(tio cli.IO) *cobra.Command {
	v := &exporting{}
	cmd := &cobra.Command{
		Use:   "export QUEUE",
		Short: "write messages to a file, with everything that they have",
		Long:  aboutExport,
		Example: `sqsbatch dlq export orders-dead --file dead.ndjson.gz
sqsbatch dlq export orders-dead --reason 'no such customer' | jq -r .Body`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return v.run(cmd, tio, args[0]) },
	}
	v.selecting.flags(cmd, 0, "at most N of them, and exactly N if there are as many (default: no limit)")
	cli.Section(cmd, "What is written", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&v.file, "FILE"), "file", "the file, compressed if its name ends in .gz (default: standard output)")
		v.forceFlag(f)
	})
	v.common.flags(cmd)
	return cmd
}

func (v *exporting) run(cmd *cobra.Command, tio cli.IO, name string) error {
	s, err := v.receive(cmd, tio, name)
	if err != nil {
		return err
	}
	defer s.close()
	f, err := createFile(v.file, tio.Stdout)
	if err != nil {
		return err
	}
	look := s.newLook(s.workers, func(_ context.Context, l *letter.Letter) error {
		return f.write([]*letter.Letter{l})
	})
	c, a, err := look.run(s)
	err = cmp.Or(err, f.close())
	s.output = "json" // what is said goes to standard error
	s.print("%s of %s written", count(f.n), s.queue.Name())
	s.rows(c, a)
	return s.verdict(c, a, err, look.pick.full())
}

// fetcher returns a function that reads a message's body from S3, if the message points to
// an object in one of buckets. A sender chooses the object, so the user names the buckets.
// The buckets are expected in the queue's region. A message whose body cannot be read stays as it is, with a note.
func (s *session) fetcher(buckets []string) func(*letter.Letter) *letter.Letter {
	if len(buckets) == 0 {
		return func(l *letter.Letter) *letter.Letter { return l }
	}
	cfg := s.account.Config()
	if arn, err := endpoint.ParseARN(s.queue.ARN); err == nil {
		cfg.Region = arn.Region
	}
	unwrap := s3payload.Unwrap(s3payload.Config{Buckets: buckets, IgnoreSize: true, Client: s3.NewFromConfig(cfg, s3client.Use)})
	return func(l *letter.Letter) *letter.Letter {
		out := *l
		take := batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			out.Body = r.Body
			return nil
		})
		r := batch.Record{MessageID: l.ID, Body: l.Body, MessageAttributes: l.Attributes}
		if err := unwrap(take).Handle(s.kill, r); err != nil {
			s.status.say("%s: its body in S3 cannot be read: %v", l.ID, err)
		}
		return &out
	}
}
