package runner_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// settler dead-letters what fails while others wait for it, as send says.
type settler struct {
	send func(r *batch.Result) bool // on a goroutine of its own; nil for never
	last func(r *batch.Record) bool

	mu     sync.Mutex
	asked  []string
	groups []int // sizes of those that failed
	failed map[*batch.Result]bool
}

func newSettler(send func(r *batch.Result) bool) *settler {
	return &settler{send: send, failed: map[*batch.Result]bool{}}
}

func (s *settler) options(times runner.Times) runner.Options {
	o := failed(times, func(group []*batch.Result) {
		s.groups = append(s.groups, len(group))
		s.failed[group[0]] = true
	})
	o.Lock, o.Decide = &s.mu, s.deadLetter
	o.LastAttempt = func(r *batch.Record) bool { return s.last != nil && s.last(r) }
	return o
}

func (s *settler) deadLetter(d *runner.Delivery) {
	r := *d.Result
	s.asked = append(s.asked, r.Record.MessageID)
	go func() {
		gone := s.send != nil && s.send(&r)
		s.mu.Lock()
		defer s.mu.Unlock()
		if gone && !s.failed[d.Result] {
			*d.Result = r
		}
		d.Resolve(gone)
	}()
}

func toDeadLetters(r *batch.Result) bool {
	r.Outcome, r.DeadLetterQueue = batch.DeadLettered, "dead"
	return true
}

// group is a FIFO group of n records, a0, a1, ….
func group(n int) []batch.Record {
	records := make([]batch.Record, n)
	for i := range records {
		records[i] = batch.Record{MessageID: fmt.Sprintf("a%d", i), GroupID: "a", QueueARN: "arn:aws:sqs:eu-west-1:123456789012:orders.fifo"}
	}
	return records
}

var errNo = errors.New("no")

func TestHeadDeadLetteredInPlace_GroupContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		engine := newEngine(t, config{}, func(_ context.Context, r batch.Record) error {
			order = append(order, r.MessageID)
			time.Sleep(time.Second)
			if r.MessageID != "a2" {
				return errNo
			}
			return nil
		})
		u := newSettler(func(r *batch.Result) bool {
			time.Sleep(time.Minute) // of which the handler's duration has nothing
			return toDeadLetters(r)
		})
		results := engine.Run(t.Context(), group(4), u.options(runner.Times{}))
		if !slices.Equal(order, []string{"a0", "a1", "a2", "a3"}) {
			t.Errorf("handled in the order %v", order)
		}
		for i, want := range []batch.Outcome{batch.DeadLettered, batch.DeadLettered, batch.Succeeded, batch.Retry} {
			r := results[i]
			if r.Outcome != want || r.Duration != time.Second || (want == batch.DeadLettered) != (r.DeadLetterQueue == "dead" && errors.Is(r.Err, errNo)) {
				t.Errorf("a%d: %v after %v, %q, %v; want %v after 1s", i, r.Outcome, r.Duration, r.DeadLetterQueue, r.Err, want)
			}
		}
		if want := []string{"a0", "a1"}; !slices.Equal(u.asked, want) { // a3 has no record behind it
			t.Errorf("asked of %q, want %q", u.asked, want)
		}
	})
}

func TestHeadNotDeadLettered_RestOfGroupIsSkipped(t *testing.T) {
	fails := func(context.Context, batch.Record) error { return errNo }
	for name, test := range map[string]struct {
		records []batch.Record
		send    func(*batch.Result) bool
		asked   int
	}{
		"refused":             {group(3), nil, 1},
		"not of a FIFO queue": {standard(3), toDeadLetters, 0},
		"no record behind it": {group(1), toDeadLetters, 0},
	} {
		u := newSettler(test.send)
		for i, r := range newEngine(t, config{}, fails).Run(t.Context(), test.records, u.options(runner.Times{})) {
			want := batch.Retry
			if i > 0 && r.Record.FIFO() {
				want = batch.Skipped
			}
			if r.Outcome != want {
				t.Errorf("%s: record %d is %v, want %v", name, i, r.Outcome, want)
			}
		}
		if len(u.asked) != test.asked {
			t.Errorf("%s: asked of %v", name, u.asked)
		}
	}
}

// A burial that takes longer than the batch has is given up: the record failed
// by its own error, and its handler is not abandoned.
func TestDeadLetteringInPlace_EndsAtTheCutoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		engine := newEngine(t, config{}, func(context.Context, batch.Record) error { return errNo })
		times := engine.Times(ctx)
		u := newSettler(func(r *batch.Result) bool {
			time.Sleep(time.Hour)
			return toDeadLetters(r)
		})
		results := engine.Run(ctx, group(2), u.options(times))
		if took := time.Until(times.Deadline); took <= 0 {
			t.Error("the batch took longer than the invocation has")
		}
		if results[0].Outcome != batch.Retry || !errors.Is(results[0].Err, errNo) || results[1].Outcome != batch.Skipped {
			t.Errorf("%v (%v) and %v, want retry and skipped", results[0].Outcome, results[0].Err, results[1].Outcome)
		}
		if !slices.Equal(u.groups, []int{2}) {
			t.Errorf("groups of %v failed, want one of 2", u.groups)
		}
		time.Sleep(2 * time.Hour)
		if results[0].Outcome != batch.Retry {
			t.Error("what came later changed the result")
		}
	})
}

// A deadline that passes in the moment in which the handler returns is not that
// of the burial.
func TestDeadlinePassesAtReturn_DeadLetteringContinues(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			engine := newEngine(t, config{RecordTimeout: time.Second, Grace: time.Second}, func(context.Context, batch.Record) error {
				time.Sleep(time.Second)
				return errNo
			})
			u := newSettler(func(r *batch.Result) bool {
				time.Sleep(2 * time.Second)
				return toDeadLetters(r)
			})
			if r := engine.Run(t.Context(), group(2), u.options(runner.Times{}))[0]; r.Outcome != batch.DeadLettered {
				t.Fatalf("%v, want dead-letter", r.Outcome)
			}
			time.Sleep(time.Minute)
		})
	}
}

func TestGoexitOfHead_IsDeadLetteredInPlace(t *testing.T) {
	engine := newEngine(t, config{}, func(_ context.Context, r batch.Record) error {
		if r.MessageID == "a0" {
			runtime.Goexit()
		}
		return nil
	})
	results := engine.Run(t.Context(), group(3), newSettler(toDeadLetters).options(runner.Times{}))
	if results[0].Outcome != batch.DeadLettered || !errors.Is(results[0].Err, batch.ErrGoexit) ||
		results[1].Outcome != batch.Succeeded || results[2].Outcome != batch.Succeeded {
		t.Errorf("%v (%v), %v and %v; want dead-letter and two that succeeded", results[0].Outcome, results[0].Err, results[1].Outcome, results[2].Outcome)
	}
}

// An abort does not wait for a burial.
func TestAbortBeforeTheBurial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(t, config{Concurrency: 2}, func(_ context.Context, r batch.Record) error {
			if r.MessageID == "a0" {
				return batch.Abort(time.Minute, errNo)
			}
			time.Sleep(time.Second)
			return nil
		})
		u := newSettler(func(r *batch.Result) bool {
			time.Sleep(time.Minute)
			return toDeadLetters(r)
		})
		records := append(group(2), batch.Record{MessageID: "b0", GroupID: "b", QueueARN: group(1)[0].QueueARN},
			batch.Record{MessageID: "b1", GroupID: "b", QueueARN: group(1)[0].QueueARN}, batch.Record{MessageID: "c0", GroupID: "c", QueueARN: group(1)[0].QueueARN})
		results := engine.Run(t.Context(), records, u.options(runner.Times{}))
		for i, want := range []batch.Outcome{batch.DeadLettered, batch.NotStarted, batch.Succeeded, batch.NotStarted, batch.NotStarted} {
			if r := results[i]; r.Outcome != want && (i != 2 || r.Outcome != batch.NotStarted) { // b0 may not have begun yet
				t.Errorf("%s: %v, want %v", r.Record.MessageID, r.Outcome, want)
			}
		}
	})
}

// lastAttempts runs a FIFO group of n records at their last attempt, for which an
// invocation has left, and returns the results.
func lastAttempts(t *testing.T, n int, left time.Duration, cfg config, send func(*batch.Result) bool, h batch.HandlerFunc) []batch.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), left)
	defer cancel()
	engine := newEngine(t, cfg, h)
	u := newSettler(send)
	u.last = func(*batch.Record) bool { return true }
	return engine.Run(ctx, group(n), u.options(engine.Times(ctx)))
}

func TestHangAtLastAttempt_OnlyThatRecordIsDeadLettered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		results := lastAttempts(t, 10, 30*time.Second, config{}, toDeadLetters, func(ctx context.Context, r batch.Record) error {
			if r.MessageID == "a1" {
				return wait(ctx, time.Hour, false)
			}
			return wait(ctx, 40*time.Millisecond, true)
		})
		for i, r := range results {
			want := batch.Succeeded
			if i == 1 {
				want = batch.DeadLettered
			}
			if r.Outcome != want {
				t.Errorf("%s: %v (%v), want %v", r.Record.MessageID, r.Outcome, r.Err, want)
			}
		}
		if !errors.Is(results[1].Err, batch.ErrAbandoned) {
			t.Errorf("the dead-lettered record's error is %v, want that it was abandoned", results[1].Err)
		}
		if took := time.Since(began); took > 28*time.Second {
			t.Errorf("the batch took %v, beyond its cutoff", took)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestAbandonedHeadNotDeadLettered_GroupIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := lastAttempts(t, 3, 30*time.Second, config{}, nil, func(ctx context.Context, r batch.Record) error {
			return wait(ctx, time.Hour, false)
		})
		wantOutcomes(t, results, batch.Abandoned, batch.Skipped, batch.Skipped)
		time.Sleep(2 * time.Hour)
	})
}

// What a record at its last attempt may take of 28 s, see rule 16.
func TestLastAttempt_LeavesTimeForRestOfGroup(t *testing.T) {
	for name, c := range map[string]struct {
		records int
		cfg     config
		want    time.Duration // of the first
	}{
		"no record behind":             {1, config{}, 28 * time.Second},
		"1 s for each of nine":         {10, config{}, 28*time.Second - 9*time.Second - time.Second - 250*time.Millisecond},
		"half of what remains":         {10, config{MinRemaining: 2 * time.Second}, 14 * time.Second},
		"twice what a record needs":    {3, config{MinRemaining: 10 * time.Second}, 20 * time.Second},
		"all there is":                 {2, config{MinRemaining: 20 * time.Second}, 28 * time.Second},
		"the record timeout, if less":  {10, config{RecordTimeout: 3 * time.Second}, 3 * time.Second},
		"the grace that is configured": {2, config{Grace: 5 * time.Second}, 28*time.Second - time.Second - 5*time.Second - 250*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				results := lastAttempts(t, c.records, 30*time.Second, c.cfg, toDeadLetters, func(context.Context, batch.Record) error { return nil })
				if got := results[0].Allowed; got != c.want {
					t.Errorf("the first is allowed %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestHealthyRecordsAtLastAttempt_UseAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		results := lastAttempts(t, 10, 30*time.Second, config{}, toDeadLetters, func(ctx context.Context, _ batch.Record) error {
			return wait(ctx, 4*time.Second, true)
		})
		for i, r := range results {
			want := batch.Succeeded
			if i >= 7 { // 28 s are over
				want = batch.NotStarted
			}
			if r.Outcome != want {
				t.Errorf("%s: %v (%v), want %v", r.Record.MessageID, r.Outcome, r.Err, want)
			}
		}
	})
}

// Whether this is the last attempt may be asked of SQS, which takes time.
func TestLastAttempt_KnownTooLate_StartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		engine := newEngine(t, config{}, func(_ context.Context, r batch.Record) error {
			t.Errorf("%s is handled", r.MessageID)
			return nil
		})
		u := newSettler(nil)
		u.last = func(*batch.Record) bool {
			time.Sleep(4900 * time.Millisecond) // beyond the cutoff
			return false
		}
		results := engine.Run(ctx, group(2), u.options(engine.Times(ctx)))
		wantOutcomes(t, results, batch.NotStarted, batch.NotStarted)
		time.Sleep(time.Minute) // the question is answered
	})
}
