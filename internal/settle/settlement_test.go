package settle_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestFailureAtCutoff_KeepsItsBackoff(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("heeds")
		results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if r := results[0]; !r.VisibilitySet || r.VisibleIn != 10*time.Second {
			t.Errorf("%v, visible in %v (%v)", r.Outcome, r.VisibleIn, r.VisibilitySet)
		}
		if changed := f.Events(sqs.Visibility); len(changed) != 1 || changed[0].Visibility != 10*time.Second {
			t.Errorf("visibility changes: %+v", changed)
		}
	})
}

// The handler of an abandoned record may still be at work: the record, and what is
// behind it in its group, is never shown sooner than by the queue itself (after 5 min).
func TestAbandonedRecord_VisibilityIsNotShortened(t *testing.T) {
	for name, c := range map[string]struct {
		backoff time.Duration
		denied  bool // the queue's visibility timeout is not known
		want    time.Duration
	}{
		"the visibility timeout is longer":       {10 * time.Second, false, 0},
		"the backoff ends before it":             {4*time.Minute + 31*time.Second, false, 0},
		"the backoff ends after it":              {4*time.Minute + 45*time.Second, false, 4*time.Minute + 45*time.Second},
		"the backoff is longer":                  {6 * time.Minute, false, 6 * time.Minute},
		"the visibility timeout is not known":    {10 * time.Second, true, 0},
		"even where the backoff would be longer": {6 * time.Minute, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, fifoQueue, func(f *fixture) {
				f.settling.Backoff = func(int) time.Duration { return c.backoff }
				f.Fault = func(operation string, r *http.Request) (*http.Response, error) {
					if c.denied && operation == "GetQueueAttributes" {
						return testqueue.Answer(r, 403, "AccessDenied", "")
					}
					return nil, nil
				}
				f.Send("a:hang", "a:behind")
				for _, r := range f.invoke(f.Receive(10), byBody) {
					if r.VisibilitySet != (c.want > 0) || r.VisibleIn != c.want {
						t.Errorf("%s: %v, visible in %v (%v), want %v", r.Record.Body, r.Outcome, r.VisibleIn, r.VisibilitySet, c.want)
					}
				}
				if changed := f.Events(sqs.Visibility); len(changed) > 0 != (c.want > 0) {
					t.Errorf("visibility changes: %+v", changed)
				}
			})
		})
	}
}

func TestVisibility_IsWhatIsLeftAtTheCall(t *testing.T) {
	for body, c := range map[string]struct{ took, answers, want time.Duration }{
		"fail": {20 * time.Second, 0, 10 * time.Second},                                      // counted from the failure, not from the start
		"busy": {0, 2500 * time.Millisecond, 43 * time.Second},                               // 45 s less 2.6 s, rounded up
		"now":  {0, 2800 * time.Millisecond, 0},                                              // late already
		"long": {0, 2500 * time.Millisecond, 11*time.Hour + 54*time.Minute + 22*time.Second}, // from its receipt, 5 min 30 s and 2.6 s ago, with 5 s to spare
	} {
		inBubble(t, standardQueue, func(f *fixture) {
			f.Send(body)
			records := f.Receive(1)
			records[0].FirstReceivedAt = time.Time{}
			tries := 0
			f.Fault = func(_ string, r *http.Request) (*http.Response, error) {
				if tries++; tries == 1 && c.answers > 0 {
					time.Sleep(c.answers)
					return testqueue.Answer(r, 200, "", `{"Failed":[{"Id":"0","Code":"InternalError"}]}`)
				}
				return nil, nil
			}
			f.invoke(records, func(ctx context.Context, r batch.Record) error {
				time.Sleep(c.took)
				return byBody(ctx, r)
			})
			if changed := f.Events(sqs.Visibility); len(changed) != 1 || changed[0].Visibility != c.want {
				t.Errorf("%s: visibility changes %+v, want %v; warnings %q", body, changed, c.want, f.warnings)
			}
		})
	}
}

func TestSlowSQS_FinishEndsAfter10sOnlyWithoutDeadline(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 10 * time.Second, 5 * time.Minute: 17500 * time.Millisecond} {
		inBubble(t, standardQueue, func(f *fixture) {
			records := slices.Repeat(f.failures(10), 100) // 100 calls, 16 at a time
			f.Fault = func(_ string, r *http.Request) (*http.Response, error) {
				select {
				case <-time.After(2500 * time.Millisecond):
					return nil, nil
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
			}
			f.timeout, f.engine.Concurrency = timeout, 1000
			begin := time.Now()
			f.invoke(records, func(context.Context, batch.Record) error { return errors.New("no") })
			if took := time.Since(begin); took != want {
				t.Errorf("timeout %v: took %v, want %v", timeout, took, want)
			}
			if over := slices.ContainsFunc(f.warnings, func(s string) bool { return strings.HasPrefix(s, "there was no time left") }); over != (timeout == 0) {
				t.Errorf("timeout %v: warned %q", timeout, f.warnings)
			}
		})
	}
}

func TestDeletes_GoInTensPerQueueAndInTime(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.DeleteIfOthersFail = true
		f.Send(slices.Repeat([]string{"ok"}, 24)...)
		f.Send("fail")
		records := f.Receive(25)
		f.ForgetCalls()
		f.invoke(records, byBody)
		if n := len(f.Events(sqs.Deleted)); n != 24 || len(f.Calls()) != 4 {
			t.Errorf("%d deleted by %v, want 24 by three calls", n, f.Calls())
		}
		f.Send("ok", "ok", "fail")
		records = f.Receive(3)
		records[1].QueueARN = f.DeadLetterARN // another queue
		f.ForgetCalls()
		f.invoke(records, byBody)
		if n := len(f.Calls()); n != 3 {
			t.Errorf("%v, want a call for each queue", f.Calls())
		}
		f.warnings = nil
		f.Send("ok", "fail")
		records = f.Receive(2)
		f.timeout = 2 * time.Second
		f.Fault = hanging("DeleteMessageBatch")
		f.invoke(records, byBody)
		f.warnedOnce("there was no time left")
	})
}

func TestDeleteIfOthersFail_DeletesOnlyIfARecordFailed(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.DeleteIfOthersFail = true
		f.Send("1:ok", "2:ok", "never")
		f.invoke(f.Receive(10), func(context.Context, batch.Record) error { return nil })
		if n := len(f.Events(sqs.Deleted)); n != 0 {
			t.Errorf("%d deleted although Lambda deletes a batch without failures", n)
		}
		time.Sleep(testqueue.Visibility)
		f.Send("fail")
		results := f.invoke(f.Receive(10), byBody)
		f.wantOutcomes(results, "map[1:ok:succeeded 2:ok:succeeded fail:retry never:dead-letter]")
		var deleted []string
		for _, e := range f.Events(sqs.Deleted) {
			deleted = append(deleted, e.Body)
		}
		slices.Sort(deleted)
		if want := []string{"1:ok", "2:ok", "never"}; !slices.Equal(deleted, want) {
			t.Errorf("deleted %v, want %v", deleted, want)
		}
	})
}

// With DeleteIfOthersFail the function fails and keeps what is not deleted: a
// record that is in the dead-letter queue comes back, and must say so.
func TestNoTimeToDeleteDeadLetter_ResultSaysSo(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.DeleteIfOthersFail = true
		f.timeout = 10 * time.Second
		f.Fault = hanging("ChangeMessageVisibilityBatch")
		f.Send("never", "fail")
		results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
			time.Sleep(8 * time.Second)
			return byBody(ctx, r)
		})
		f.wantOutcomes(results, "map[fail:retry never:dead-letter]")
		for _, r := range results {
			late := r.DeleteErr != nil && strings.Contains(r.DeleteErr.Error(), "no time left")
			if want := r.Outcome == batch.DeadLettered; r.Deleted || late != want {
				t.Errorf("%s: deleted %v, DeleteErr %v", r.Record.Body, r.Deleted, r.DeleteErr)
			}
		}
		f.warnedOnce("there was no time left", "will be delivered again")
	})
}

// A function that knows nothing of its queue yet asks before it says that an attempt is the last.
func TestLastAttempt_FirstInvocationAsks(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.set("RedrivePolicy", `{"maxReceiveCount":2,"deadLetterTargetArn":"`+f.DeadLetterARN+`"}`)
		f.Send("a")
		f.Receive(1)
		time.Sleep(time.Hour)
		cfg := f.settling
		cfg.Client = clientOf(f)
		records := f.Receive(1)
		b := settle.New(cfg).Begin(context.Background(), records, time.Time{})
		if !b.Options(runner.Times{}).LastAttempt(&records[0]) {
			t.Error("attempt 2 of 2 is not the last one")
		}
		b.Settle([]batch.Result{{Record: &records[0], Outcome: batch.Succeeded}})
	})
}

// After a crash, handlers wait for SQS for a quarter of the time that is left, while it does not answer
// the call that lets their records come back at different times.
func TestApart_WaitsForAQuarterOfTheTime(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.MaxReceiveCount = 5
		cfg := f.settling
		cfg.Client = clientOf(f)
		f.Send("a", "b")
		for range 2 {
			f.Receive(2)
			time.Sleep(time.Hour)
		}
		f.Fault = hanging(opVisibility)
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		began := time.Now()
		_, err := settle.New(cfg).Apart(ctx, f.Receive(2), time.Minute, func(batch.Call) {})
		if took := time.Since(began); err == nil || took != 500*time.Millisecond {
			t.Errorf("it took %v, %v", took, err)
		}
	})
}
