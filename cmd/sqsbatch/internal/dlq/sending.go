package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/journal"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
)

// sending are the flags of verbs that send messages, and keep a journal of it. The verb is the
// command's name.
type sending struct {
	yes             bool
	rate            int
	resume, discard bool
	file            string
}

func (v *sending) rateFlag(f *pflag.FlagSet) {
	f.IntVar(&v.rate, "rate", 0, "at most N messages a second (default: as fast as SQS takes them)")
}

// limiter is that of --rate, nil without it.
func (v *sending) limiter() *rate.Limiter {
	if v.rate == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(v.rate), min(10, v.rate))
}

func (v *sending) check(cmd *cobra.Command) error {
	switch {
	case v.rate < 0:
		return usagef(cmd, "--rate is %d; it must not be negative", v.rate)
	case v.resume && v.discard:
		return usagef(cmd, "--resume goes on with the interrupted run, and --discard forgets it; give one")
	}
	return nil
}

func (v *sending) journalFlags(cmd *cobra.Command, resume, discard string) {
	cli.Section(cmd, "After an interruption", func(f *pflag.FlagSet) {
		f.BoolVar(&v.resume, "resume", false, resume)
		f.BoolVar(&v.discard, "discard", false, discard)
		f.Var(cli.Text(&v.file, "FILE"), "journal", "the file with the steps of the run (default: a file for each queue in the user's state directory)")
	})
}

// journalPath is the file of --journal, or that of the queue.
func (v *sending) journalPath(q *queue.Queue) (string, error) {
	if v.file != "" {
		return v.file, nil
	}
	dir, err := stateDir()
	if err != nil {
		return "", fmt.Errorf("there is no place for the journal (%w); name a file with --journal", err)
	}
	sum := sha256.Sum256([]byte(q.ARN + " " + q.URL)) // several servers have queues with the same ARN
	return filepath.Join(dir, "sqsbatch", "dlq", q.Name()+"-"+hex.EncodeToString(sum[:6])+".journal"), nil
}

// stateDir is the user's directory for what programs keep between runs.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return os.UserCacheDir()
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "state"), err
}

// createJournal begins the journal of a new run with its settings.
func (v *sending) createJournal(cmd *cobra.Command, q *queue.Queue, settings any) (*journal.Journal, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	path, err := v.journalPath(q)
	if err != nil {
		return nil, err
	}
	if v.discard {
		if err := journal.Discard(path); err != nil {
			return nil, err
		}
	}
	j, err := journal.Create(path, journal.Header{Queue: q.ARN, Verb: cmd.Name(), Started: time.Now().UTC(), Settings: text})
	if unfinished, is := errors.AsType[*journal.UnfinishedError](err); is {
		return nil, fmt.Errorf("%w: go on with it by %s, or forget it with --discard (then messages that it sent and did not delete are sent again)",
			err, resuming(cmd, unfinished.Header.Verb))
	}
	return j, err
}

// resuming is the command that goes on with a run of a verb.
func resuming(cmd *cobra.Command, verb string) string {
	file := ""
	if verb == "import" {
		file = " FILE"
	}
	return fmt.Sprintf("`%s %s QUEUE%s --resume`", cmd.Parent().CommandPath(), verb, file)
}

// openJournal takes up the journal of the run that was interrupted, and reads its settings. It
// calls deleted with the id of each message that the run has deleted.
func (v *sending) openJournal(cmd *cobra.Command, q *queue.Queue, settings any, deleted func(id string)) (*journal.Journal, *journal.State, error) {
	path, err := v.journalPath(q)
	if err != nil {
		return nil, nil, err
	}
	j, h, state, err := journal.Resume(path, deleted)
	switch {
	case errors.Is(err, journal.ErrNothing):
		return nil, nil, usagef(cmd, "--resume: %v (journal %s)", journal.ErrNothing, path)
	case err != nil:
		return nil, nil, err
	case h.Verb != cmd.Name():
		err = fmt.Errorf("the interrupted run is one of %s: %s", h.Verb, resuming(cmd, h.Verb))
	case h.Queue != q.ARN:
		err = fmt.Errorf("the journal %s is of %s, not of %s", path, h.Queue, q.ARN)
	default:
		err = json.Unmarshal(h.Settings, settings)
	}
	if err != nil {
		_ = j.Close()
		return nil, nil, err
	}
	return j, state, nil
}
