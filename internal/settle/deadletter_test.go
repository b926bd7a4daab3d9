package settle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

func noClient(context.Context) (*awssqs.Client, error) { return nil, errors.New("no region") }

func clientOf(f *fixture) func(context.Context) (*awssqs.Client, error) {
	return func(context.Context) (*awssqs.Client, error) { return f.Client, nil }
}

func TestPermanentError_IsDeadLetteredAtOnceUnchanged(t *testing.T) {
	for name, configured := range map[string]func(f *fixture) string{
		"from the RedrivePolicy": func(*fixture) string { return "" },
		"by URL":                 func(f *fixture) string { return f.DeadLetterURL },
		"by ARN":                 func(f *fixture) string { return f.DeadLetterARN },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				body := "\x09über <&> \"never\" \U0001F4E6:never"
				f.SendInput(&awssqs.SendMessageInput{
					MessageBody: &body,
					MessageAttributes: map[string]types.MessageAttributeValue{
						"text":   {DataType: aws.String("String"), StringValue: aws.String("a")},
						"number": {DataType: aws.String("Number.int"), StringValue: aws.String("0042")},
						"bytes":  {DataType: aws.String("Binary.png"), BinaryValue: []byte{0, 1, 255}},
					},
					MessageSystemAttributes: map[string]types.MessageSystemAttributeValue{
						"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("Root=1-5759e988-bd862e3fe1be46a994272793")},
					},
				})
				records := f.Receive(10)
				f.ForgetCalls()
				f.settling.DeadLetterQueue = configured(f)
				results := f.invoke(records, byBody)
				if results[0].Outcome != batch.DeadLettered || results[0].DeadLetterQueue != f.DeadLetterURL || results[0].Err == nil {
					t.Fatalf("%v to %q (%v), warnings %q", results[0].Outcome, results[0].DeadLetterQueue, results[0].Err, f.warnings)
				}
				if got := failedOf(results); len(got) != 0 {
					t.Errorf("reported %v", got)
				}
				want := []string{"SendMessageBatch"}
				if f.settling.DeadLetterQueue == "" {
					want = []string{"GetQueueAttributes", "SendMessageBatch"}
				}
				if got := f.Calls(); !slices.Equal(got, want) {
					t.Errorf("calls %v, want %v", got, want)
				}
				dead := f.DeadLetters()
				if len(dead) != 1 {
					t.Fatalf("%d dead letters", len(dead))
				}
				m := dead[0]
				if *m.Body != body {
					t.Errorf("the body became %q", *m.Body)
				}
				if a := m.MessageAttributes; len(a) != 4 || *a["number"].StringValue != "0042" || *a["number"].DataType != "Number.int" ||
					!bytes.Equal(a["bytes"].BinaryValue, []byte{0, 1, 255}) || *a["text"].StringValue != "a" {
					t.Errorf("attributes became %+v", a)
				}
				if got := f.origin(m); got.Reason != "no such thing" {
					t.Errorf("the origin is %+v", got)
				}
				if got := m.Attributes["AWSTraceHeader"]; got != "Root=1-5759e988-bd862e3fe1be46a994272793" {
					t.Errorf("the trace header became %q", got)
				}
			})
		})
	}
}

func TestDeadLetterQueueOfOtherKind_TakesTheRecords(t *testing.T) {
	// SQS itself wants both queues of one kind; a configured one may be another's.
	for name, fifo := range map[string]bool{"standard to FIFO": false, "FIFO to standard": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, fifo, func(f *fixture) {
				target, attributes := "other", map[string]string{}
				if !fifo {
					target, attributes = "other.fifo", map[string]string{"FifoQueue": "true"}
				}
				out, err := f.Client.CreateQueue(context.Background(), &awssqs.CreateQueueInput{QueueName: &target, Attributes: attributes})
				if err != nil {
					t.Fatal(err)
				}
				f.settling.DeadLetterQueue = *out.QueueUrl
				f.Send("1:never", "2:never")
				for _, r := range f.invoke(f.Receive(10), byBody) {
					if r.Outcome != batch.DeadLettered {
						t.Errorf("%s: %v, warnings %q", r.Record.Body, r.Outcome, f.warnings)
					}
				}
			})
		})
	}
}

func TestDeadLetterSendFails_RecordIsRetried(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(op string, r *http.Request) (*http.Response, error)
		words string
	}{
		"denied":                    {answer("SendMessageBatch", 403, "AccessDeniedException", ""), "needs sqs:SendMessage on"},
		"refused entry":             {answer("SendMessageBatch", 200, "", `{"Failed":[{"Id":"0","Code":"InvalidMessageContents","SenderFault":true}]}`), "SQS refused the call"},
		"the policy cannot be read": {answer("GetQueueAttributes", 403, "AccessDeniedException", ""), "needs sqs:GetQueueAttributes on"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.Send("never")
				f.Fault = c.fault
				results := f.invoke(f.Receive(10), byBody)
				if results[0].Outcome != batch.Retry || !results[0].VisibilitySet || results[0].VisibleIn != 10*time.Second {
					t.Errorf("%v, visible in %v", results[0].Outcome, results[0].VisibleIn)
				}
				if got := failedOf(results); len(got) != 1 {
					t.Errorf("reported %v", got)
				}
				f.warnedOnce(c.words)
			})
		})
	}
}

func TestNoDeadLetterQueue_PermanentErrorIsRetried(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.set("RedrivePolicy", "")
		f.Send("never")
		results := f.invoke(f.Receive(10), byBody)
		if results[0].Outcome != batch.Retry || results[0].VisibleIn != 10*time.Second {
			t.Errorf("%v, visible in %v", results[0].Outcome, results[0].VisibleIn)
		}
		f.warnedOnce("there is no dead-letter queue", "permanent failures stay in the queue")
	})
}

func TestOnPermanent_RetriesDropsOrDeadLetters(t *testing.T) {
	for policy, want := range map[partialfailure.OnPermanent]batch.Outcome{
		partialfailure.Retry: batch.Retry, partialfailure.Drop: batch.Dropped, partialfailure.DeadLetter: batch.DeadLettered,
	} {
		inBubble(t, standardQueue, func(f *fixture) {
			f.Send("never")
			f.settling.OnPermanent = policy
			if got := f.invoke(f.Receive(10), byBody)[0].Outcome; got != want {
				t.Errorf("%s: %v, want %v", policy, got, want)
			}
		})
	}
}

func TestFIFODeadLetter_KeepsItsGroup(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.Send("a:never", "a:after", "b:never")
		records := f.Receive(10)
		results := f.invoke(records, byBody)
		f.wantOutcomes(results, "map[a:after:succeeded a:never:dead-letter b:never:dead-letter]")
		dead := f.DeadLetters()
		if len(dead) != 2 {
			t.Fatalf("%d dead letters", len(dead))
		}
		for _, m := range dead {
			i := slices.IndexFunc(records, func(r batch.Record) bool { return r.Body == *m.Body })
			if m.Attributes["MessageGroupId"] != records[i].GroupID || m.Attributes["MessageDeduplicationId"] != records[i].MessageID {
				t.Errorf("%s has group %q and deduplication id %q", *m.Body, m.Attributes["MessageGroupId"], m.Attributes["MessageDeduplicationId"])
			}
		}
	})
}

func TestLastTwoAttempts_AreWarnedOf(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("fail")
		for attempt := 1; attempt <= 5; attempt++ {
			f.warnings = nil
			f.ForgetCalls()
			results := f.invoke(f.Receive(10), byBody)
			asked := slices.Contains(f.Calls(), "GetQueueAttributes")
			if asked != (attempt == 2) {
				t.Errorf("attempt %d: asked for the policy: %v", attempt, asked)
			}
			if attempt < 4 {
				if len(f.warnings) > 0 {
					t.Errorf("attempt %d: warned %q", attempt, f.warnings)
				}
			} else {
				f.warnedOnce(fmt.Sprintf("%d of 5 used", attempt))
			}
			if attempt > 1 && results[0].MaxReceiveCount != 5 {
				t.Errorf("attempt %d: MaxReceiveCount %d", attempt, results[0].MaxReceiveCount)
			}
			time.Sleep(time.Duration(attempt) * 10 * time.Second)
		}
		f.visible() // the sixth receive moves it
		if n := len(f.DeadLetters()); n != 1 {
			t.Errorf("%d dead letters", n)
		}
	})
}

func TestLargeDeadLetters_AreSplitOverCalls(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		for range 5 { // 400 KB each: two to a call
			f.Send(strings.Repeat("x", 400_000) + ":never")
		}
		records := f.Receive(10)
		f.settling.DeadLetterQueue = f.DeadLetterURL
		f.ForgetCalls()
		results := f.invoke(records, byBody)
		for _, r := range results {
			if r.Outcome != batch.DeadLettered {
				t.Errorf("%v, warnings %q", r.Outcome, f.warnings)
			}
		}
		if got := f.Calls(); len(got) != 3 {
			t.Errorf("calls %v, want 3", got)
		}
	})
}
