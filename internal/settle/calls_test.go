package settle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
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

func TestThrottled_IsWarnedOfAndStopsNothing(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		records := f.failures(2)
		f.engine.Concurrency = 1
		begin := time.Now()
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if time.Since(begin) < 5*time.Second {
				return testqueue.Answer(r, 200, "", `{"Failed":[{"Id":"0","Code":"OverLimit","SenderFault":true}]}`)
			}
			return nil, nil
		}
		results := f.invoke(records, func(ctx context.Context, r batch.Record) error {
			if r.MessageID == records[1].MessageID {
				time.Sleep(8 * time.Second)
			}
			return byBody(ctx, r)
		})
		if results[0].VisibilitySet || !results[1].VisibilitySet {
			t.Errorf("set: %v and %v, want the second only", results[0].VisibilitySet, results[1].VisibilitySet)
		}
		f.warnedOnce("SQS throttles the calls")
	})
}

func TestAccessDenied_NamesEachOperationOnce(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("fail", "never")
		records := f.Receive(10)
		f.settling.DeadLetterQueue = f.DeadLetterURL
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			return testqueue.Answer(r, 403, "AccessDeniedException", "")
		}
		f.invoke(records, byBody)
		slices.Sort(f.warnings)
		if len(f.warnings) != 2 || !strings.Contains(f.warnings[0], "sqs:ChangeMessageVisibility") || !strings.Contains(f.warnings[1], "sqs:SendMessage") {
			t.Errorf("warned %q", f.warnings)
		}
	})
}

func TestManyFailures_RunAtMost16CallsAtOnce(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		const n = 400
		records := f.failures(n)
		var running, most atomic.Int64
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(100 * time.Millisecond)
			return nil, nil
		}
		begin := time.Now()
		f.engine.Concurrency = n
		f.invoke(records, func(context.Context, batch.Record) error { return errors.New("no") })
		if took := time.Since(begin); took != 300*time.Millisecond || most.Load() != 16 {
			t.Errorf("40 calls of 100ms took %v, %d at a time, want 300ms and 16", took, most.Load())
		}
		if got := len(f.Events(sqs.Visibility)); got != n {
			t.Errorf("%d visibilities set, want %d", got, n)
		}
	})
}
