package settle_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// timed notes after how long each call of an operation was made.
func (f *fixture) timed(op string) *[]time.Duration {
	var mu sync.Mutex
	begin, at := time.Now(), &[]time.Duration{}
	before := f.Fault
	f.Fault = func(called string, r *http.Request) (*http.Response, error) {
		if called == op {
			mu.Lock()
			*at = append(*at, time.Since(begin))
			mu.Unlock()
		}
		if before != nil {
			return before(called, r)
		}
		return nil, nil
	}
	return at
}

// slowly keeps the batch running for 20 s with the record "slow".
func slowly(ctx context.Context, r batch.Record) error {
	if r.Body == "slow" || strings.HasSuffix(r.Body, ":slow") {
		time.Sleep(20 * time.Second)
		return nil
	}
	return byBody(ctx, r)
}

func TestTenFailures_GoOutAtOnceFewerAfter50ms(t *testing.T) {
	const linger = 50 * time.Millisecond
	for name, c := range map[string]struct {
		body string
		op   string
		n    int
		want []time.Duration
	}{
		"nine":                  {"fail", opVisibility, 9, []time.Duration{linger}},
		"ten":                   {"fail", opVisibility, 10, []time.Duration{0}},
		"twelve":                {"fail", opVisibility, 12, []time.Duration{0, linger}},
		"twenty":                {"fail", opVisibility, 20, []time.Duration{0, 0}},
		"nine permanent ones":   {"never", "SendMessageBatch", 9, []time.Duration{linger}},
		"ten permanent ones":    {"never", "SendMessageBatch", 10, []time.Duration{0}},
		"twenty permanent ones": {"never", "SendMessageBatch", 20, []time.Duration{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.Send(slices.Repeat([]string{c.body}, c.n)...)
				f.Send("slow")
				records := f.Receive(100)
				f.settling.DeadLetterQueue = f.DeadLetterURL
				f.engine.Concurrency = 100
				at := f.timed(c.op)
				f.invoke(records, slowly)
				if !slices.Equal(*at, c.want) {
					t.Errorf("calls after %v, want %v", *at, c.want)
				}
			})
		})
	}
}

func TestLaterFailure_LingersFromItsOwnTime(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		records := f.failures(3)
		f.Send("slow")
		records = append(records, f.Receive(1)...)
		waits := map[string]time.Duration{"1:fail": 40 * time.Millisecond, "2:fail": 70 * time.Millisecond}
		at := f.timed(opVisibility)
		f.invoke(records, func(ctx context.Context, r batch.Record) error {
			time.Sleep(waits[r.Body])
			return slowly(ctx, r)
		})
		// The third has missed the call of the first two, and waits 50 ms itself.
		if want := []time.Duration{50 * time.Millisecond, 120 * time.Millisecond}; !slices.Equal(*at, want) {
			t.Errorf("calls after %v, want %v", *at, want)
		}
	})
}

func TestLargeFailedGroup_IsReleasedInTensAtOnce(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.Send(append(append([]string{"a:fail"}, slices.Repeat([]string{"a:after"}, 9)...), "b:slow")...)
		records := f.Receive(11)
		records = append(records, slices.Repeat(records[1:10], 2)...) // a receive gives no more of a group
		at := f.timed(opVisibility)
		f.invoke(records, slowly)
		if want := []time.Duration{0, 0, 50 * time.Millisecond}; !slices.Equal(*at, want) {
			t.Errorf("calls after %v, want %v", *at, want)
		}
	})
}

func TestRecordsNotStarted_AreReleasedByConcurrentCalls(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		records := f.failures(45)
		f.Fault = func(string, *http.Request) (*http.Response, error) {
			time.Sleep(100 * time.Millisecond)
			return nil, nil
		}
		f.engine.MinRemaining = time.Hour
		begin := time.Now()
		f.invoke(records, byBody)
		if took := time.Since(begin); took != 100*time.Millisecond || len(f.Events(sqs.Visibility)) != 45 {
			t.Errorf("%d released in %v, want 45 in 100ms", len(f.Events(sqs.Visibility)), took)
		}
	})
}

func TestDeadLetterSendFails_BackoffIsSetAtOnce(t *testing.T) {
	for n, want := range map[int][]time.Duration{10: {0}, 1: {100 * time.Millisecond}} {
		inBubble(t, standardQueue, func(f *fixture) {
			f.Send(slices.Repeat([]string{"never"}, n)...)
			f.Send("slow")
			records := f.Receive(100)
			f.settling.DeadLetterQueue = f.DeadLetterURL
			f.engine.Concurrency = 100
			f.Fault = answer("SendMessageBatch", 403, "AccessDeniedException", "")
			at := f.timed(opVisibility)
			f.invoke(records, slowly)
			if !slices.Equal(*at, want) {
				t.Errorf("%d records: visibility set after %v, want %v", n, *at, want)
			}
		})
	}
}

func TestOneSendEntryFails_OthersAreDeadLettered(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:never", "2:never", "3:never")
		records := f.Receive(10)
		f.settling.DeadLetterQueue = f.DeadLetterURL
		f.engine.Concurrency = 1 // so that entries are in order
		f.Fault = answer("SendMessageBatch", 200, "", `{"Successful":[{"Id":"0"},{"Id":"2"}],"Failed":[{"Id":"1","Code":"InvalidMessageContents","SenderFault":true}]}`)
		results := f.invoke(records, byBody)
		for i, want := range []batch.Outcome{batch.DeadLettered, batch.Retry, batch.DeadLettered} {
			if results[i].Outcome != want || (results[i].DeadLetterQueue != "") != (want == batch.DeadLettered) {
				t.Errorf("record %d: %v to %q, want %v", i, results[i].Outcome, results[i].DeadLetterQueue, want)
			}
		}
	})
}

// What fails at the cutoff is not buried: nothing behind it could be started.
func TestHeadDroppedAtCutoff_RestIsReleasedAtOnce(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.Send("a:never", "a:after")
		f.settling.OnPermanent = partialfailure.Drop
		results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
			<-ctx.Done()
			return byBody(ctx, r)
		})
		if results[0].Outcome != batch.Dropped || results[1].Outcome != batch.Skipped || !results[1].VisibilitySet || results[1].VisibleIn != 0 {
			t.Errorf("%v; %v in %v (%v)", results[0].Outcome, results[1].Outcome, results[1].VisibleIn, results[1].VisibilitySet)
		}
		if changed := f.Events(sqs.Visibility); len(changed) != 1 || changed[0].Visibility != 0 {
			t.Errorf("visibility changes: %+v", changed)
		}
	})
}

func TestBackoff_IsRoundedUpToWholeSeconds(t *testing.T) {
	for _, c := range []struct {
		attempt, asked int
		backoff, want  time.Duration
	}{
		{0, 1, 0, time.Second}, {1, 1, time.Second, time.Second}, {3, 3, 1001 * time.Millisecond, 2 * time.Second},
		{2, 2, 2 * time.Second, 2 * time.Second},
	} {
		inBubble(t, standardQueue, func(f *fixture) {
			records := f.failures(1)
			records[0].Attempt = c.attempt
			asked := 0
			f.settling.MaxReceiveCount = 1000
			f.settling.Backoff = func(attempt int) time.Duration { asked = attempt; return c.backoff }
			if r := f.invoke(records, func(context.Context, batch.Record) error { return errors.New("no") })[0]; r.VisibleIn != c.want || asked != c.asked {
				t.Errorf("attempt %d, backoff %v: visible in %v, asked for attempt %d", c.attempt, c.backoff, r.VisibleIn, asked)
			}
		})
	}
}
