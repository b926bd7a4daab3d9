package settle_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestQueueAsItsOwnDeadLetterQueue_RecordIsRetried(t *testing.T) {
	// Each copy would be a new message at its first attempt, without end.
	for name, configured := range map[string]func(f *fixture) string{
		"by URL": func(f *fixture) string { return f.URL }, "by ARN": func(f *fixture) string { return f.ARN },
		"by URL with a slash": func(f *fixture) string { return f.URL + "/" },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.Send("never")
				f.settling.DeadLetterQueue = configured(f)
				results := f.invoke(f.Receive(10), byBody)
				if results[0].Outcome != batch.Retry || len(f.Events(sqs.Sent)) != 1 {
					t.Errorf("%v, %d messages sent", results[0].Outcome, len(f.Events(sqs.Sent)))
				}
				f.warnedOnce("is the queue that the records come from")
			})
		})
	}
}

func TestBackoffThatPanics_IsTheLeast(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("fail", "ok")
		f.settling.Backoff = func(int) time.Duration { panic("oops") }
		results := f.invoke(f.Receive(10), byBody)
		if got, want := fmt.Sprint(outcomes(results)), "map[fail:retry ok:succeeded]"; got != want || results[0].VisibleIn != time.Second {
			t.Errorf("%v, visible in %v; want %v", got, results[0].VisibleIn, want)
		}
	})
}

func TestRedrivePolicyRefused_EveryBatchWarns(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Fault = answer("GetQueueAttributes", 403, "AccessDeniedException", "")
		for range 3 {
			f.Send("never")
			f.warnings = nil
			f.invoke(f.Receive(10), byBody)
			f.warnedOnce("needs sqs:GetQueueAttributes", "permanent failures are retried")
		}
		if n := f.asks(); n != 1 {
			t.Errorf("asked %d times within a minute, want once", n)
		}
	})
}

func TestOtherBatchTimesOut_BatchRequestsRedrivePolicy(t *testing.T) {
	// Two invocations at a time: the one that asks runs out of time, the other has plenty.
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:never", "2:never")
		records := f.Receive(10)
		asked := 0
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op == "GetQueueAttributes" {
				if asked++; asked == 1 {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
			}
			return nil, nil
		}
		settler := settle.New(settle.Config{Client: clientOf(f)})
		engine := runner.New(batch.HandlerFunc(byBody), runner.Config{}, &hooks.Set{})
		invoke := func(timeout time.Duration, r batch.Record) batch.Outcome {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			times := engine.Times(ctx)
			settlement := settler.Begin(ctx, []batch.Record{r}, times.SettleBy)
			results := engine.Run(ctx, []batch.Record{r}, settlement.Options(times))
			settlement.Settle(results)
			settlement.AwaitHooks()
			return results[0].Outcome
		}
		short := make(chan batch.Outcome)
		go func() { short <- invoke(time.Second, records[0]) }()
		time.Sleep(100 * time.Millisecond)
		long := invoke(time.Minute, records[1])
		if got := <-short; got != batch.Retry || long != batch.DeadLettered {
			t.Errorf("short of time: %v, with time: %v", got, long)
		}
	})
}

func TestOneSlowCallStopsNoOtherOperation(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail", "2:never", "3:ok")
		f.settling.DeadLetterQueue, f.settling.DeleteIfOthersFail = f.DeadLetterURL, true
		f.Fault = hanging("ChangeMessageVisibilityBatch")
		results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
			if r.Body == "2:never" {
				time.Sleep(10 * time.Second)
			}
			return byBody(ctx, r)
		})
		f.wantOutcomes(results, "map[1:fail:retry 2:never:dead-letter 3:ok:succeeded]")
		if n := len(f.Events(sqs.Deleted)); n != 2 {
			t.Errorf("%d deleted, want the success and the dead letter", n)
		}
		f.warnedOnce("ChangeMessageVisibility", "no answer from SQS in time")
	})
}

func TestKMSThrottlingIsNoRefusal(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail", "2:fail")
		calls := 0
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op == opVisibility {
				if calls++; calls == 1 {
					return testqueue.Answer(r, 400, "KmsThrottled", "")
				}
			}
			return nil, nil
		}
		results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
			if r.Body == "2:fail" {
				time.Sleep(10 * time.Second)
			}
			return byBody(ctx, r)
		})
		if !results[0].VisibilitySet || !results[1].VisibilitySet || len(f.warnings) > 0 {
			t.Errorf("set: %v and %v, warned %q", results[0].VisibilitySet, results[1].VisibilitySet, f.warnings)
		}
	})
}

func TestNotStartedAtLastAttempt_IsWarnedOf(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("late")
		records := f.Receive(10)
		records[0].Attempt = 5
		f.engine.MinRemaining = time.Hour
		f.invoke(records, byBody)
		if len(f.warnings) != 2 || !strings.Contains(f.warnings[1], "5 of 5 used") {
			t.Errorf("warned %q", f.warnings)
		}
	})
	inBubble(t, standardQueue, func(f *fixture) { // one that is released at once
		f.engine.Concurrency, f.timeout = 1, 10*time.Second
		f.engine.MinRemaining = 8 * time.Second
		f.Send("after", "late")
		records := f.Receive(10)
		records[1].Attempt = 5
		results := f.invoke(records, func(context.Context, batch.Record) error {
			time.Sleep(2 * time.Second)
			return nil
		})
		if results[1].Outcome != batch.NotStarted || !results[1].VisibilitySet || results[1].VisibleIn != 0 {
			t.Errorf("the result is %+v", results[1])
		}
		f.warnedOnce("5 of 5 used")
	})
}

func TestMinRemainingTooLong_BacksOffFromSecondAttempt(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.engine.MinRemaining = time.Hour // more than the function has: a mistake
		f.Send("ok")
		results := f.invoke(f.Receive(10), byBody)
		if !results[0].VisibilitySet || results[0].VisibleIn != 0 {
			t.Errorf("at the first attempt: visible in %v", results[0].VisibleIn)
		}
		results = f.invoke(f.Receive(10), byBody)
		if results[0].VisibleIn != 20*time.Second {
			t.Errorf("at the second attempt: visible in %v, want the backoff", results[0].VisibleIn)
		}
	})
}

func TestRecordsWithoutAQueue(t *testing.T) {
	for _, arn := range []string{"", "orders", "arn:aws:sns:eu-west-1:123456789012:topic"} {
		inBubble(t, standardQueue, func(f *fixture) {
			f.Send("fail")
			records := f.Receive(10)
			records[0].QueueARN = arn
			if got := failedOf(f.invoke(records, byBody)); len(got) != 1 {
				t.Errorf("reported %v", got)
			}
			f.warnedOnce("eventSourceARN is not the ARN of a queue")
		})
	}
}

// What is reported names what its reader can set right, and what it means for the records.
func TestWarningsSayWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		bodies    []string
		answer    func(string, *http.Request) (*http.Response, error)
		within    time.Duration
		want, not string
	}{
		"visibility denied, its cost": {[]string{"fail"}, answer(opVisibility, 403, "AccessDenied", ""), time.Minute,
			"come back when their visibility timeout is over, instead of", "{"},
		"key": {[]string{"fail"}, answer(opVisibility, 403, "KmsAccessDenied", ""), time.Minute,
			"allow the role kms:", "{"},
		"the handle is not known": {[]string{"fail"}, answer(opVisibility, 403, "ReceiptHandleIsInvalid", ""), time.Minute,
			"visibility timeout was over before its handler was done (AWS advises 6", "instead of"},
		"a bad signature": {[]string{"fail"}, answer(opVisibility, 403, "InvalidSignatureException", ""), time.Minute,
			"does not accept the credentials", "SQS refused the call"},
		"an expired token": {[]string{"fail"}, answer(opVisibility, 403, "ExpiredToken", ""), time.Minute,
			"the credentials have expired", "SQS refused the call"},
		"refused deletes": {[]string{"ok", "fail"}, answer(opDelete, 403, "AccessDenied", ""), time.Minute,
			"sqs:DeleteMessage on", "backoff"},
		"no time for a delete": {[]string{"ok", "fail"}, hanging(opDelete), 2 * time.Second,
			"records that were not deleted will be delivered again. Raise the reserve", "{"},
		"no time for a backoff": {[]string{"fail"}, hanging(opVisibility), 2 * time.Second,
			"no time left before SQS had answered all calls: records whose backoff was not set come back when their visibility timeout is over", "{"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.Send(c.bodies...)
				records := f.Receive(10)
				f.settling.DeleteIfOthersFail = true
				f.timeout = c.within
				f.Fault = c.answer
				f.invoke(records, func(ctx context.Context, r batch.Record) error { return byBody(ctx, r) })
				f.warnedOnce(c.want)
				told := strings.Join(f.warnings, "")
				if strings.Contains(told, c.not) {
					t.Errorf("the warning has %q: %s", c.not, told)
				}
				if own := strings.NewReplacer("with package handler: SQSBATCH_", "").Replace(told); strings.Contains(own, "SQSBATCH_") {
					t.Errorf("the warning names a variable as if this package read it: %s", told)
				}
			})
		})
	}
}
