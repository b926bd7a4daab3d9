package dlq

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/build"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/letter"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/local"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// Messages that are tried are kept in memory.
const (
	tryLimit = 100
	tryBytes = 64 << 20
)

func tryCommand(tio cli.IO, builder build.Builder) *cobra.Command {
	o, trial := &options{}, &local.Trial{}
	cmd := &cobra.Command{
		Use:   "try QUEUE [package]",
		Short: "run messages through the local function, and say which would succeed now",
		Long:  aboutTry,
		Example: `sqsbatch dlq try orders-dead .
sqsbatch dlq try orders-dead --reason timeout --limit 1000 ./cmd/orders`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		PreRunE: func(_ *cobra.Command, args []string) error {
			for _, arg := range args[1:] {
				if err := trial.Argument(arg); err != nil {
					return err
				}
			}
			return nil
		},
		RunE: o.receiving(tio, func(s *session) error { return s.try(trial, builder) }),
	}
	o.selectFlags(cmd, tryLimit, "try at most N; 0 is no limit, except that they are kept in memory")
	trial.Flags(cmd)
	o.placeFlags(cmd)
	cli.Section(cmd, "What is shown", func(f *pflag.FlagSet) {
		o.forceFlag(f)
		o.outputFlag(f)
		f.Lookup("output").Usage = "the form of the output\njson: one JSON object a line, one for each message"
	})
	return cmd
}

func (s *session) try(trial *local.Trial, builder build.Builder) error {
	var ids []string
	var messages []message.Message
	bytes := 0
	c, err := s.look(s.workers, func(l *letter.Letter) error {
		if bytes += l.Size(); bytes > tryBytes {
			return fmt.Errorf("the messages have more than %d MiB together: select fewer, or give --limit", tryBytes>>20)
		}
		ids, messages = append(ids, l.ID), append(messages, l.Message)
		return nil
	}, s.selected())
	if err != nil {
		return asInterrupted(err)
	}
	if len(messages) == 0 {
		s.print("%s: no message is selected of %s", s.queue.Name(), count(c.Received))
		return nil
	}
	// The queue has its messages back; from here on, only the copies are used.
	results, err := trial.Run(s.soft, s.kill, s.tio, builder, messages)
	failing, e := s.showTried(ids, results)
	if err := cmp.Or(e, s.interrupted(), err); err != nil {
		return asInterrupted(err)
	}
	if failing > 0 {
		return partly("%s of %s would fail", show.Number(failing), count(len(results)))
	}
	return nil
}

// tried is a line of the JSON output.
type tried struct {
	Type    string `json:"type"` // "message"
	ID      string `json:"messageId"`
	Outcome string `json:"outcome"` // "" if the trial ended before
	Reason  string `json:"reason,omitempty"`
	// Blocked: a message before it in its FIFO group failed.
	Blocked bool `json:"blocked,omitempty"`
}

// showTried says what became of the messages, those that would fail in groups, and returns how
// many these are.
func (s *session) showTried(ids []string, results []local.TrialResult) (failing int, err error) {
	blocked := 0
	for i, r := range results {
		if err := s.json(tried{"message", ids[i], r.Outcome, r.Reason, r.Blocked}); err != nil {
			return 0, err
		}
		if r.Blocked {
			blocked++
		}
		if !succeeds(r) {
			why := cmp.Or(r.Outcome, "not tried")
			if r.Reason != "" {
				why += ": " + letter.ReasonGroup(r.Reason)
			}
			s.result.failed(ids[i], errors.New(why))
		}
	}
	c := s.result.now()
	s.row(len(results)-c.Failed, "would succeed now")
	for _, f := range c.Failures {
		s.row(f.Count, "%s (%s)", f.Error, f.ids())
	}
	s.row(blocked, "would wait behind a message of their FIFO group that fails")
	return c.Failed, nil
}

// succeeds reports whether the message would leave its queue as handled.
func succeeds(r local.TrialResult) bool {
	return r.Outcome == track.Succeeded || r.Outcome == track.Duplicate || r.Outcome == track.Expired
}
