package settle_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const (
	opVisibility = "ChangeMessageVisibilityBatch"
	opSend       = "SendMessageBatch"
	opDelete     = "DeleteMessageBatch"
)

// failures sends n records that fail and receives them.
func (f *fixture) failures(n int) []batch.Record {
	f.t.Helper()
	for i := range n {
		f.Send(fmt.Sprintf("%d:fail", i))
	}
	return f.Receive(n)
}

func TestEntryFails_IsTriedUpToThreeTimes(t *testing.T) {
	for code, c := range map[string]struct {
		senderFault bool
		tries       int
	}{
		"InternalError": {false, 3}, "Whatever": {true, 1}, "ThrottlingException": {true, 3},
		"OverLimit": {true, 3}, "KmsThrottled": {true, 3}, "KMS.ThrottlingException": {true, 3},
	} {
		inBubble(t, standardQueue, func(f *fixture) {
			records := f.failures(1)
			begin := time.Now()
			var tries []time.Duration
			f.Fault = func(op string, r *http.Request) (*http.Response, error) {
				tries = append(tries, time.Since(begin).Round(time.Millisecond))
				return testqueue.Answer(r, 200, "", fmt.Sprintf(`{"Failed":[{"Id":"0","Code":%q,"SenderFault":%v}]}`, code, c.senderFault))
			}
			f.invoke(records, byBody)
			// What fails alone is flushed at the end of its batch.
			if want := []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond}[:c.tries]; !slices.Equal(tries, want) {
				t.Errorf("%s: tried after %v, want %v", code, tries, want)
			}
		})
	}
}

func TestAnswerAboutUnknownEntries_IsIgnored(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		records := f.failures(1)
		f.Fault = func(_ string, r *http.Request) (*http.Response, error) {
			return testqueue.Answer(r, 200, "", `{"Successful":[{"Id":"1"},{"Id":"-1"},{"Id":"x"}],
				"Failed":[{"Id":"1","Code":"InternalError"},{"Id":"-1","Code":"InternalError"},{"Id":"x","Code":"InternalError"}]}`)
		}
		if r := f.invoke(records, byBody)[0]; r.VisibilitySet {
			t.Error("a visibility counts as set that SQS did not confirm")
		}
	})
}

func TestVisibilityRefused_IsRememberedForTheBatch(t *testing.T) {
	failed := func(code string) string {
		return fmt.Sprintf(`{"Failed":[{"Id":"0","Code":%q,"SenderFault":true}]}`, code)
	}
	for name, c := range map[string]struct {
		status     int
		code, body string
		calls      int
		send       bool // the dead-letter queue is still called
		words      string
	}{
		"denied":           {403, "AccessDeniedException", "", 1, true, "needs sqs:ChangeMessageVisibility"},
		"no queue":         {400, "QueueDoesNotExist", "", 1, true, "there is no such queue"},
		"no queue, old":    {400, "AWS.SimpleQueueService.NonExistentQueue", "", 1, true, "there is no such queue"},
		"key":              {400, "KmsAccessDenied", "", 1, true, "kms:GenerateDataKey"},
		"not in flight":    {200, "", failed("AWS.SimpleQueueService.MessageNotInflight"), 3, true, "no longer accepts the record's receipt handle"},
		"stale handle":     {200, "", failed("ReceiptHandleIsInvalid"), 3, true, "no longer accepts the record's receipt handle"},
		"another":          {200, "", failed("InvalidParameterValue"), 3, true, "SQS refused the call"},
		"incomplete":       {200, "", `{}`, 3, true, "answer is incomplete"},
		"a proxy's answer": {200, "", `<html>`, -1, true, "SQS's answer cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.Send("1:fail", "2:fail", "3:fail", "never")
				records := f.Receive(10)
				slices.SortFunc(records, func(a, b batch.Record) int { return strings.Compare(a.Body, b.Body) })
				f.settling.DeadLetterQueue = f.DeadLetterURL
				f.engine.Concurrency = 1
				calls := 0
				f.Fault = func(op string, r *http.Request) (*http.Response, error) {
					if op != opVisibility {
						return nil, nil
					}
					calls++
					return testqueue.Answer(r, c.status, c.code, c.body)
				}
				f.ForgetCalls()
				results := f.invoke(records, func(ctx context.Context, r batch.Record) error {
					time.Sleep(time.Second) // a call for each
					return byBody(ctx, r)
				})
				if c.calls >= 0 && calls != c.calls {
					t.Errorf("%d calls, want %d", calls, c.calls)
				}
				if got := results[3].Outcome == batch.DeadLettered; got != c.send || slices.Contains(f.Calls(), "SendMessageBatch") != c.send {
					t.Errorf("the permanent failure is %v, calls %v", results[3].Outcome, f.Calls())
				}
				f.warnedOnce(c.words)
			})
		})
	}
}

func TestManyFailures_GoInTensWithPositionalIDs(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		bodies := make([]string, 25)
		for i := range bodies {
			bodies[i] = fmt.Sprintf("%d:fail", i)
		}
		f.Send(bodies...)
		records := f.Receive(25)
		for i := range records {
			records[i].MessageID = "the same" // SQS may deliver a message twice in a batch
		}
		f.ForgetCalls()
		f.engine.Concurrency = 25
		f.invoke(records, byBody)
		want := []string{"ChangeMessageVisibilityBatch", "ChangeMessageVisibilityBatch", "ChangeMessageVisibilityBatch"}
		if got := f.Calls(); !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		if n := len(f.Events(sqs.Visibility)); n != 25 {
			t.Errorf("%d visibilities changed, want 25", n)
		}
	})
}

func TestEntryFailsForPassingReason_IsRetried(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail", "2:fail", "3:fail")
		f.engine.Concurrency = 1 // so that entries are in order
		tries := 0
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op != "ChangeMessageVisibilityBatch" {
				return nil, nil
			}
			if tries++; tries == 1 { // entry 1 fails for a passing reason, entry 2 for good
				return testqueue.Answer(r, 200, "", `{"Successful":[{"Id":"0"}],"Failed":[
					{"Id":"1","Code":"InternalError","SenderFault":false},
					{"Id":"2","Code":"AWS.SimpleQueueService.MessageNotInflight","SenderFault":true}]}`)
			}
			return nil, nil
		}
		results := f.invoke(f.Receive(10), byBody)
		if tries != 2 || len(f.Events(sqs.Visibility)) != 1 {
			t.Errorf("%d tries, %d changes by the server, want 2 and 1", tries, len(f.Events(sqs.Visibility)))
		}
		for i, want := range []bool{true, true, false} {
			if results[i].VisibilitySet != want || results[i].Outcome != batch.Retry {
				t.Errorf("record %d: set %v, %v", i, results[i].VisibilitySet, results[i].Outcome)
			}
		}
		f.warnedOnce("ChangeMessageVisibility", "no longer accepts the record's receipt handle", "its visibility timeout was over before its handler was done")
	})
}

func TestVisibilityCallFails_CostsOnlyTheBackoff(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(op string, r *http.Request) (*http.Response, error)
		took  time.Duration // at most
		words []string
	}{
		"denied": {answer("", 403, "AccessDeniedException", ""), time.Second, []string{"needs sqs:ChangeMessageVisibility on arn:aws:sqs:eu-west-1:123456789012:orders"}},
		"refused": {func(string, *http.Request) (*http.Response, error) {
			return nil, refused
		}, 5 * time.Second, []string{"SQS cannot be reached: is the network up, and are region and endpoint", "connection refused"}},
		"hanging":         {hanging(""), 7 * time.Second, []string{"no answer from SQS in time", "VPC"}},
		"no queue":        {answer("", 400, "QueueDoesNotExist", ""), time.Second, []string{"there is no such queue"}},
		"garbage":         {answer("", 200, "", `<html>proxy</html>`), 5 * time.Second, []string{"SQS's answer cannot be read: it broke off, or a proxy"}},
		"an empty answer": {answer("", 200, "", `{}`), time.Second, []string{"answer is incomplete"}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				var bodies []string
				for i := range 40 {
					bodies = append(bodies, fmt.Sprintf("%d:fail", i))
				}
				f.Send(append(bodies, "ok")...)
				records := f.Receive(100)
				f.Fault = c.fault
				begin := time.Now()
				results := f.invoke(records, byBody)
				if took := time.Since(begin); took > c.took {
					t.Errorf("took %v, want at most %v", took, c.took)
				}
				if got := len(failedOf(results)); got != 40 {
					t.Errorf("%d reported, want the 40 that failed", got)
				}
				f.warnedOnce(c.words...)
			})
		})
	}
}

func TestSQSHangs_LeavesTimeForTheResponse(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("hang", "fail", "ok")
		records := f.Receive(10)
		f.Fault = hanging("")
		f.timeout = 2 * time.Second
		begin := time.Now()
		results := f.invoke(records, byBody)
		if took := time.Since(begin); took > 1960*time.Millisecond {
			t.Errorf("took %v of 2s", took)
		}
		want := map[string]string{"hang": "abandoned", "fail": "retry", "ok": "succeeded"}
		if got := outcomes(results); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
		f.warnedOnce("there was no time left")
	})
}

func TestNoClient_FailuresAreStillReported(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("fail", "ok")
		records := f.Receive(10)
		f.settling.Client = noClient
		results := f.invoke(records, byBody)
		if got := failedOf(results); len(got) != 1 {
			t.Errorf("reported %v", got)
		}
		f.warnedOnce("SQS cannot be called", "no region")
	})
}
