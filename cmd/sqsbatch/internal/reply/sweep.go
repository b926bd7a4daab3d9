// Package reply is the command `sqsbatch reply`: what is left of clients of package reply
// that were killed.
package reply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/reply"
)

// Command is `sqsbatch reply`.
func Command(tio cli.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reply",
		Short: "delete the reply queues of processes that were killed",
		Long:  "Looks after the reply queues of package reply, which has requests answered over queues.",
	}
	cmd.AddCommand(sweepCommand(tio))
	return cmd
}

const aboutSweep = `Lists reply queues, and deletes those whose process has died. It deletes nothing without --yes.

A process that makes a reply queue deletes it when it ends. If it is killed, the queue is left. While the process lives, it sets the queue's tag ` + reply.AliveTag + ` every 5 minutes to the time. A queue is of a dead process if this time is longer ago than --older-than. A queue without the tag is left alone.

A process that was only suspended for that long notices it within 5 minutes, and makes a new queue. A call that it makes before that fails. At most 20 queues are looked at in a second, since AWS limits calls about tags.`

// minAge leaves a process two more tries to set its tag.
const minAge = 15 * time.Minute

type sweep struct {
	account queue.Settings
	prefix  string
	age     time.Duration
	yes     bool
	output  string
	client  *sqs.Client
	out     io.Writer

	states          map[string]int // how many queues are dead, alive, other
	deleted, failed int
}

func sweepCommand(tio cli.IO) *cobra.Command {
	s := &sweep{states: map[string]int{}, prefix: reply.DefaultPrefix, age: time.Hour, output: "text", out: tio.Stdout}
	cmd := &cobra.Command{
		Use: "sweep", Short: "delete the reply queues of processes that were killed", Long: aboutSweep, Args: cobra.NoArgs,
		Example: "sqsbatch reply sweep\nsqsbatch reply sweep --older-than 24h --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.age < minAge {
				return cli.Usagef("reply sweep", "--older-than is %v; it must be at least %v, since a process sets the tag every 5m", s.age, minAge)
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			go tio.EachInterrupt(ctx, func(int) { cancel() })
			return s.run(ctx)
		},
	}
	cli.Section(cmd, "Which queues", func(f *pflag.FlagSet) {
		f.Var(cli.Text(&s.prefix, "TEXT"), "prefix", "those whose names begin with TEXT, which is reply.Config.Prefix")
		f.DurationVar(&s.age, "older-than", s.age, "how long the tag must not have been set")
	})
	cli.Section(cmd, "What is done", func(f *pflag.FlagSet) {
		f.BoolVar(&s.yes, "yes", false, "delete the queues of dead processes")
		f.Var(cli.Choice(&s.output, "text", "json"), "output", "the form of the output\njson: one JSON object for each queue")
	})
	cli.Section(cmd, "Where the queues are", s.account.Flags)
	return cmd
}

func (s *sweep) run(ctx context.Context) error {
	account, err := queue.Connect(ctx, s.account, "")
	if err != nil {
		return err
	}
	if s.client, err = account.Client(ctx, ""); err != nil {
		return err
	}
	in := &sqs.ListQueuesInput{QueueNamePrefix: &s.prefix, MaxResults: aws.Int32(1000)}
	for {
		page, err := queue.Call(ctx, queue.Opening, s.client.ListQueues, in)
		if err != nil {
			return advise(err, "ListQueues", "*")
		}
		for _, url := range page.QueueUrls {
			if err := ctx.Err(); err != nil {
				return errors.New("interrupted")
			}
			s.queue(ctx, url)
			sleep.For(ctx, 50*time.Millisecond)
		}
		if in.NextToken = page.NextToken; aws.ToString(in.NextToken) == "" {
			return s.summary()
		}
	}
}

// advise adds to the error of a call what to do about it. The output names the queue.
func advise(err error, operation, queue string) error {
	return fmt.Errorf("%s: %s (%w)", operation, sqserror.Advice(err, "sqs:"+operation, queue), err)
}

// line is a queue in the output.
type line struct {
	Queue string     `json:"queue"`
	State string     `json:"state"`           // dead, alive, or other: without the tag
	Alive *time.Time `json:"alive,omitempty"` // the tag
	// Deleted says that the queue was deleted, Error why it was not.
	Deleted bool   `json:"deleted"`
	Error   string `json:"error,omitempty"`
}

// queue looks at a queue, and deletes it if its process is dead.
func (s *sweep) queue(ctx context.Context, url string) {
	l := line{Queue: batch.QueueName(url), State: "other"}
	tags, err := queue.Call(ctx, queue.Opening, s.client.ListQueueTags, &sqs.ListQueueTagsInput{QueueUrl: &url})
	if sqserror.Of(err) == sqserror.NoQueue {
		return // its process has deleted it
	}
	if err != nil {
		l.Error = advise(err, "ListQueueTags", l.Queue).Error()
	} else if at, err := time.Parse(time.RFC3339, tags.Tags[reply.AliveTag]); err == nil {
		l.Alive, l.State = &at, "alive"
		if time.Since(at) > s.age {
			l.State = "dead"
		}
	}
	if l.State == "dead" && s.yes {
		_, err := queue.Call(ctx, queue.Opening, s.client.DeleteQueue, &sqs.DeleteQueueInput{QueueUrl: &url})
		if err != nil && sqserror.Of(err) != sqserror.NoQueue {
			l.Error = advise(err, "DeleteQueue", l.Queue).Error()
		}
		l.Deleted = l.Error == ""
	}
	s.states[l.State]++
	if l.Deleted {
		s.deleted++
	}
	if l.Error != "" {
		s.failed++
	}
	s.print(l)
}

func (s *sweep) print(l line) {
	if s.output == "json" {
		text, _ := json.Marshal(l) // strings and times
		fmt.Fprintf(s.out, "%s\n", text)
		return
	}
	about := "has no tag " + reply.AliveTag
	if l.Alive != nil {
		about = fmt.Sprintf("%s, last alive %v ago", l.State, time.Since(*l.Alive).Round(time.Second))
	}
	switch {
	case l.Deleted:
		about += ", deleted"
	case l.Error != "":
		about += ": " + l.Error
	}
	fmt.Fprintf(s.out, "%s  %s\n", l.Queue, about)
}

func (s *sweep) summary() error {
	if s.output == "text" {
		fmt.Fprintf(s.out, "%d of dead processes, %d of live ones, %d without the tag. Deleted: %d\n", s.states["dead"], s.states["alive"], s.states["other"], s.deleted)
		if s.states["dead"] > 0 && !s.yes {
			fmt.Fprintln(s.out, "Nothing was deleted. With --yes, those of dead processes are.")
		}
	}
	if s.failed > 0 {
		return fmt.Errorf("%d queues could not be read or deleted", s.failed)
	}
	return nil
}
