package dlq_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Without --yes nothing changes: every message is there, visible.
func TestReplay_IsADryRunByDefault(t *testing.T) {
	virtual(t, func(b *bench) {
		bodies := numbered(0, 25)
		b.redriven("orders", "", bodies...)
		r := b.must(0, "replay", "orders-dead", "--by", "send")
		b.contains(r, "25 messages would be replayed", "25  to orders", "Nothing was changed")
		b.contains(b.must(0, "replay", "orders-dead"), "by a message move task of SQS", "Nothing was changed")
		b.expect("orders-dead", bodies...)
		b.expect("orders")
	})
}

func TestReplay_SendsEachMessageToItsSource(t *testing.T) {
	virtual(t, func(b *bench) {
		b.redriven("orders", "", `{"n":1}`)
		b.redriven("refunds", "", `{"n":2}`)
		b.buried("orders-dead", "", `{"n":3}`, "no such customer", "refunds")
		b.send("orders-dead", "", `{"n":4}`, nil) // nobody knows where from
		r := b.must(3, "replay", "orders-dead", "--by", "send", "--yes")
		b.contains(r, "3 messages replayed", "2  to refunds", "1  to orders", "1  left: neither SQS nor sqsbatch says where it came from: name a queue with --to", "1 message stay")
		b.expect("orders", `{"n":1}`)
		for _, m := range b.drain("refunds") {
			if len(m.MessageAttributes) > 0 || m.Attributes["ApproximateReceiveCount"] != "1" {
				t.Errorf("%s has %v, %v", *m.Body, m.MessageAttributes, m.Attributes)
			}
		}
		b.must(0, "replay", "orders-dead", "--by", "send", "--to", "parked", "--yes")
		b.expect("parked", `{"n":4}`)
		b.expect("orders-dead")
	})
}

// A replayed message goes on in its trace.
func TestReplay_KeepsTheTraceHeader(t *testing.T) {
	virtual(t, func(b *bench) {
		const trace = "Root=1-5759e988-bd862e3fe1be46a994272793"
		_, err := b.client.SendMessage(b.Context(), &awssqs.SendMessageInput{
			QueueUrl: aws.String(b.server.QueueURL("orders-dead")), MessageBody: aws.String(`{"n":1}`),
			MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String(trace)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		b.must(0, "replay", "orders-dead", "--to", "parked", "--by", "send", "--yes")
		if got := b.drain("parked"); len(got) != 1 || got[0].Attributes["AWSTraceHeader"] != trace {
			t.Errorf("%+v", got)
		}
	})
}

// A selection takes what it matches and no more, the limit is exact, an edit changes what
// it says, and all else stays as it was, visible.
func TestReplay_SelectsAndEdits(t *testing.T) {
	virtual(t, func(b *bench) {
		for i := range 60 {
			b.buried("orders-dead", "", fmt.Sprintf(`{ "n": %d, "big": 12345678901234567890 }`, i), fmt.Sprintf("reason %d", i%2), "orders")
		}
		r := b.must(0, "replay", "orders-dead", "--reason", "reason 1", "--where", ".body.n >= 10", "--limit", "7", "--edit", ".body.n += 1000", "--yes")
		b.contains(r, "7 messages replayed", "7  to orders")
		got := b.bodies("orders")
		for _, body := range got {
			if !strings.Contains(body, `"big":12345678901234567890`) || !strings.Contains(body, `"n":10`) {
				t.Errorf("edited to %s", body)
			}
		}
		if len(got) != 7 {
			t.Errorf("%d were sent, want 7", len(got))
		}
		left := b.drain("orders-dead")
		if len(left) != 53 {
			t.Errorf("%d are left, want 53", len(left))
		}
		for _, m := range left {
			if !strings.HasPrefix(*m.Body, `{ "n": `) || m.MessageAttributes["sqsbatch"].StringValue == nil {
				t.Errorf("changed: %s", *m.Body)
			}
		}
	})
}

// A run that lasts longer than messages are hidden receives none of them twice.
func TestReplay_KeepsItsRate(t *testing.T) {
	virtual(t, func(b *bench) {
		bodies := b.bury(3000)
		r := b.must(0, "replay", "orders-dead", "--where", ".body.n < 2000", "--rate", "10", "--yes")
		if r.elapsed < 195*time.Second || r.elapsed > 215*time.Second {
			t.Errorf("2,000 messages at 10 a second took %s", r.elapsed)
		}
		b.contains(r, "2,000 messages replayed", "1,000  not selected", "1000 not selected"[:0])
		b.expect("orders", bodies[:2000]...)
		b.expect("orders-dead", bodies[2000:]...)
	})
}

// What is sent to the dead-letter queue after the run began is left there, or a message
// that fails again at once would be replayed forever.
func TestReplay_LeavesWhatArrivesMeanwhile(t *testing.T) {
	virtual(t, func(b *bench) {
		b.buried("orders-dead", "", "old 1", "x", "orders")
		b.buried("orders-dead", "", "old 2", "x", "orders")
		go func() {
			time.Sleep(1500 * time.Millisecond)
			b.buried("orders-dead", "", "new", "x", "orders")
		}()
		r := b.must(0, "replay", "orders-dead", "--by", "send", "--rate", "1", "--yes")
		b.contains(r, "2 messages replayed", "1  left: they were sent after the run began")
		b.expect("orders", "old 1", "old 2")
		b.expect("orders-dead", "new")
	})
}

// Order in each group is kept, and only the first messages of a group are taken.
func TestReplay_KeepsTheOrderOfGroups(t *testing.T) {
	virtual(t, func(b *bench) {
		for i := range 40 {
			for _, group := range []string{"a", "b", "c"} {
				b.redriven("orders.fifo", group, fmt.Sprintf(`{"group":%q,"n":%d}`, group, i))
			}
		}
		r := b.must(3, "replay", "orders-dead.fifo", "--where", `.group == "a" or .group == "b" and (.body.n < 3 or .body.n == 5)`, "--yes")
		b.contains(r, "43 messages replayed", "1  left: a message before them in their group stays", "not seen: SQS shows no more of a group while its first messages are held")
		got := map[string][]string{}
		for _, m := range b.drain("orders.fifo") {
			got[m.Attributes["MessageGroupId"]] = append(got[m.Attributes["MessageGroupId"]], *m.Body)
		}
		for group, n := range map[string]int{"a": 40, "b": 3, "c": 0} {
			var want []string
			for i := range n {
				want = append(want, fmt.Sprintf(`{"group":%q,"n":%d}`, group, i))
			}
			if !slices.Equal(got[group], want) {
				t.Errorf("group %s: %q, want %q", group, got[group], want)
			}
		}
	})
}

// A queue with a dead-letter queue of its own would lose messages to it by being looked at.
func TestQueuesWithADeadLetterQueue_AreRefused(t *testing.T) {
	virtual(t, func(b *bench) {
		b.send("orders", "", "1", nil)
		for _, args := range [][]string{{"stats"}, {"show"}, {"export"}, {"delete"}, {"replay", "--by", "send"}, {"move", "--to", "parked", "--by", "send"}} {
			r := b.must(1, append([]string{args[0], "orders"}, args[1:]...)...)
			b.contains(r, "orders has a dead-letter queue of its own", "--force")
		}
		if n := len(b.server.Calls("ReceiveMessage")); n > 0 {
			t.Errorf("%d receives", n)
		}
		b.must(0, "delete", "orders", "--force", "--id", "none")
	})
}

// Ctrl-C ends a run cleanly: nothing stays hidden, and --resume does the rest.
func TestReplay_CanBeInterruptedAndResumed(t *testing.T) {
	virtual(t, func(b *bench) {
		bodies := b.bury(200)
		b.interruptAfter(5 * time.Second)
		r := b.must(130, "replay", "orders-dead", "--by", "send", "--rate", "10", "--yes")
		b.contains(r, "finishing what is in hand", "interrupted: ", "go on with --resume")
		for _, q := range b.server.Snapshot() {
			for _, m := range q.Messages {
				if q.Name == "orders-dead" && m.State != "visible" {
					t.Errorf("%s is %s", m.Body, m.State)
				}
			}
		}
		r = b.must(1, "replay", "orders-dead", "--by", "send", "--yes")
		b.contains(r, "a run of replay that began at", "did not end", "--resume", "--discard")
		b.contains(b.must(2, "replay", "orders-dead", "--resume", "--where", "true"), "--resume takes --where from the interrupted run")
		r = b.must(0, "replay", "orders-dead", "--resume")
		b.contains(r, "going on: ")
		b.expect("orders", bodies...)
		b.expect("orders-dead")
		b.contains(b.must(2, "replay", "orders-dead", "--resume"), "there is no interrupted run to resume")
	})
}

// What a killed run has hidden may become visible between the last receive and the question
// how much there is. It is not left then.
func TestReplay_ResumeReceivesWhatBecomesVisibleAtTheEnd(t *testing.T) {
	for _, suffix := range []string{"", ".fifo"} {
		t.Run("orders"+suffix, func(t *testing.T) {
			virtual(t, func(b *bench) {
				bodies := numbered(0, 100)
				for i, body := range bodies {
					group := ""
					if suffix != "" {
						group = fmt.Sprint("g", i)
					}
					b.buried("orders-dead"+suffix, group, body, "x", "orders"+suffix)
				}
				b.runKilled(5*time.Second, "replay", "orders-dead"+suffix, "--by", "send", "--rate", "10", "--yes")
				b.inject(sqs.Fault{Kind: sqs.Latency, Operation: "GetQueueAttributes", Latency: 15 * time.Second})
				b.run("replay", "orders-dead"+suffix, "--resume")
				b.expect("orders"+suffix, bodies...)
				b.expect("orders-dead" + suffix)
			})
		})
	}
}

// SQS confirms a deletion with a handle that is not the latest one, and deletes nothing. A
// message that is delivered once more while its deletion is under way is deleted again.
func TestADeliveryDuringTheDeletion_IsDeletedToo(t *testing.T) {
	for _, args := range [][]string{{"replay", "orders-dead", "--by", "send"}, {"delete", "orders-dead", "--where", "true"}} {
		t.Run(args[0], func(t *testing.T) {
			virtual(t, func(b *bench) {
				b.buried("orders-dead", "", "one", "x", "orders")
				b.inject(
					sqs.Fault{Kind: sqs.DuplicateDelivery, Times: 1},
					sqs.Fault{Kind: sqs.Latency, Operation: "DeleteMessageBatch", Latency: time.Second},
				)
				b.must(0, append(args, "--yes", "--parallel", "4")...)
				time.Sleep(3 * time.Minute)
				b.expect("orders-dead")
			})
		})
	}
}

// A call that failed, and may have sent its messages, is repeated. On a standard queue they
// may be there twice, which the exit status says; a FIFO queue drops the second ones.
func TestReplay_NamesWhatMayHaveBeenSentTwice(t *testing.T) {
	for _, f := range []sqs.Fault{{Kind: sqs.LostAnswer}, {Kind: sqs.Failure, CarriedOut: true}, {Kind: sqs.EntryFailure, CarriedOut: true}} {
		f.Operation, f.Times = "SendMessageBatch", 1
		for suffix, status := range map[string]int{"": 3, ".fifo": 0} {
			t.Run(string(f.Kind)+", orders"+suffix, func(t *testing.T) {
				virtual(t, func(b *bench) {
					b.buried("orders-dead"+suffix, strings.TrimPrefix(suffix, "."), "one", "x", "orders"+suffix)
					b.inject(f)
					r := b.must(status, "replay", "orders-dead"+suffix, "--by", "send", "--yes")
					if said := strings.Contains(r.stdout, "may have been sent twice"); said != (status == 3) {
						t.Errorf("%s", r)
					}
				})
			})
		}
	}
}
