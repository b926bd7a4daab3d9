package dlq_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// A task of SQS moves all messages as they are. --by task is refused for anything else.
func TestByTask_IsRefusedForAPart(t *testing.T) {
	virtual(t, func(b *bench) {
		b.redriven("orders", "", `{"n":1}`)
		for flag, want := range map[string]string{
			"--where=.body.n == 1": "a task moves all messages", "--limit=1": "a task moves all messages", "--id=x": "a task moves all messages",
			"--edit=.body.n = 2": "a task changes nothing", "--rate=501": "at most 500", "--to=parked.fifo": "between a standard queue and a FIFO queue",
		} {
			b.contains(b.must(2, "replay", "orders-dead", "--by", "task", flag, "--yes"), "--by task: ", want)
		}
		b.expect("orders-dead", `{"n":1}`)
	})
}

// --discard forgets nothing in a dry run, or if the command line is wrong.
func TestDiscard_ActsOnlyWithYes(t *testing.T) {
	virtual(t, func(b *bench) {
		killed(b)
		b.must(0, "replay", "orders-dead", "--discard", "--by", "send")
		b.must(2, "replay", "orders-dead", "--discard", "--yes", "--where", "{")
		b.contains(b.must(2, "replay", "orders-dead", "--discard", "--resume"), "give one")
		b.contains(b.must(1, "replay", "orders-dead", "--yes"), "did not end")
		b.must(0, "replay", "orders-dead", "--discard", "--limit", "2", "--yes")
	})
}

// A flag that would have no effect is refused.
func TestFlagsWithoutEffect_AreRefused(t *testing.T) {
	virtual(t, func(b *bench) {
		b.buried("orders-dead", "", `{"n":1}`, "x", "orders")
		b.contains(b.must(2, "replay", "orders-dead", "--editor"), "--editor needs --yes")
		b.contains(b.must(2, "show", "orders-dead", "--s3-bucket", "b", "--output", "json"), "leave --s3-bucket out")
	})
}

// A dry run with a program that fails counts what would be sent.
func TestDryRun_CountsWhatWouldBeSent(t *testing.T) {
	virtual(t, func(b *bench) {
		b.buried("orders-dead", "", `{"n":1}`, "x", "orders")
		b.buried("orders-dead", "", `{"n":{}}`, "x", "orders")
		b.buried("orders-dead", "", `{"n":2}`, "x", "")
		r := b.must(3, "replay", "orders-dead", "--where", ".body.n < 5 or (.body.n | ascii_downcase)", "--edit", "if .body.n == 1 then empty else . end", "--to", "parked")
		b.contains(r, "1 message would be replayed:", "1  to parked", "1  left by the edit", "1  left: --where cannot be evaluated", "1 message would stay")
	})
}

// Refusals of single messages are one kind of failure, whatever the ids of the requests are.
func TestFailures_AreGroupedWithoutRequestIDs(t *testing.T) {
	virtual(t, func(b *bench) {
		b.bury(30)
		b.inject(sqs.Fault{Kind: sqs.Failure, Code: "InvalidParameterValue", Operation: "SendMessageBatch", Probability: 1})
		r := b.run("replay", "orders-dead", "--yes")
		if n := strings.Count(r.stdout, "  left: "); n != 1 || strings.Contains(r.stdout, "RequestID") {
			t.Errorf("%d kinds in %s", n, r)
		}
	})
}

// Ctrl-C ends an import at a rate at once, and --resume sends the rest.
func TestImport_CanBeInterruptedAtARate(t *testing.T) {
	virtual(t, func(b *bench) {
		b.bury(100)
		file := b.journal + ".ndjson"
		b.must(0, "export", "orders-dead", "--file", file)
		go func() {
			time.Sleep(5 * time.Second)
			b.interrupts <- os.Interrupt
		}()
		r := b.must(130, "import", "parked", file, "--rate", "1", "--yes")
		if r.elapsed > 8*time.Second {
			t.Errorf("it took %s", r.elapsed)
		}
		b.contains(b.must(2, "import", "parked", "other", "--resume", "--discard"), "give one")
		b.contains(b.must(1, "replay", "parked", "--resume"), "the interrupted run is one of import", "import QUEUE FILE --resume")
		b.must(0, "import", "parked", file, "--resume")
		b.expect("parked", numbered(0, 100)...)
		b.contains(b.must(2, "import", "parked", file, "--resume"), "there is no interrupted run")
	})
}
