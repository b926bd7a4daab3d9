package dlq_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
)

func TestLooking_LeavesEverythingVisible(t *testing.T) {
	virtual(t, func(b *bench) {
		bodies := b.bury(30)
		b.contains(b.must(0, "stats", "orders-dead"), "30 dead letters", "no such customer N")
		if line := b.result(b.must(0, "stats", "orders-dead", "--output", "json", "--where", ".body.n < 12")); line["total"] != 12.0 || line["notSelected"] != 18.0 {
			t.Errorf("%v", line)
		}
		b.contains(b.must(0, "show", "orders-dead", "--where", `.body.n == 3 and (.queue | endswith(":orders-dead"))`), "no such customer 17", `"n": 3`)
		if r := b.must(0, "show", "orders-dead", "--output", "json", "--limit", "4"); strings.Count(r.stdout, "\n") != 4 {
			t.Errorf("%s", r)
		}
		b.contains(b.must(0, "export", "orders-dead"), "30 messages of orders-dead written")
		b.expect("orders-dead", bodies...)
	})
}

// What is exported, deleted and imported is the same, byte for byte.
func TestImport_SendsWhatExportWrote(t *testing.T) {
	virtual(t, func(b *bench) {
		b.send("orders-dead", "", "a\u2028<b>&\t\"\r\n", map[string]types.MessageAttributeValue{
			"bytes":  {DataType: aws.String("Binary.x"), BinaryValue: []byte{0, 255, 10}},
			"number": {DataType: aws.String("Number"), StringValue: aws.String("+01.50")},
			"text":   {DataType: aws.String("String.y"), StringValue: aws.String("é\n")},
		})
		for _, suffix := range []string{".ndjson", ".ndjson.gz"} {
			file := b.journal + suffix
			b.contains(b.must(0, "delete", "orders-dead", "--save", file), "1 message of orders-dead would be deleted")
			b.must(0, "delete", "orders-dead", "--save", file, "--yes")
			b.contains(b.must(1, "export", "orders-dead", "--file", file), "exists already")
			b.contains(b.must(0, "import", "orders-dead", file), "1 message would be sent")
			b.must(0, "import", "orders-dead", file, "--yes")
		}
		got := b.drain("orders-dead")
		if len(got) != 1 {
			t.Fatalf("%d messages", len(got))
		}
		a := got[0].MessageAttributes
		if *got[0].Body != "a\u2028<b>&\t\"\r\n" || string(a["bytes"].BinaryValue) != "\x00\xff\n" || *a["bytes"].DataType != "Binary.x" ||
			*a["number"].StringValue != "+01.50" || *a["text"].StringValue != "é\n" || *a["text"].DataType != "String.y" {
			t.Errorf("%q, %+v", *got[0].Body, a)
		}
	})
}

// Lines that could not be sent are sent by --resume, and the others are not sent again.
func TestImport_ResumeSendsOnlyWhatFailed(t *testing.T) {
	virtual(t, func(b *bench) {
		b.bury(25)
		file := b.journal + ".ndjson"
		b.must(0, "export", "orders-dead", "--file", file)
		b.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: "SendMessageBatch", Code: "InvalidMessageContents", Times: 3})
		b.contains(b.must(3, "import", "parked", file, "--yes"), "22 messages sent", "3 messages of the file were not sent", "--resume")
		b.contains(b.must(1, "import", "parked", file, "--yes"), "did not end", "--resume")
		b.must(0, "import", "parked", file, "--resume")
		b.expect("parked", numbered(0, 25)...)
	})
}

// While SQS cannot be reached a run waits, for two minutes at most. It goes on with --resume.
func TestReplay_SQSCannotBeReached(t *testing.T) {
	virtual(t, func(b *bench) {
		bodies := b.bury(100)
		go func() {
			time.Sleep(3 * time.Second)
			if err := b.server.Inject(sqs.Fault{Kind: sqs.Refused}); err != nil {
				t.Error(err)
			}
		}()
		r := b.must(1, "replay", "orders-dead", "--by", "send", "--rate", "10", "--yes")
		b.contains(r, "SQS cannot be reached", "go on with --resume")
		if r.elapsed > 5*time.Minute {
			t.Errorf("it took %s", r.elapsed)
		}
		b.server.ClearFaults()
		b.must(0, "replay", "orders-dead", "--resume")
		b.expect("orders", bodies...)
		b.expect("orders-dead")
	})
}

func TestDelete_SavesEachMessageOnce(t *testing.T) {
	virtual(t, func(b *bench) {
		b.bury(50)
		b.inject(sqs.Fault{Kind: sqs.DuplicateDelivery, Probability: 0.5})
		file := b.journal + ".ndjson"
		b.contains(b.must(0, "delete", "orders-dead", "--save", file, "--yes"), "50 messages of orders-dead deleted")
		text, err := os.ReadFile(file)
		if lines := strings.Count(string(text), "\n"); err != nil || lines != 50 {
			t.Errorf("%d lines, %v", lines, err)
		}
	})
}

func TestMove_ChangesNothing(t *testing.T) {
	virtual(t, func(b *bench) {
		b.bury(20)
		b.contains(b.must(0, "move", "orders-dead", "--to", "parked", "--where", ".body.n < 5", "--yes"), "5 messages moved")
		for _, m := range b.drain("parked") {
			if m.MessageAttributes["sqsbatch"].StringValue == nil {
				t.Errorf("%+v", m)
			}
		}
		b.contains(b.must(3, "move", "orders-dead", "--to", "parked.fifo", "--yes"), "it has no message group, and parked.fifo is a FIFO queue")
	})
}

func TestTask_IsFollowed(t *testing.T) {
	virtual(t, func(b *bench) {
		bodies := numbered(0, 200)
		b.redriven("orders", "", bodies...)
		if line := b.result(b.must(0, "replay", "orders-dead", "--output", "json")); line["dryRun"] != true || line["by"] != "task" || line["selected"] != 200.0 {
			t.Errorf("a dry run: %v", line)
		}
		for range 2 {
			r := b.must(0, "replay", "orders-dead", "--rate", "20", "--yes")
			b.contains(r, "by a message move task of SQS", "200 messages replayed by SQS", "completed")
			if strings.Contains(r.String(), "instead") {
				t.Errorf("more than the task: %s", r)
			}
			if r.elapsed < 8*time.Second {
				t.Errorf("it took %s", r.elapsed)
			}
			b.expect("orders", bodies...)
			b.redriven("orders", "", bodies...)
		}
	})
}

// Messages of which SQS does not know the source are sent and deleted, unless --by is task.
func TestTask_LeavesWhatSQSDoesNotKnow(t *testing.T) {
	virtual(t, func(b *bench) {
		b.redriven("orders", "", numbered(0, 5)...)
		b.buried("orders-dead", "", `{"n":5}`, "x", "orders")
		b.must(3, "replay", "orders-dead", "--by", "task", "--yes")
		b.contains(b.must(0, "replay", "orders-dead", "--yes"), "sending and deleting instead")
		b.expect("orders", numbered(0, 6)...)
		b.expect("orders-dead")
		b.buried("parked", "", `{"n":6}`, "x", "orders")
		b.contains(b.must(0, "replay", "parked", "--origin", b.server.QueueARN("orders"), "--yes"), "that of no queue: sending and deleting instead")
		b.contains(b.must(1, "replay", "parked", "--by", "task", "--yes"), "--by task: SQS moves only from dead-letter queues")
	})
}

// A server without tasks, or a role that may not list them, is no reason to fail.
func TestTask_IsNotNeeded(t *testing.T) {
	virtual(t, func(b *bench) {
		b.redriven("orders", "", numbered(0, 5)...)
		b.inject(sqs.Fault{Kind: sqs.Failure, Code: "UnsupportedOperation", Operation: "ListMessageMoveTasks", Probability: 1})
		b.contains(b.must(0, "replay", "orders-dead", "--yes"), "sending and deleting instead", "5 messages replayed")
	})
}

// An interrupt cancels the task. --resume goes on by a task after a kill.
func TestTask_CanBeCancelledAndFollowedLater(t *testing.T) {
	virtual(t, func(b *bench) {
		bodies := numbered(0, 200)
		b.redriven("orders", "", bodies...)
		b.interruptAfter(3 * time.Second)
		b.contains(b.must(130, "replay", "orders-dead", "--rate", "10", "--yes"), "the task was cancelled; what it moved stays moved")
		b.runKilled(3*time.Second, "replay", "orders-dead", "--rate", "10", "--yes")
		b.contains(b.must(1, "replay", "orders-dead", "--yes"), "did not end")
		b.contains(b.must(0, "replay", "orders-dead", "--resume"), "is moving them already; following it", "completed")
		b.expect("orders", bodies...)
	})
}

// failing returns a client to which SQS says that each task that failed did so for a reason.
func (b *bench) failing(reason string) *awssqs.Client {
	return b.server.Client(sqscall.Once, awssqs.WithAPIOptions(func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("reason", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if list, ok := out.Result.(*awssqs.ListMessageMoveTasksOutput); ok && len(list.Results) > 0 && aws.ToString(list.Results[0].Status) == "FAILED" {
				list.Results[0].FailureReason = &reason
			}
			return out, metadata, err
		}), middleware.After)
	}))
}

// The command does itself what a task cannot do, whatever SQS's reason is, and says the reason.
func TestTask_ThatFailsAtOnceIsFollowedBySending(t *testing.T) {
	for reason, words := range map[string]string{
		"CouldNotDetermineMessageSource":          "SQS does not know where some of the messages came from",
		"AWS.SimpleQueueService.NonExistentQueue": "a queue to which messages go does not exist",
		"AccessDenied":               "a permission of the role or of a queue is missing",
		"KMS.DisabledException":      "the KMS key of a queue cannot be used",
		"The task ran for 36 hours.": "The task ran for 36 hours.",
		"":                           "SQS gives no reason",
	} {
		virtual(t, func(b *bench) {
			b.buried("orders-dead", "", `{"n":0}`, "x", "orders")
			b.redriven("orders", "", `{"n":1}`)
			dlq.Use(t, b.failing(reason))
			r := b.must(1, "replay", "orders-dead", "--by", "task", "--yes")
			b.contains(r, "the task failed: "+words, "all messages are still in orders-dead", "without --by task")
			r = b.must(0, "replay", "orders-dead", "--yes", "--output", "json")
			b.contains(r, "the task failed: "+words, "sending and deleting instead", `"status":"FAILED"`, "2 messages replayed")
			if line := b.result(r); line["by"] != "send" || line["deleted"] != 2.0 {
				t.Errorf("%v", line)
			}
			b.expect("orders", numbered(0, 2)...)
		})
	}
}

// A task that fails on its way leaves the rest to another run of the command.
func TestTask_ThatFailsHalfwaySaysWhatToDo(t *testing.T) {
	virtual(t, func(b *bench) {
		b.redriven("refunds", "", numbered(0, 3)...)
		b.redriven("orders", "", numbered(3, 4)...)
		b.redriven("refunds", "", numbered(4, 6)...)
		if _, err := b.client.DeleteQueue(b.Context(), &awssqs.DeleteQueueInput{QueueUrl: aws.String(b.server.QueueURL("orders"))}); err != nil {
			t.Fatal(err)
		}
		r := b.must(3, "replay", "orders-dead", "--yes", "--output", "json")
		b.contains(r, "the task failed after 3 messages: a queue to which messages go does not exist", "the rest is in orders-dead; run the command again to go on")
		if line := b.result(r); line["moved"] != 3.0 || line["status"] != "FAILED" || line["by"] != "task" {
			t.Errorf("%v", line)
		}
		r = b.must(3, "replay", "orders-dead", "--yes")
		b.contains(r, "sending and deleting instead", "2 messages replayed", "1  left: ", "there is no such queue")
		b.expect("refunds", append(numbered(0, 3), numbered(4, 6)...)...)
	})
}

func TestHelp_HasTheExitStatuses(t *testing.T) {
	virtual(t, func(b *bench) {
		for _, verb := range []string{"stats", "show", "export", "import", "try", "replay", "move", "delete"} {
			b.contains(b.run(verb, "--help"), "Exit status:", "3: some messages were left", "130: ")
		}
	})
}

func TestWrongCommandLines_AreRefused(t *testing.T) {
	virtual(t, func(b *bench) {
		b.redriven("orders", "", `{"n":1}`)
		arn := b.server.QueueARN("orders")
		for _, c := range [][]string{ // what it says, the verb, flags
			{"a task moves all messages", "replay", "--by=task", "--where=.body.n == 1", "--yes"},
			{"a task moves all messages", "replay", "--by=task", "--limit=1", "--yes"},
			{"a task moves all messages", "replay", "--by=task", "--id=x", "--yes"},
			{"a task changes nothing", "replay", "--by=task", "--edit=.body.n = 2", "--yes"},
			{"at most 500", "replay", "--by=task", "--rate=501", "--yes"},
			{"between a standard queue and a FIFO queue", "replay", "--by=task", "--to=parked.fifo", "--yes"},
			{"--editor needs --yes", "replay", "--editor"},
			{"both --edit and --editor", "replay", "--editor", "--edit=.", "--yes"},
			{"must be the ARN of a queue", "replay", "--origin=payments", "--yes"},
			{"both --to and --origin", "replay", "--to=parked", "--origin=" + arn},
			{"--to names the queue", "move", "--yes"},
			{"--to is orders-dead itself", "move", "--to=orders-dead"},
			{"leave --s3-bucket out", "show", "--s3-bucket=b", "--output=json"},
			{"leaves no copy", "delete", "--yes"},
			{"must be before --until", "stats", "--since=1h", "--until=2h"},
			{"--limit is -1", "stats", "--limit=-1"},
			{"--rate is -1", "replay", "--rate=-1"},
			{"--parallel is 51", "stats", "--parallel=51"},
		} {
			b.contains(b.must(2, append([]string{c[1], "orders-dead"}, c[2:]...)...), c[0])
		}
		b.contains(b.must(2, "delete", "no-such-queue", "--yes"), "leaves no copy") // before any call
		b.expect("orders-dead", `{"n":1}`)
	})
}

func TestSince_TakesTimes(t *testing.T) {
	virtual(t, func(b *bench) {
		for since, want := range map[string]int{
			"3d": 0, "1d12h": 0, "2h30m": 0, "1999-12-31": 0, "2000-01-01T00:00:00Z": 0, "": 0, "-2h": 2, "tomorrow": 2, "99:99": 2, "3dd": 2, "1e9d": 2, "NaNd": 2,
		} {
			if r := b.run("stats", "orders-dead", "--since", since); r.status != want {
				t.Errorf("%q: %s", since, r)
			}
		}
	})
}
