package settle_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// deliver receives and handles what the queue has, and deletes what is done, as Lambda does.
func (f *fixture) deliver(minutes int) {
	f.t.Helper()
	for range minutes {
		if records := f.Receive(10); len(records) > 0 {
			results := f.invoke(records, func(ctx context.Context, r batch.Record) error {
				f.mu.Lock()
				f.handled = append(f.handled, fmt.Sprintf("%s at %d", r.Body, r.Attempt))
				f.mu.Unlock()
				return byBody(ctx, r)
			})
			for _, r := range results {
				if r.Outcome.Done() {
					f.delete(r.Record)
				}
			}
		}
		time.Sleep(time.Minute)
	}
}

// Those behind a record that always fails are delivered as often as it is. SQS
// would move all of them to the dead-letter queue, handled or not.
func TestHeadAlwaysFails_OnlyItIsDeadLettered(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.engine.Concurrency = 1
		f.Send("a:fail", "a:1", "a:2")
		f.deliver(20)
		want := "[a:fail at 1 a:fail at 2 a:fail at 3 a:fail at 4 a:fail at 5 a:1 at 5 a:2 at 5]"
		if got := fmt.Sprint(f.handled); got != want {
			t.Errorf("handled %v, want %v", got, want)
		}
		dead := f.DeadLetters()
		if len(dead) != 1 || *dead[0].Body != "a:fail" {
			t.Fatalf("dead letters %v, want a:fail alone", dead)
		}
		if o := f.origin(dead[0]); o.Reason != "no" || o.Attempts != 5 || !o.FailedAt.After(o.FirstReceived) {
			t.Errorf("the dead letter's origin is %+v", o)
		}
	})
}

// One that ignores its context is dead-lettered as well, and its group goes on.
func TestRecordHangsInGroup_OnlyItIsDeadLettered(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"with a record timeout": 3 * time.Second, "without": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, fifoQueue, func(f *fixture) {
				f.engine.RecordTimeout = timeout
				f.Send("a:0", "a:hang", "a:1", "a:2", "a:3", "a:4", "a:5", "a:6", "a:7")
				f.deliver(40)
				dead := f.DeadLetters()
				if len(dead) != 1 || *dead[0].Body != "a:hang" {
					t.Fatalf("%d dead letters, want a:hang alone (%q)", len(dead), f.warnings)
				}
				if n := len(f.handled); n != 8+5 || f.handled[n-1] != "a:7 at 5" {
					t.Errorf("handled %v", f.handled)
				}
			})
		})
	}
}

// What is not buried is skipped, as after any failure.
func TestHeadNotDeadLettered_RestOfGroupIsSkipped(t *testing.T) {
	tests := []struct {
		name      string
		body      string
		configure func(f *fixture)
		want      batch.Outcome // of the first
	}{
		{"not the last attempt", "a:fail", nil, batch.Retry},
		{"permanent failures are retried", "a:never", func(f *fixture) { f.settling.OnPermanent = partialfailure.Retry }, batch.Retry},
		{"a last attempt, permanent failures are retried", "a:fail", func(f *fixture) {
			f.settling.OnPermanent, f.settling.MaxReceiveCount = partialfailure.Retry, 1
		}, batch.Retry},
		{"the send is refused", "a:never", func(f *fixture) {
			f.Fault = answer("SendMessageBatch", 403, "AccessDeniedException", "")
		}, batch.Retry},
		{"no dead-letter queue", "a:never", func(f *fixture) {
			f.set("RedrivePolicy", "")
		}, batch.Retry},
		{"the send is not answered before the cutoff", "a:never", func(f *fixture) {
			f.timeout = time.Second
			f.Fault = hanging("SendMessageBatch")
		}, batch.Retry},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, fifoQueue, func(f *fixture) {
				f.Send(test.body, "a:after")
				if test.configure != nil {
					test.configure(f)
				}
				results := f.invoke(f.Receive(10), byBody)
				if results[0].Outcome != test.want || results[1].Outcome != batch.Skipped {
					t.Errorf("%v and %v, want %v and skipped (%q)", results[0].Outcome, results[1].Outcome, test.want, f.warnings)
				}
				if dead := f.DeadLetters(); len(dead) != 0 {
					t.Errorf("%d dead letters", len(dead))
				}
			})
		})
	}
}

// The first attempt may be the last, which is unknown until the queue was asked.
func TestMaxReceiveCountOne_FirstFailureIsDeadLettered(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.set("RedrivePolicy", `{"deadLetterTargetArn":"`+f.DeadLetterARN+`","maxReceiveCount":1}`)
		f.Send("a:fail", "a:after")
		results := f.invoke(f.Receive(10), byBody)
		if results[0].Outcome != batch.DeadLettered || results[1].Outcome != batch.Succeeded {
			t.Errorf("%v and %v, want that the second is handled (%q)", results[0].Outcome, results[1].Outcome, f.warnings)
		}
	})
}

// Before a failure no first attempt costs a call for the queue's RedrivePolicy.
func TestFirstAttemptsSucceed_MakesNoCalls(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.Send("a:1", "a:2")
		records := f.Receive(10)
		f.ForgetCalls()
		f.invoke(records, byBody)
		if calls := f.Calls(); len(calls) > 0 {
			t.Errorf("called %q", calls)
		}
	})
}

// What SQS confirms after the cutoff, while the batch still waits, is buried: it
// is in the dead-letter queue, and must not come back as well.
func TestDeadLetterConfirmedAfterCutoff_Counts(t *testing.T) {
	for _, tt := range []struct {
		body string
		late time.Duration
	}{
		{"a:fail", 400 * time.Millisecond}, {"a:never", 400 * time.Millisecond},
		{"a:fail", 900 * time.Millisecond}, {"a:never", 900 * time.Millisecond}, // the batch has given it up
	} {
		inBubble(t, fifoQueue, func(f *fixture) {
			f.timeout = 20 * time.Second // cutoff at 18 s, a grace of 0.5 s, settled by 19.5 s
			f.settling.MaxReceiveCount = 1
			f.Fault = func(op string, _ *http.Request) (*http.Response, error) {
				if op == "SendMessageBatch" {
					time.Sleep(tt.late)
				}
				return nil, nil
			}
			f.Send(tt.body, "a:after")
			results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
				time.Sleep(17800 * time.Millisecond)
				return byBody(ctx, r)
			})
			if dead := len(f.DeadLetters()); dead != 1 || results[0].Outcome != batch.DeadLettered || results[1].Outcome.Done() {
				t.Errorf("%v: %v with %d dead letters, and %v", tt, results[0].Outcome, dead, results[1].Outcome)
			}
		})
	}
}
