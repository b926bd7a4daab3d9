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
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestFailedRecords_ComeBackAfterTheirBackoff(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("ok", "fail", "busy", "now")
		begin := time.Now()
		f.invoke(f.Receive(10), byBody)
		for _, c := range []struct {
			at   time.Duration
			want []string
		}{
			{time.Second, []string{"now"}},
			{9500 * time.Millisecond, nil},
			{10500 * time.Millisecond, []string{"fail"}},
			{44 * time.Second, nil},
			{46 * time.Second, []string{"busy"}},
			{testqueue.Visibility, []string{"ok"}}, // Lambda would have deleted it: only its own timeout shows it again
		} {
			time.Sleep(time.Until(begin.Add(c.at)))
			got := f.visible()
			got = slices.DeleteFunc(got, func(s string) bool { return s == "now" && c.at > time.Second })
			if !slices.Equal(got, c.want) {
				t.Errorf("after %v: %v, want %v", c.at, got, c.want)
			}
		}
	})
}

func TestLongDelay_StaysWithinTwelveHours(t *testing.T) {
	for name, c := range map[string]struct {
		waited, latency time.Duration // in Lambda's hands before the function was invoked; of a call
		attempt         int
		least, most     time.Duration // of the visibility timeout that is set
	}{
		"first attempt": {2 * time.Minute, 0, 1, 12*time.Hour - 6*time.Minute, 12*time.Hour - 5*time.Minute},
		"with latency":  {0, 1500 * time.Millisecond, 1, 12*time.Hour - 6*time.Minute, 12*time.Hour - 5*time.Minute},
		"a later one":   {0, 0, 3, 12*time.Hour - 6*time.Minute, 12*time.Hour - 5*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, standardQueue, func(f *fixture) {
				f.Send("long")
				records := f.Receive(10)
				records[0].Attempt = c.attempt
				f.settling.MaxReceiveCount = 100
				time.Sleep(c.waited)
				f.Fault = func(string, *http.Request) (*http.Response, error) {
					time.Sleep(c.latency)
					return nil, nil
				}
				results := f.invoke(records, byBody)
				changed := f.Events(sqs.Visibility)
				if len(changed) != 1 || changed[0].Visibility < c.least || changed[0].Visibility > c.most {
					t.Fatalf("visibility changes: %+v, want %v to %v, warnings %q", changed, c.least, c.most, f.warnings)
				}
				if got := results[0].VisibleIn; got < c.least || got > c.most+2*time.Second {
					t.Errorf("the result says %v", got)
				}
			})
		})
	}
}

func TestRecordsNotStarted_AreReleasedLast(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("1:fail", "2:slow", "3:late", "4:late")
		f.engine.Concurrency = 1
		f.engine.MinRemaining = 20 * time.Second
		results := f.invoke(f.Receive(10), func(ctx context.Context, r batch.Record) error {
			if strings.HasSuffix(r.Body, "slow") {
				time.Sleep(20 * time.Second)
			}
			return byBody(ctx, r)
		})
		f.wantOutcomes(results, "map[1:fail:retry 2:slow:succeeded 3:late:not-started 4:late:not-started]")
		changed := f.Events(sqs.Visibility)
		if len(changed) != 3 || changed[0].Body != "1:fail" || changed[1].Visibility != 0 || changed[2].Visibility != 0 {
			t.Errorf("visibility changes: %+v", changed)
		}
		if got := f.visible(); !slices.Contains(got, "3:late") || !slices.Contains(got, "4:late") {
			t.Errorf("visible at once: %v", got)
		}
	})
}

func TestFailedAndSkippedRecords_ComeBackTogether(t *testing.T) {
	inBubble(t, fifoQueue, func(f *fixture) {
		f.Send("a:ok", "a:busy", "a:after", "a:more", "b:ok")
		results := f.invoke(f.Receive(10), byBody)
		f.wantOutcomes(results, "map[a:after:skipped a:busy:retry a:more:skipped a:ok:succeeded b:ok:succeeded]")
		changed := f.Events(sqs.Visibility)
		if len(changed) != 3 {
			t.Fatalf("%d visibility changes, want 3", len(changed))
		}
		for _, e := range changed {
			if e.Visibility != 45*time.Second {
				t.Errorf("%s comes back in %v, want 45s", e.Body, e.Visibility)
			}
		}
	})
}

func TestContextCanceled_FailuresAreStillSettled(t *testing.T) {
	inBubble(t, standardQueue, func(f *fixture) {
		f.Send("fail")
		records := f.Receive(10)
		f.settling.Client = clientOf(f)
		settler := settle.New(f.settling)
		ctx, cancel := context.WithCancel(context.Background())
		engine := runner.New(batch.HandlerFunc(func(context.Context, batch.Record) error {
			cancel()
			return errors.New("no")
		}), runner.Config{}, &hooks.Set{})
		settlement := settler.Begin(ctx, records, time.Time{})
		results := engine.Run(ctx, records, settlement.Options(runner.Times{}))
		settlement.Settle(results)
		settlement.AwaitHooks()
		if !results[0].VisibilitySet {
			t.Error("the visibility was not set")
		}
	})
}
