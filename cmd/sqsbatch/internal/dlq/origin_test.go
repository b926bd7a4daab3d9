package dlq_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// A queue that only a message names is not called, unless SQS says that its dead-letter queue
// this is, or the command line names it.
func TestForgedOrigin_NeedsTheWholeARN(t *testing.T) {
	virtual(t, func(b *bench) {
		b.create("payments", map[string]string{}) // its sender may not write to it
		b.buried("orders-dead", "", `{"n":0}`, "x", "orders")
		b.buried("orders-dead", "", `{"n":1}`, "x", "payments")
		arn := b.server.QueueARN("payments")
		for _, args := range [][]string{{"replay", "orders-dead", "--by", "send"}, {"replay", "orders-dead", "--yes"}} {
			b.contains(b.must(3, args...), "only the message says that it came from "+arn, "--origin "+arn)
		}
		for _, c := range b.server.Calls() {
			if c.Queue == "payments" && c.Operation != "CreateQueue" {
				t.Errorf("%s was called on a queue that only a message names", c.Operation)
			}
		}
		b.expect("orders", `{"n":0}`)
		b.expect("payments")
		b.expect("orders-dead", `{"n":1}`)
		b.buried("orders-dead", "", `{"n":1}`, "x", "payments")
		b.contains(b.must(0, "replay", "orders-dead", "--origin", arn, "--by", "send", "--yes"), "1 message replayed", "to payments")
		b.expect("payments", `{"n":1}`)
	})
}

// A queue of another account or region is shown by its ARN, and not called.
func TestForgedOrigin_OtherAccount(t *testing.T) {
	virtual(t, func(b *bench) {
		other := "arn:aws:sqs:eu-south-1:999999999999:orders" // the name is that of a source
		b.forge("orders-dead", "", "1", partialfailure.Origin{Reason: "x", Queue: other})
		b.contains(b.must(3, "replay", "orders-dead", "--yes"), "only the message says that it came from "+other)
		b.expect("orders-dead", "1")
	})
}

// Each message may name another queue: what is said of them has a bound.
func TestForgedOrigins_AreFew(t *testing.T) {
	virtual(t, func(b *bench) {
		for i := range 300 {
			arn := b.server.QueueARN("q" + strings.Repeat("x", i%70) + string(rune('a'+i%26)))
			b.forge("orders-dead", "", "1", partialfailure.Origin{Reason: "x", Queue: arn})
		}
		out := b.must(3, "replay", "orders-dead", "--by", "send")
		if n := strings.Count(out.stdout, "\n"); n > 110 {
			t.Errorf("%d lines", n)
		}
		b.contains(out, "other reasons")
	})
}

// A queue that does not answer keeps its own messages, once for all of them, and no others.
func TestSilentDestination_HoldsNoOthers(t *testing.T) {
	for _, operation := range []string{"GetQueueAttributes", "SendMessageBatch"} {
		t.Run(operation, func(t *testing.T) {
			virtual(t, func(b *bench) {
				b.redriven("refunds", "", numbered(100, 140)...)
				b.redriven("orders", "", numbered(0, 40)...)
				b.inject(sqs.Fault{Kind: sqs.Hang, Operation: operation, Queue: "refunds"})
				began := time.Now()
				b.must(3, "replay", "orders-dead", "--by", "send", "--yes")
				if took := time.Since(began); took > 5*time.Minute {
					t.Errorf("it took %v", took)
				}
				b.server.ClearFaults()
				b.expect("orders", numbered(0, 40)...)
				b.expect("orders-dead", numbered(100, 140)...)
			})
		})
	}
}

// What is moved by SQS has no reason of sqsbatch: its attribute is from before, or forged.
func TestForgedReason_IsNotShownOfWhatSQSMoved(t *testing.T) {
	virtual(t, func(b *bench) {
		b.forge("orders", "", "1", partialfailure.Origin{Reason: "paid by mistake, call +39 000", Queue: b.server.QueueARN("payments")})
		b.redriven("orders", "", "2")
		for _, verb := range []string{"stats", "show"} {
			out := b.must(0, verb, "orders-dead")
			before, _, _ := strings.Cut(out.stdout, "attributes") // show has all of them
			if strings.Contains(before, "call +39") {
				t.Errorf("%s says:\n%s", verb, out.stdout)
			}
		}
		b.must(0, "replay", "orders-dead", "--by", "send", "--yes")
		b.expect("orders", "1", "2")
	})
}

// The journal is no way to overwrite another file, and no one else may read it.
func TestJournal_IsOneOwnFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and rights differ")
	}
	dir := t.TempDir()
	precious, link, wide := filepath.Join(dir, "precious"), filepath.Join(dir, "link"), filepath.Join(dir, "wide")
	for _, name := range []string{precious, wide} {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(precious, link); err != nil {
		t.Fatal(err)
	}
	virtual(t, func(b *bench) {
		bodies := b.bury(3)
		b.journal = link
		b.contains(b.must(1, "replay", "orders-dead", "--yes"), "is a link or a device")
		b.expect("orders-dead", bodies...)
		b.bury(3)
		if info, err := os.Stat(precious); err != nil || info.Size() != 0 {
			t.Errorf("%v, %v", info.Size(), err)
		}
		b.journal = wide
		b.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Code: "AccessDenied"})
		b.must(1, "replay", "orders-dead", "--by", "send", "--yes")
		if info, err := os.Stat(wide); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
}
