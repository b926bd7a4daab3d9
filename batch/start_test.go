package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// progress notes what a started batch tells.
type progress struct {
	mu        sync.Mutex
	refuse    string // the id of a record that may not begin
	bury      func(context.Context, *batch.Result) bool
	succeeded []string
	failed    [][]string // units
	abandoned []string
	late      []string
	done      [][]batch.Result
}

var errRefused = errors.New("refused")

func (p *progress) Begin(r *batch.Record) error {
	if r.MessageID == p.refuse {
		return errRefused
	}
	return nil
}

func (p *progress) Handled(r *batch.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.succeeded = append(p.succeeded, r.Record.MessageID)
}

func (p *progress) Bury(ctx context.Context, r *batch.Result) bool {
	return p.bury != nil && p.bury(ctx, r)
}

func (p *progress) Failed(unit []*batch.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	for _, r := range unit {
		ids = append(ids, r.Record.MessageID)
	}
	p.failed = append(p.failed, ids)
}

func (p *progress) LastAttempt(*batch.Record) bool { return false }

func (p *progress) Abandoned(r *batch.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.abandoned = append(p.abandoned, r.MessageID)
}

func (p *progress) Late(r *batch.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = append(p.late, r.MessageID)
}

func (p *progress) Done(results []batch.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, results)
}

// told is what was told so far.
func (p *progress) told() (succeeded, late []string, failed [][]string, done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.succeeded), slices.Clone(p.late), slices.Clone(p.failed), len(p.done)
}

// ended returns the results, of which there must be exactly one list, and how
// long it took to get them.
func (p *progress) ended(t *testing.T, within time.Duration) []batch.Result {
	t.Helper()
	time.Sleep(within)
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.done) != 1 {
		t.Fatalf("Done was told %d times within %v, want once", len(p.done), within)
	}
	return p.done[0]
}

func outcomesOf(results []batch.Result) (list []batch.Outcome) {
	for _, r := range results {
		list = append(list, r.Outcome)
	}
	return list
}

// chain is a FIFO group of records with these ids.
func chain(ids ...string) (records []batch.Record) {
	for _, id := range ids {
		records = append(records, batch.Record{MessageID: id, Body: id, GroupID: "g", QueueARN: "arn:aws:sqs:eu-west-1:123456789012:q.fifo"})
	}
	return records
}

// start runs a batch in a bubble: script may stop it, and gets its results.
func start(t *testing.T, h batch.HandlerFunc, cfg batch.Config, times func() batch.Times, records []batch.Record, script func(*progress, *batch.Running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := batch.New(h, cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := &progress{refuse: "refused"}
		bounds := batch.Times{}
		if times != nil {
			bounds = times()
		}
		running := e.Start(context.Background(), records, bounds, p)
		synctest.Wait()
		script(p, running)
	})
}

func TestStartTellsOfEachRecordAndThenOfAll(t *testing.T) {
	h := func(_ context.Context, r batch.Record) error {
		time.Sleep(time.Second)
		if r.Body == "bad" {
			return errors.New("bad")
		}
		return nil
	}
	start(t, h, batch.Config{}, nil, chain("a", "b", "bad", "c"), func(p *progress, _ *batch.Running) {
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if succeeded, _, _, done := p.told(); !slices.Equal(succeeded, []string{"a"}) || done != 0 {
			t.Errorf("after 1.5 s: succeeded %v, done %d times", succeeded, done)
		}
		results := p.ended(t, 2*time.Second)
		if want := []batch.Outcome{batch.Succeeded, batch.Succeeded, batch.Retry, batch.Skipped}; !slices.Equal(outcomesOf(results), want) {
			t.Errorf("outcomes %v, want %v", outcomesOf(results), want)
		}
		if _, _, failed, _ := p.told(); len(failed) != 1 || !slices.Equal(failed[0], []string{"bad", "c"}) {
			t.Errorf("failed units %v, want the bad one with what was skipped for it", failed)
		}
	})
}

func TestStartOfNothingIsDoneAtOnce(t *testing.T) {
	start(t, func(context.Context, batch.Record) error { return nil }, batch.Config{}, nil, nil, func(p *progress, running *batch.Running) {
		if results := p.ended(t, 0); len(results) != 0 {
			t.Errorf("results %v", results)
		}
		running.Stop() // both do nothing any more
		running.Cancel()
	})
}

func TestBeginRefusesARecord(t *testing.T) {
	handled := false
	h := func(_ context.Context, r batch.Record) error {
		if r.Body == "refused" {
			handled = true
		}
		return nil
	}
	start(t, h, batch.Config{}, nil, chain("a", "refused", "b"), func(p *progress, _ *batch.Running) {
		results := p.ended(t, 0)
		if handled || !errors.Is(results[1].Err, errRefused) || results[2].Outcome != batch.Skipped {
			t.Errorf("handled: %v, results %+v", handled, results)
		}
	})
}

func TestStopStartsNoFurtherRecord(t *testing.T) {
	h := func(context.Context, batch.Record) error {
		time.Sleep(time.Second)
		return nil
	}
	start(t, h, batch.Config{}, nil, chain("a", "b", "c"), func(p *progress, running *batch.Running) {
		running.Stop()
		results := p.ended(t, time.Second)
		if want := []batch.Outcome{batch.Succeeded, batch.NotStarted, batch.NotStarted}; !slices.Equal(outcomesOf(results), want) {
			t.Errorf("outcomes %v, want %v", outcomesOf(results), want)
		}
		if err := results[1].Err; !errors.Is(err, batch.ErrNotStarted) || err.Error() != "not started: stopped before its turn" {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestCancelEndsWhatRuns(t *testing.T) {
	h := func(ctx context.Context, _ batch.Record) error {
		<-ctx.Done()
		return ctx.Err()
	}
	start(t, h, batch.Config{}, nil, chain("a", "b"), func(p *progress, running *batch.Running) {
		running.Cancel()
		running.Cancel()
		results := p.ended(t, 0)
		if results[0].Outcome != batch.Retry || !errors.Is(results[0].Err, context.Canceled) || results[1].Outcome != batch.Skipped {
			t.Errorf("results %+v", results)
		}
	})
}

// What ignores the end of its context is abandoned after the grace, by Cancel,
// at its own deadline, and at the cutoff; when it returns, that is told.
func TestStartAbandonsWhatIgnoresItsEnd(t *testing.T) {
	h := func(context.Context, batch.Record) error {
		time.Sleep(time.Minute)
		return nil
	}
	grace := 2 * time.Second
	cutoff := func() batch.Times {
		at := time.Now().Add(10 * time.Second)
		return batch.Times{Deadline: at.Add(20 * time.Second), Cutoff: at, SettleBy: at.Add(15 * time.Second)}
	}
	for name, c := range map[string]struct {
		cfg   batch.Config
		times func() batch.Times
		then  func(*batch.Running)
		takes time.Duration
	}{
		"Cancel":          {cfg: batch.Config{Grace: grace}, then: (*batch.Running).Cancel, takes: grace},
		"record timeout":  {cfg: batch.Config{Grace: grace, RecordTimeout: 10 * time.Second}, takes: 10*time.Second + grace},
		"cutoff":          {cfg: batch.Config{Grace: grace}, times: cutoff, takes: 10*time.Second + grace},
		"Cancel, cutoffs": {cfg: batch.Config{Grace: grace}, times: cutoff, then: (*batch.Running).Cancel, takes: grace},
	} {
		t.Run(name, func(t *testing.T) {
			start(t, h, c.cfg, c.times, chain("a"), func(p *progress, running *batch.Running) {
				if c.then != nil {
					c.then(running)
				}
				time.Sleep(c.takes - time.Millisecond)
				synctest.Wait()
				if _, _, _, done := p.told(); done != 0 {
					t.Errorf("done before the grace of %v was over", grace)
				}
				results := p.ended(t, time.Millisecond)
				if _, late, failed, _ := p.told(); results[0].Outcome != batch.Abandoned || len(failed) != 1 || len(late) != 0 {
					t.Errorf("results %+v, failed %v, late %v", results, failed, late)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if succeeded, late, _, done := p.told(); !slices.Equal(late, []string{"a"}) || len(succeeded) != 0 || done != 1 {
					t.Errorf("after its return: late %v, succeeded %v, done %d times", late, succeeded, done)
				}
			})
		})
	}
}

// A cutoff that comes too early starts nothing, and says so.
func TestStartWithTooLittleTime(t *testing.T) {
	times := func() batch.Times {
		at := time.Now().Add(10 * time.Millisecond)
		return batch.Times{Deadline: at.Add(time.Second), Cutoff: at, SettleBy: at.Add(time.Second)}
	}
	start(t, func(context.Context, batch.Record) error { return nil }, batch.Config{}, times, chain("a"), func(p *progress, _ *batch.Running) {
		results := p.ended(t, time.Second)
		if err := results[0].Err; results[0].Outcome != batch.NotStarted || err.Error() != "not started: too little time left" {
			t.Errorf("results %+v", results)
		}
	})
}
