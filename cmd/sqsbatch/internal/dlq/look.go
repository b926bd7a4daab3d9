package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/internal/endpoint"
	"github.com/sqsbatch/sqsbatch/internal/s3body"
)

// look receives the messages of the queue, gives those that are selected to see, one after
// another, and makes them all visible again. It returns what was counted.
func (s *session) look(workers int, see func(l *letter.Letter) error, progress func(counts) (int, int, string)) (counts, error) {
	s.scan = s.newScan(workers)
	var mu sync.Mutex
	seen := ids{}
	err := s.receive(func(_ context.Context, letters []letter.Letter) error {
		mu.Lock()
		defer mu.Unlock()
		letters = slices.DeleteFunc(letters, func(l letter.Letter) bool {
			again := seen.has(l.ID) // its time was over before it could be extended
			seen.add(l.ID)
			return again
		})
		for _, l := range s.chosen(letters) {
			if err := see(l); err != nil {
				return err
			}
		}
		return nil
	}, progress)
	return s.result.now(), err
}

// selected is the progress of a look.
func (s *session) selected() func(counts) (int, int, string) {
	return s.looked(func(c counts) string { return count(c.Selected) })
}

func statsCommand(tio cli.IO) *cobra.Command {
	o, by := &options{}, ""
	cmd := &cobra.Command{
		Use:   "stats QUEUE",
		Short: "count the messages: how old, why they failed, when it began",
		Long:  aboutStats,
		Example: `sqsbatch dlq stats orders-dead
sqsbatch dlq stats orders-dead --by .body.customer --since 2h`,
		RunE: o.receiving(tio, func(s *session) error { return s.stats(by) }),
	}
	o.selectFlags(cmd, 0, "count at most N (default: no limit)")
	cli.Section(cmd, "What is counted", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&by, "reason|source|hour|shape|JQ"), "by", "what makes a group: the reason (default; of messages without one the shape of the body and the source queue), the source queue, the hour, the shape of the body, or the output of a jq program")
		o.forceFlag(f)
	})
	o.placeFlags(cmd)
	cli.Section(cmd, "What is shown", o.outputFlag)
	return cmd
}

func (s *session) stats(by string) error {
	stats, err := letter.NewStats(by, s.queue.Retention, s.queue.FIFO())
	if err != nil {
		return usagef(s.cmd, "%v", err)
	}
	visible, inFlight, delayed := s.queue.Visible, s.queue.InFlight, s.queue.Delayed
	c, err := s.look(s.workers, func(l *letter.Letter) error { return stats.Add(l, time.Now()) }, s.selected())
	if err != nil && !errors.Is(err, errInterrupted) {
		return err
	}
	report := stats.Report(time.Now())
	if e := s.json(statsLine{
		Type: "stats", Queue: s.queue.ARN, Visible: visible, InFlight: inFlight, Delayed: delayed, RetentionSeconds: int(s.queue.Retention.Seconds()),
		Report: report, NotSelected: c.NotSelected, Unseen: c.Unseen, Failures: c.Failures,
	}); e != nil {
		return e
	}
	if s.output == "text" {
		s.print("%s: about %s, %s in flight, %s delayed; kept for %s", s.queue.Name(), count(visible), show.Number(inFlight), show.Number(delayed), days(s.queue.Retention))
		report.Text(s.tio.Stdout, view.Detect(s.tio.Stdout))
		s.rows(c)
	}
	return s.verdict(c, err)
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

// pageSize is how many messages are shown by default, and between two questions.
const pageSize = 10

func showCommand(tio cli.IO) *cobra.Command {
	o, buckets := &options{}, []string(nil)
	cmd := &cobra.Command{
		Use: "show QUEUE", Aliases: []string{"peek"},
		Short: "show messages with their bodies",
		Long:  aboutShow,
		Example: `sqsbatch dlq show orders-dead
sqsbatch dlq show orders-dead --id 059f36b4-87a3-44ab-83d2-661975830a7d`,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if len(buckets) > 0 && o.output == "json" {
				return usagef(cmd, "--output json writes messages as they are; leave --s3-bucket out")
			}
			return nil
		},
		RunE: o.receiving(tio, func(s *session) error { return s.show(buckets) }),
	}
	o.selectFlags(cmd, pageSize, "show at most N; 0 shows all. On a terminal, a question comes after each ten, unless --limit is given")
	cli.Section(cmd, "What is shown", func(f *pflag.FlagSet) {
		f.Var(cli.Texts(&buckets, "NAME"), "s3-bucket", "read bodies that are in this bucket, in the queue's region, where a message only points to them; may be repeated")
		o.forceFlag(f)
		o.outputFlag(f)
		f.Lookup("output").Usage = "the form of the output\njson: one message a line, as export writes it"
	})
	o.placeFlags(cmd)
	return cmd
}

func (s *session) show(buckets []string) error {
	terminal := view.Detect(s.tio.Stdout)
	in, isFile := s.tio.Stdin.(*os.File)
	ask := isFile && !s.cmd.Flags().Changed("limit") && s.output == "text" && term.IsTerminal(int(in.Fd())) && terminal.Redraw
	if ask {
		s.pick.limit = 0
	}
	fetch := s.fetcher(buckets)
	shown, quit := 0, false
	c, err := s.look(1, func(l *letter.Letter) error {
		if s.output == "json" {
			_, err := s.tio.Stdout.Write(append(l.AppendJSON(nil), '\n'))
			return err
		}
		if shown++; ask && shown > 1 && shown%pageSize == 1 {
			fmt.Fprintf(s.tio.Stderr, "-- Enter shows the next %d, q ends --", pageSize)
			quit = !again(s.soft, s.tio.Stdin)
		}
		if quit {
			s.scan.stop()
			return nil
		}
		return letter.Show(s.tio.Stdout, fetch(l), time.Now(), terminal)
	}, nil)
	if s.output == "text" && c.Selected == 0 && err == nil {
		s.print("%s: no message is selected of %s", s.queue.Name(), count(c.Received))
	}
	if err != nil || c.Failed > 0 {
		for _, f := range c.Failures {
			s.status.say("%s: %s", count(f.Count), f.Error)
		}
		return s.verdict(c, err)
	}
	if c.Hidden > 0 {
		s.status.say("%s could not be given back; they are visible again in two minutes at most", count(c.Hidden))
	}
	return nil
}

func exportCommand(tio cli.IO) *cobra.Command {
	o, file := &options{}, ""
	cmd := &cobra.Command{
		Use:   "export QUEUE",
		Short: "write messages to a file, with everything that they have",
		Long:  aboutExport,
		Example: `sqsbatch dlq export orders-dead --file dead.ndjson.gz
sqsbatch dlq export orders-dead --reason 'no such customer' | jq -r .Body`,
		RunE: o.receiving(tio, func(s *session) error { return s.export(file) }),
	}
	o.selectFlags(cmd, 0, "at most N of them, and exactly N if there are as many (default: no limit)")
	cli.Section(cmd, "What is written", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&file, "FILE"), "file", "the file, compressed if its name ends in .gz (default: standard output)")
		o.forceFlag(f)
	})
	o.placeFlags(cmd)
	return cmd
}

func (s *session) export(path string) error {
	f, err := createFile(path, s.tio.Stdout)
	if err != nil {
		return err
	}
	c, err := s.look(s.workers, func(l *letter.Letter) error { return f.write([]*letter.Letter{l}) }, s.selected())
	err = cmp.Or(err, f.close())
	s.output = "json" // what is said goes to standard error
	s.print("%s of %s written", count(f.n), s.queue.Name())
	s.rows(c)
	return s.verdict(c, err)
}

// maxFetched is the largest body that is read from S3.
const maxFetched = 16 << 20

// fetcher returns a function that reads a message's body from S3, if the message points to
// an object in one of buckets. A sender chooses the object, so the user names the buckets; "*" is
// any. The buckets are expected in the queue's region. A message whose body cannot be read stays
// as it is, with a note.
func (s *session) fetcher(buckets []string) func(*letter.Letter) *letter.Letter {
	if len(buckets) == 0 {
		return func(l *letter.Letter) *letter.Letter { return l }
	}
	cfg := s.account.Config()
	if arn, err := endpoint.ParseARN(s.queue.ARN); err == nil {
		cfg.Region = arn.Region
	}
	client := s3body.NewClient(cfg)
	return func(l *letter.Letter) *letter.Letter {
		out := *l
		p, found, err := s3body.PointerOf(&batch.Record{Body: l.Body, MessageAttributes: l.Attributes})
		switch {
		case err != nil || !found:
		case !slices.Contains(buckets, p.Bucket) && !slices.Contains(buckets, "*"):
			err = errors.New("--s3-bucket does not name its bucket")
		default:
			out.Body, err = client.Get(s.kill, p, maxFetched)
		}
		if err != nil {
			out.Body = l.Body
			s.status.say("%s: its body in S3 cannot be read: %v", l.ID, err)
		}
		return &out
	}
}
