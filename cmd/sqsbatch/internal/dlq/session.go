package dlq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// common are the flags of every verb.
type common struct {
	account queue.Settings
	workers int
	output  string
	force   bool
}

// maxWorkers bounds --parallel, so that calls do not wait for connections.
const maxWorkers = 50

func (c *common) flags(cmd *cobra.Command) {
	*c = common{workers: 16, output: "text"}
	cli.Section(cmd, "Where the queue is", func(f *pflag.FlagSet) {
		c.account.Flags(f)
		f.IntVar(&c.workers, "parallel", c.workers, "how many calls are made at the same time")
	})
}

func (c *common) outputFlag(f *pflag.FlagSet) {
	f.Var(cli.Choice(&c.output, "text", "json"), "output", "the form of the output\njson: one JSON object a line")
}

// forceFlag is for verbs that receive.
func (c *common) forceFlag(f *pflag.FlagSet) {
	f.BoolVar(&c.force, "force", false, "receive although the queue has a dead-letter queue of its own, to which SQS moves messages that were received too often")
}

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return cli.Usagef("dlq "+cmd.Name(), format, args...)
}

// selecting are the flags that select messages, the same for every verb.
type selecting struct {
	where        string
	reason       string
	since, until string
	ids          []string
	limit        int
}

func (s *selecting) flags(cmd *cobra.Command, limit int, limitText string) {
	s.limit = limit
	cli.Section(cmd, "Which messages", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&s.where, "JQ"), "where", "those for which a jq program is true, such as '.body.customer == 17 and .receives > 3'; 'sqsbatch help dlq' says what it reads")
		f.Var(cli.Text(&s.reason, "TEXT"), "reason", "those whose reason contains TEXT, or is of the group TEXT that stats shows")
		f.Var(cli.Text(&s.since, "TIME"), "since", "those that failed since then: a time (2026-11-23T21:00:00Z, 2026-11-23, 21:00) or how long ago (2h, 3d)")
		f.Var(cli.Text(&s.until, "TIME"), "until", "those that failed before then")
		f.Var(cli.Texts(&s.ids, "ID"), "id", "the message with this id, in the dead-letter queue or in its source queue; may be repeated")
		f.IntVar(&s.limit, "limit", limit, limitText)
	})
}

// criteria reads the flags.
func (s *selecting) criteria(cmd *cobra.Command, now time.Time) (c letter.Criteria, err error) {
	c = letter.Criteria{Where: s.where, Reason: s.reason, IDs: s.ids}
	if c.Since, err = parseTime(s.since, now); err != nil {
		return c, usagef(cmd, "--since is %q; %v", s.since, err)
	}
	if c.Until, err = parseTime(s.until, now); err != nil {
		return c, usagef(cmd, "--until is %q; %v", s.until, err)
	}
	if s.limit < 0 {
		return c, usagef(cmd, "--limit is %d; it must not be negative", s.limit)
	}
	return c, nil
}

func compile(cmd *cobra.Command, c letter.Criteria) (*letter.Selection, error) {
	selection, err := c.Compile()
	if err != nil {
		return nil, usagef(cmd, "%v", err)
	}
	return selection, nil
}

// receiving are the flags of verbs that receive and select messages.
type receiving struct {
	common
	selecting
}

// receive compiles the selection, and opens the queue.
func (v *receiving) receive(cmd *cobra.Command, tio cli.IO, name string) (*session, error) {
	selection, err := v.selection(cmd)
	if err != nil {
		return nil, err
	}
	return v.openFor(cmd, tio, name, selection)
}

// openFor opens the queue to receive the messages of a selection.
func (v *receiving) openFor(cmd *cobra.Command, tio cli.IO, name string, selection *letter.Selection) (*session, error) {
	s, err := v.open(cmd, tio, name, true)
	if err != nil {
		return nil, err
	}
	s.selection, s.limit = selection, v.limit
	return s, nil
}

func (v *receiving) selection(cmd *cobra.Command) (*letter.Selection, error) {
	criteria, err := v.criteria(cmd, time.Now())
	if err != nil {
		return nil, err
	}
	return compile(cmd, criteria)
}

// A session is one run of a verb on a queue.
type session struct {
	*common
	tio       cli.IO
	account   *queue.Account
	queue     *queue.Queue
	selection *letter.Selection // of openFor
	limit     int               // of openFor
	soft      context.Context   // ended by the first interrupt
	kill      context.Context   // ended by the second
	close     func()
	status    *status
}

var errInterrupted = errors.New("interrupted")

// open finds the queue. It refuses one with a dead-letter queue of its own, unless forced:
// every receive counts, and SQS would move what was received too often.
func (c *common) open(cmd *cobra.Command, tio cli.IO, name string, receives bool) (*session, error) {
	if c.workers < 1 || c.workers > maxWorkers {
		return nil, usagef(cmd, "--parallel is %d; it must be 1 to %d", c.workers, maxWorkers)
	}
	soft, stop := context.WithCancelCause(cmd.Context())
	kill, stopNow := context.WithCancelCause(cmd.Context())
	s := &session{common: c, tio: tio, soft: soft, kill: kill}
	s.close = func() { stop(nil); stopNow(nil) }
	s.status = newStatus(tio.Stderr, view.Detect(tio.Stderr))
	go tio.EachInterrupt(kill, func(n int) {
		if n > 1 {
			stopNow(errInterrupted)
			return
		}
		stop(errInterrupted)
		s.status.say("finishing what is in hand and giving the rest back; interrupt again to stop at once")
	})
	account, err := connect(soft, c.account, name)
	if err == nil {
		s.account = account
		s.queue, err = account.Open(soft, name, queue.Opening)
	}
	err = cmp.Or(s.interrupted(), err)
	if err == nil && receives && s.queue.DeadLetterQueue != "" && !c.force {
		err = fmt.Errorf("%s has a dead-letter queue of its own (%s): every look counts as a receive, and SQS moves what was received too often. "+
			"If that is right, add --force", s.queue.Name(), s.queue.DeadLetterQueue)
	}
	if err != nil {
		s.close()
		return nil, asInterrupted(err)
	}
	return s, nil
}

// connect is replaced by tests.
var connect = queue.Connect

// interrupted returns errInterrupted if an interrupt ended the run.
func (s *session) interrupted() error {
	if s.soft.Err() != nil {
		return context.Cause(s.soft)
	}
	return nil
}

// scan runs a scan, and shows meanwhile how much of the queue was looked at, and text.
func (s *session) scan(scan *scan, r *result, text func(counts) string) (account, error) {
	total := s.queue.Visible // the scan asks again
	s.status.begin(func() (int, int, string) {
		c := r.now()
		n := c.Selected + c.NotSelected
		_, text := scan.progress(text(c))
		return n, max(n, total), text
	})
	a, err := scan.run(s.soft, s.kill)
	s.status.end()
	return a, cmp.Or(s.interrupted(), err)
}

// partly returns an error that says that a verb did only a part of what it was to do.
func partly(format string, args ...any) error {
	return &cli.StatusError{Status: 3, Err: fmt.Errorf(format, args...)}
}

// parseTime reads --since and --until: a time, or how long ago. "" is the zero time.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := parseAgo(text); err == nil {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			y, m, d := now.Local().Date()
			at := time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, time.Local)
			if at.After(now) {
				at = at.AddDate(0, 0, -1) // it was yesterday
			}
			return at, nil
		}
	}
	return time.Time{}, errors.New("it must be a time, like 2026-11-23T21:00:00Z or 21:00, or how long ago, like 2h or 3d")
}

// parseAgo is time.ParseDuration with days, as in 3d or 1d12h. It takes no negative time.
func parseAgo(text string) (d time.Duration, err error) {
	if days, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || n > 1e5 {
			return 0, errors.New("not a number of days")
		}
		d, text = time.Duration(n*24*float64(time.Hour)), rest
	}
	if text != "" {
		more, err := time.ParseDuration(text)
		if err != nil {
			return 0, err
		}
		d += more
	}
	if d < 0 {
		return 0, errors.New("it is negative")
	}
	return d, nil
}
