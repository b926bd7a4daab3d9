package dlq

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
)

// options are the flags that several verbs share. A verb defines those that it has; the others
// keep their zero values.
type options struct {
	place    queue.Settings
	workers  int
	output   string
	force    bool
	criteria letter.Criteria
	limit    int
	yes      bool
	// Flags of verbs that send.
	rate            int
	resume, discard bool
	file            string // --journal
}

// maxWorkers bounds --parallel, so that calls do not wait for connections.
const maxWorkers = 50

func (o *options) placeFlags(cmd *cobra.Command) {
	o.workers, o.output = 16, "text"
	cli.Section(cmd, "Where the queue is", func(f *pflag.FlagSet) {
		o.place.Flags(f)
		f.IntVar(&o.workers, "parallel", o.workers, "how many calls are made at the same time")
	})
}

func (o *options) outputFlag(f *pflag.FlagSet) {
	f.Var(cli.Choice(&o.output, "text", "json"), "output", "the form of the output\njson: one JSON object a line")
}

// forceFlag is for verbs that receive.
func (o *options) forceFlag(f *pflag.FlagSet) {
	f.BoolVar(&o.force, "force", false, "receive although the queue has a dead-letter queue of its own, to which SQS moves messages that were received too often")
}

func (o *options) rateFlag(f *pflag.FlagSet) {
	f.IntVar(&o.rate, "rate", 0, "at most N messages a second (default: as fast as SQS takes them)")
}

func (o *options) selectFlags(cmd *cobra.Command, limit int, limitText string) {
	cli.Section(cmd, "Which messages", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&o.criteria.Where, "JQ"), "where", "those for which a jq program is true, such as '.body.customer == 17 and .receives > 3'; 'sqsbatch help dlq' says what it reads")
		f.Var(cli.Text(&o.criteria.Reason, "TEXT"), "reason", "those whose reason contains TEXT, or is of the group TEXT that stats shows")
		f.Var(timeFlag{&o.criteria.Since}, "since", "those that failed since then: a time (2026-11-23T21:00:00Z, 2026-11-23, 21:00) or how long ago (2h, 3d)")
		f.Var(timeFlag{&o.criteria.Until}, "until", "those that failed before then")
		f.Var(cli.Texts(&o.criteria.IDs, "ID"), "id", "the message with this id, in the dead-letter queue or in its source queue; may be repeated")
		f.IntVar(&o.limit, "limit", limit, limitText)
	})
}

func (o *options) journalFlags(cmd *cobra.Command, resume, discard string) {
	cli.Section(cmd, "After an interruption", func(f *pflag.FlagSet) {
		f.BoolVar(&o.resume, "resume", false, resume)
		f.BoolVar(&o.discard, "discard", false, discard)
		f.Var(cli.Text(&o.file, "FILE"), "journal", "the file with the steps of the run (default: a file for each queue in the user's state directory)")
	})
}

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return cli.Usagef("dlq "+cmd.Name(), format, args...)
}

func (o *options) check(cmd *cobra.Command) error {
	switch {
	case o.limit < 0:
		return usagef(cmd, "--limit is %d; it must not be negative", o.limit)
	case o.rate < 0:
		return usagef(cmd, "--rate is %d; it must not be negative", o.rate)
	case o.resume && o.discard:
		return usagef(cmd, "--resume goes on with the interrupted run, and --discard forgets it; give one")
	case o.workers < 1 || o.workers > maxWorkers:
		return usagef(cmd, "--parallel is %d; it must be 1 to %d", o.workers, maxWorkers)
	}
	return nil
}

// dryRun reports whether the verb only says what it would do.
func (o *options) dryRun() bool { return !o.yes && !o.resume }

func compile(cmd *cobra.Command, c letter.Criteria) (*letter.Selection, error) {
	selection, err := c.Compile()
	if err != nil {
		return nil, usagef(cmd, "%v", err)
	}
	return selection, nil
}

// A timeFlag is --since or --until.
type timeFlag struct{ at *time.Time }

func (f timeFlag) String() string { return "" }
func (f timeFlag) Type() string   { return "TIME" }

// Set takes a time, or how long ago. "" is the zero time.
func (f timeFlag) Set(text string) (err error) {
	*f.at, err = parseTime(text, time.Now())
	return err
}

func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := parseAgo(text); err == nil {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly, time.TimeOnly, "15:04",
	} {
		t, err := time.ParseInLocation(layout, text, time.Local)
		if err != nil {
			continue
		}
		if t.Year() > 0 {
			return t, nil
		}
		y, m, d := now.Local().Date()
		at := time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, time.Local)
		if at.After(now) {
			at = at.AddDate(0, 0, -1) // it was yesterday
		}
		return at, nil
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
