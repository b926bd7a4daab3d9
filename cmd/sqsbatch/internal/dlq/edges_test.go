package dlq_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// The limit is exact although workers that have messages wait for their turn when it is
// reached. A message that fails counts: the limit is how many messages a run takes in hand.
func TestLimit_IsExactAtARate(t *testing.T) {
	virtual(t, func(b *bench) {
		b.bury(300)
		b.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Code: "InvalidMessageContents", Times: 3})
		b.contains(b.must(3, "replay", "orders-dead", "--limit", "45", "--rate", "3", "--yes"), "42 messages replayed", "3 messages stay")
		b.depths(42, 258)
	})
}

// killed runs a replay of 5 of 60 messages, and kills it in the call that sends them.
func killed(b *bench) {
	b.Helper()
	b.bury(60)
	b.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessageBatch", Probability: 1})
	b.runKilled(3*time.Second, "replay", "orders-dead", "--limit", "5", "--yes")
	b.server.ClearFaults()
}

// A run with a limit that goes on waits for the messages that it may have sent, although
// others are there to fill the limit. They are still known after a run that SQS refuses to
// send them.
func TestLimit_HoldsForAResumedRun(t *testing.T) {
	for _, refused := range []bool{false, true} {
		virtual(t, func(b *bench) {
			killed(b)
			if refused {
				b.inject(sqs.Fault{Kind: sqs.Failure, Code: "AccessDenied", Operation: "SendMessageBatch"})
				b.must(1, "replay", "orders-dead", "--resume")
				b.server.ClearFaults()
			}
			b.drain("orders")
			r := b.must(3, "replay", "orders-dead", "--resume") // 3: perhaps twice
			b.contains(r, "5 messages replayed", "may have been sent twice")
			b.depths(5, 55)
			b.contains(b.run("replay", "orders-dead", "--resume"), "there is no interrupted run")
		})
	}
}

// What a killed run may have sent can leave the queue meanwhile. The run that goes on ends.
func TestResume_EndsWithoutMessagesThatAreGone(t *testing.T) {
	virtual(t, func(b *bench) {
		killed(b)
		if _, err := b.client.PurgeQueue(b.Context(), &awssqs.PurgeQueueInput{QueueUrl: aws.String(b.server.QueueURL("orders-dead"))}); err != nil {
			t.Fatal(err)
		}
		b.must(0, "replay", "orders-dead", "--resume")
		b.contains(b.run("replay", "orders-dead", "--resume"), "there is no interrupted run")
	})
}

// A run that goes on says that it waits for messages that the killed run has hidden, and until
// when, and keeps to that although another reader has a message for longer.
func TestResume_SaysWhatItWaitsFor(t *testing.T) {
	for _, output := range []string{"text", "json"} {
		virtual(t, func(b *bench) {
			b.bury(60)
			b.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessageBatch", Probability: 1})
			b.runKilled(3*time.Second, "replay", "orders-dead", "--where", ".body.n < 50", "--yes")
			b.server.ClearFaults()
			time.Sleep(20 * time.Second)
			b.send("orders-dead", "", "of another reader", nil)
			if _, err := b.client.ReceiveMessage(b.Context(), &awssqs.ReceiveMessageInput{QueueUrl: aws.String(b.server.QueueURL("orders-dead")), VisibilityTimeout: 3600, MaxNumberOfMessages: 1}); err != nil {
				t.Fatal(err)
			}
			b.buried("orders-dead", "", `{"n":99}`, "x", "orders") // which the run holds to its end
			began := time.Now()
			until := began.Add(2*time.Minute + 10*time.Second)
			r := b.run("replay", "orders-dead", "--resume", "--output", output)
			said := strings.Count(r.stderr, "messages that the interrupted run may have hidden, at most until "+until.Format(time.TimeOnly))
			if said != 1 || !strings.Contains(r.stderr, "waiting until "+until.Format(time.TimeOnly)) {
				t.Errorf("said %d times: %s", said, r)
			}
			if end := began.Add(r.elapsed); end.After(until.Add(10 * time.Second)) {
				t.Errorf("it ended at %v, not at %v", end, until)
			}
		})
	}
}

func TestLooksAndReplays_EndWhileMessagesArrive(t *testing.T) {
	virtual(t, func(b *bench) {
		for i := range 25 {
			b.buried("orders-dead", "", fmt.Sprint("old ", i), "x", "orders")
		}
		stop := make(chan struct{})
		sent := make(chan int)
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					sent <- n
					return
				case <-time.After(50 * time.Millisecond):
					b.buried("orders-dead", "", fmt.Sprint("new ", n), "x", "orders")
				}
			}
		}()
		for _, args := range [][]string{{"stats", "orders-dead"}, {"export", "orders-dead"}, {"replay", "orders-dead", "--by", "send", "--yes"}} {
			if r := b.must(0, args...); r.elapsed > 30*time.Second {
				t.Errorf("%q took %s", args, r.elapsed)
			}
		}
		close(stop)
		n := <-sent
		if replayed := len(b.drain("orders")); replayed < 25 {
			t.Errorf("%d were replayed, want at least 25", replayed)
		} else if left := len(b.drain("orders-dead")); replayed+left != 25+n {
			t.Errorf("%d were replayed and %d are left of %d", replayed, left, 25+n)
		}
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
		b.interruptAfter(5 * time.Second)
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
