package settle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

// asks counts the calls for the RedrivePolicy since it was last called.
func (f *fixture) asks() (n int) {
	for _, op := range f.Calls() {
		if op == "GetQueueAttributes" {
			n++
		}
	}
	f.ForgetCalls()
	return n
}

func TestRedrivePolicy_IsCachedThenRequestedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(op string, r *http.Request) (*http.Response, error)
		kept  time.Duration
	}{
		"an answer": {nil, 5 * time.Minute},
		"an error":  {answer("GetQueueAttributes", 403, "AccessDeniedException", ""), time.Minute},
		"no time":   {hanging("GetQueueAttributes"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.Fault = c.fault
				f.Send("1:never", "2:never", "3:never")
				records := f.Receive(10)
				ask := func(i int) int {
					f.ForgetCalls()
					f.invoke(records[i:i+1], byBody)
					return min(f.asks(), 1) // one that is not answered is made again
				}
				if ask(0) != 1 {
					t.Error("not asked at first")
				}
				if c.kept > 0 {
					time.Sleep(c.kept - time.Second)
					if ask(1) != 0 {
						t.Errorf("asked again within %v", c.kept)
					}
					time.Sleep(2 * time.Second)
				}
				if ask(2) != 1 {
					t.Errorf("not asked again after %v", c.kept)
				}
			})
		})
	}
}

func TestSeveralFailures_RequestRedrivePolicyOnce(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		records := f.failures(5)
		for i := range records {
			records[i].Attempt = 2
		}
		f.ForgetCalls()
		f.invoke(records, byBody)
		if n := f.asks(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestMaxReceiveCountConfigured_NeedsNoCall(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.MaxReceiveCount = 7
		records := f.failures(3)
		f.Send("ok")
		records = append(records, f.Receive(1)...)
		for i, attempt := range []int{6, 7, 2, 7} { // the last one succeeds
			records[i].Attempt = attempt
		}
		f.ForgetCalls()
		f.invoke(records, byBody)
		if n := f.asks(); n != 0 {
			t.Errorf("asked %d times", n)
		}
		f.warnedOnce("2 records near maxReceiveCount; the closest: no attempt left before the dead-letter queue (7 of 7 used)")
	})
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.MaxReceiveCount = 7
		records := f.failures(1)
		records[0].Attempt = 6
		f.invoke(records, byBody)
		f.warnedOnce("1 attempt left before the dead-letter queue (6 of 7 used)")
	})
}

func TestMaxReceiveCountAsString_IsRead(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op != "GetQueueAttributes" {
				return nil, nil
			}
			policy := strings.ReplaceAll(fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"3"}`, f.DeadLetterARN), `"`, `\"`)
			return testqueue.Answer(r, 200, "", `{"Attributes":{"RedrivePolicy":"`+policy+`"}}`)
		}
		f.Send("fail", "never")
		records := f.Receive(10)
		records[0].Attempt = 2
		results := f.invoke(records, byBody)
		if results[1].Outcome != batch.DeadLettered {
			t.Errorf("the permanent failure is %v", results[1].Outcome)
		}
		f.warnedOnce("2 of 3 used")
	})
}

// Package handler gives such a client under sam local, and tells the waits that it
// finds in the results.
func TestWithoutAClientTheResultsHaveTheWaitsThatWereWanted(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.Send("a:never", "a:after", "b:fail")
		records := f.Receive(10)
		for i := range records {
			records[i].Attempt = 3
		}
		f.ForgetCalls()
		f.settling.Client = func(context.Context) (*sqs.Client, error) { return nil, errors.New("none here") }
		begin := time.Now()
		results := f.invoke(records, func(ctx context.Context, r batch.Record) error { return byBody(ctx, r) })
		if got := f.Calls(); len(got) > 0 || time.Since(begin) > time.Second {
			t.Errorf("called %v, took %v", got, time.Since(begin))
		}
		// No dead-letter queue is known: a permanent failure is an ordinary one.
		for _, r := range results {
			if r.VisibilitySet || r.VisibleIn != 30*time.Second {
				t.Errorf("%s: wanted visible in %v (set: %v), want 30 s", r.Record.Body, r.VisibleIn, r.VisibilitySet)
			}
		}
	})
}

// That SQS could not be reached for the policy once is no reason to make no
// call at all in the batches that follow.
func TestCallFailedInEarlierBatch_BackoffIsStillSet(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Fault = func(op string, _ *http.Request) (*http.Response, error) {
			if op == "GetQueueAttributes" {
				return nil, syscall.ECONNRESET
			}
			return nil, nil
		}
		f.Send("1:fail", "2:fail", "3:ok")
		records := f.Receive(10)
		for i := range records {
			records[i].Attempt = 2
		}
		f.invoke(records[:1], byBody)
		f.ForgetCalls()
		results := f.invoke(records[1:], func(ctx context.Context, r batch.Record) error {
			if r.Body == "3:ok" {
				time.Sleep(200 * time.Millisecond) // the failure's call goes out meanwhile
			}
			return byBody(ctx, r)
		})
		if !results[0].VisibilitySet {
			t.Errorf("the visibility of %+v was not set; calls %v", results[0], f.Calls())
		}
	})
}

// unknowable has the queue never say its attributes.
func unknowable(op string, r *http.Request) (*http.Response, error) {
	if op == "GetQueueAttributes" {
		return testqueue.Answer(r, 403, "RequestThrottled", "")
	}
	return nil, nil
}

// A group whose head may be at its last attempt waits for the queue's answer for a moment,
// not for as long as the function may run.
func TestQueueThatDoesNotSayItsAttributes_HoldsNoGroupUp(t *testing.T) {
	for body, most := range map[string]time.Duration{"a:fail": 12 * time.Second, "a:never": 25 * time.Second} {
		inBubble(t, fifoQueue, func(f *fixture) {
			f.timeout = 15 * time.Minute
			f.Fault = unknowable
			f.Send(body, "a:after")
			began := time.Now()
			results := f.invoke(f.Receive(10), byBody)
			if took := time.Since(began); took > most {
				t.Errorf("%s: the batch took %v", body, took)
			}
			if results[0].Outcome != batch.Retry || results[1].Outcome != batch.Skipped {
				t.Errorf("%s: %v and %v, want retry and skipped", body, results[0].Outcome, results[1].Outcome)
			}
		})
	}
}

// The records of a call wait for the answer together.
func TestQueueThatDoesNotSayItsAttributes_DelaysACallOnce(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.Backoff = nil
		f.engine.Concurrency = 10
		records := f.failures(10)
		var first time.Duration
		began := time.Now()
		f.Fault = func(op string, r *http.Request) (*http.Response, error) {
			if op == opVisibility && first == 0 {
				first = time.Since(began)
			}
			return unknowable(op, r)
		}
		f.invoke(records, func(ctx context.Context, r batch.Record) error { return byBody(ctx, r) })
		if first < time.Second || first > 1200*time.Millisecond {
			t.Errorf("the visibility was set after %v, want about 1 s", first)
		}
	})
}

// aged are records of which two fail, at an attempt; the older one is of that age.
func (f *fixture) aged(age time.Duration, attempt int) []batch.Record {
	f.t.Helper()
	f.Send("fail", "fail", "ok")
	records := f.Receive(10)
	for i := range records {
		records[i].SentAt, records[i].Attempt = time.Now().Add(-age), attempt
	}
	records[0].SentAt = records[0].SentAt.Add(time.Second) // the second is the oldest
	return records
}

func TestARecordNearTheEndOfItsRetentionIsWarnedOf(t *testing.T) {
	const day = 24 * time.Hour
	for name, c := range map[string]struct {
		retention string // seconds; "" for the default, 4 days
		fifo      bool
		age       time.Duration
		words     []string // nil: no warning
	}{
		"near":          {"", false, 3*day + 5*time.Hour, []string{"sent 77h0m0s ago", "MessageRetentionPeriod is 96h0m0s", "dead-letter queue keeps its age"}},
		"not yet":       {"", false, 3*day + 4*time.Hour, nil},
		"over":          {"", false, 5 * day, []string{"sent 120h0m0s ago and will be deleted"}},
		"FIFO":          {"", true, 3*day + 22*time.Hour + 30*time.Minute, []string{"sent 94h30m0s ago", "In a FIFO dead-letter queue its age starts"}},
		"a short one":   {"60", false, 50 * time.Second, []string{"sent 50s ago", "is 1m0s"}},
		"a longest one": {"1209600", false, 4 * day, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, c.fifo, func(f *fixture) {
				if c.retention != "" {
					f.set("MessageRetentionPeriod", c.retention)
				}
				records := f.aged(c.age, 2)
				f.invoke(records, byBody)
				if c.words == nil {
					if len(f.warnings) > 0 {
						t.Errorf("warned %q", f.warnings)
					}
					return
				}
				f.warnedOnce(c.words...)
			})
		})
	}
}

// It costs no call of its own, is reported again after five minutes, and is unknown where
// nothing was asked.
func TestTheRetentionIsAskedForWithThePolicy(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		old := f.aged(90*time.Hour, 2)
		f.ForgetCalls()
		f.invoke(old, byBody)
		f.warnedOnce("sent 90h0m0s ago")
		f.warnings = nil
		f.invoke(f.aged(90*time.Hour, 2), byBody)
		if len(f.warnings) > 0 {
			t.Errorf("warned again %q", f.warnings)
		}
		if n := f.asks(); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	inBubble(t, standardQueue, func(f *fixture) {
		f.settling.MaxReceiveCount = 10
		f.invoke(f.aged(90*time.Hour, 2), byBody)
		if len(f.warnings) > 0 || f.asks() != 0 {
			t.Errorf("warned %q", f.warnings)
		}
	})
	inBubble(t, standardQueue, func(f *fixture) { // a server that does not know the attribute
		f.Fault = answer("GetQueueAttributes", 200, "", `{"Attributes":{}}`)
		f.invoke(f.aged(90*time.Hour, 2), byBody)
		if strings.Contains(strings.Join(f.warnings, " "), "Retention") {
			t.Errorf("warned %q", f.warnings)
		}
	})
}
