package reply_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/cli"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	command "github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/reply"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/reply"
)

// bench is a server with reply queues of several ages.
type bench struct {
	*testing.T
	server *sqs.Server
	client *awssqs.Client
}

func newBench(t *testing.T) *bench {
	server, err := sqs.Serve("127.0.0.1:0", sqs.Config{})
	golden.OK(t, err)
	t.Cleanup(func() { _ = server.Close() })
	b := &bench{t, server, server.Client()}
	for name, age := range map[string]time.Duration{"sqsbatch-reply-new": 0, "sqsbatch-reply-busy": 50 * time.Minute, "sqsbatch-reply-dead": 61 * time.Minute, "orders": 100 * time.Hour} {
		b.create(name, map[string]string{reply.AliveTag: time.Now().Add(-age).UTC().Format(time.RFC3339)})
	}
	b.create("sqsbatch-reply-untagged", nil)
	b.create("sqsbatch-reply-strange", map[string]string{reply.AliveTag: "yesterday"})
	return b
}

func (b *bench) create(name string, tags map[string]string) {
	b.Helper()
	if _, err := b.client.CreateQueue(b.Context(), &awssqs.CreateQueueInput{QueueName: &name, Tags: tags}); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) sweep(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	tio := cli.IO{Args: append([]string{"reply", "sweep", "--endpoint-url", b.server.URL()}, args...), Stdout: show.To(&out), Stderr: show.To(&errs)}
	status = cli.Run(context.Background(), cli.Root(tio, command.Command(tio)))
	return status, out.String(), errs.String()
}

func (b *bench) queues() (names string) {
	for _, q := range b.server.Snapshot() {
		names += q.Name + " "
	}
	return names
}

func TestSweep_DeletesOnlyQueuesOfDeadProcesses(t *testing.T) {
	b := newBench(t)
	before := b.queues()
	status, out, _ := b.sweep()
	if status != 0 || b.queues() != before {
		t.Errorf("without --yes: %d, %s", status, b.queues())
	}
	golden.Says(t, "the output", out, "sqsbatch-reply-dead  dead, last alive 1h1m", "sqsbatch-reply-busy  alive, last alive 50m", "sqsbatch-reply-untagged  has no tag", "sqsbatch-reply-strange  has no tag",
		"1 of dead processes, 2 of live ones, 2 without the tag. Deleted: 0", "Nothing was deleted. With --yes")
	if strings.Contains(out, "orders") {
		t.Error(out)
	}

	status, out, _ = b.sweep("--yes")
	if status != 0 || b.queues() != strings.Replace(before, "sqsbatch-reply-dead ", "", 1) || !strings.Contains(out, "Deleted: 1") {
		t.Errorf("%d, %s\n%s", status, b.queues(), out)
	}
	if status, out, _ = b.sweep("--yes", "--older-than", "20m"); status != 0 || !strings.Contains(out, "sqsbatch-reply-busy  dead") {
		t.Errorf("%d\n%s", status, out)
	}
	if status, out, _ = b.sweep("--yes", "--prefix", "ord"); status != 0 || strings.Contains(b.queues(), "orders") {
		t.Errorf("%d\n%s", status, out)
	}
}

func TestSweepJSON(t *testing.T) {
	b := newBench(t)
	_, out, _ := b.sweep("--output", "json", "--yes")
	deleted := 0
	for text := range strings.Lines(out) {
		var l struct {
			Queue, State, Error string
			Deleted             bool
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err, text)
		}
		if l.Deleted {
			deleted++
		}
		if l.Deleted != (l.Queue == "sqsbatch-reply-dead") || l.Deleted != (l.State == "dead") {
			t.Error(text)
		}
	}
	if deleted != 1 || strings.Count(out, "\n") != 5 {
		t.Error(out)
	}
}

// A queue that cannot be read or deleted is named, and the others are swept.
func TestSweepWithErrors_GoesOn(t *testing.T) {
	b := newBench(t)
	b.create("sqsbatch-reply-dead2", map[string]string{reply.AliveTag: "2020-01-01T00:00:00Z"})
	for operation, queue := range map[string]string{"DeleteQueue": "sqsbatch-reply-dead", "ListQueueTags": "sqsbatch-reply-new"} {
		golden.OK(t, b.server.Inject(sqs.Fault{Kind: sqs.Failure, Operation: operation, Queue: queue, Code: "AccessDenied"}))
	}
	status, out, errs := b.sweep("--yes")
	if status != 1 || !strings.Contains(errs, "2 queues could not be") || !strings.Contains(out, "sqs:DeleteQueue") || !strings.Contains(out, "sqs:ListQueueTags") || strings.Contains(b.queues(), "dead2") {
		t.Errorf("%d, %s\n%s\n%s", status, b.queues(), out, errs)
	}
}

func TestSweep_WrongCommandLine(t *testing.T) {
	if status, _, errs := newBench(t).sweep("--older-than", "14m"); status != 2 || !strings.Contains(errs, "--older-than is 14m0s; it must be at least 15m0s") {
		t.Error(status, errs)
	}
}
