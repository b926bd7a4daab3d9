package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/middleware/breaker"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("down")

// dependency does what it is asked, behind a breaker that opens at two failures.
type dependency struct {
	t     *testing.T
	h     batch.Handler
	calls int
	do    func(ctx context.Context) error
	state gobreaker.State
}

func newDependency(t *testing.T, settings gobreaker.Settings, o breaker.Config) *dependency {
	d := &dependency{t: t}
	if settings.ReadyToTrip == nil {
		settings.ReadyToTrip = func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 2 }
	}
	settings.OnStateChange = func(_ string, from, to gobreaker.State) {
		if from != d.state {
			t.Errorf("from %v to %v, was %v", from, to, d.state)
		}
		d.state = to
	}
	d.h = breaker.New(settings, o)(batch.HandlerFunc(func(ctx context.Context, _ batch.Record) error {
		d.calls++
		return d.do(ctx)
	}))
	return d
}

// handle has a record handled that has a minute.
func (d *dependency) handle(do func(ctx context.Context) error) error {
	return d.handleIn(inAMinute, do)
}

func (d *dependency) handleIn(end func(context.Context) (context.Context, context.CancelFunc), do func(ctx context.Context) error) error {
	ctx, cancel := end(d.t.Context())
	defer cancel()
	d.do = do
	return d.h.Handle(ctx, batch.Record{})
}

func (d *dependency) open() {
	d.t.Helper()
	for range 2 {
		if err := d.handle(fails); err != errDown {
			d.t.Fatalf("%v before it is open", err)
		}
	}
	if d.state != gobreaker.StateOpen {
		d.t.Fatalf("it is %v after two failures", d.state)
	}
}

// spared checks that err came without a call, and sends the record back after d.
func (d *dependency) spared(err error, after time.Duration) {
	d.t.Helper()
	v := batch.VerdictOf(err)
	if !v.Aborts || v.After < after || v.After > after+time.Millisecond {
		d.t.Errorf("%v: %+v, want Abort after %v", err, v, after)
	}
}

func fails(context.Context) error    { return errDown }
func succeeds(context.Context) error { return nil }

func TestOpenSendsBackUntilItMayTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDependency(t, gobreaker.Settings{Name: "carrier", Timeout: 2 * time.Minute}, breaker.Config{})
		d.open()
		for i := range 12 {
			err := d.handle(succeeds)
			d.spared(err, 2*time.Minute-time.Duration(i)*10*time.Second)
			if !errors.Is(err, gobreaker.ErrOpenState) || !strings.Contains(err.Error(), `breaker "carrier"`) {
				t.Errorf("%v", err)
			}
			time.Sleep(10 * time.Second)
		}
		d.spared(d.handle(succeeds), 0) // it opens after its timeout, not at it
		time.Sleep(time.Millisecond)
		if err := d.handle(succeeds); err != nil || d.state != gobreaker.StateClosed || d.calls != 2+1 {
			t.Errorf("%v, %v after %d calls", err, d.state, d.calls)
		}
	})
}

// While one is tried the others come back, ever later the longer it takes, so
// that a record which hangs does not use up the attempts of the others.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDependency(t, gobreaker.Settings{Timeout: 20 * time.Second}, breaker.Config{})
		d.open()
		time.Sleep(20*time.Second + 1)
		probe := make(chan error)
		go func() {
			probe <- d.handle(func(ctx context.Context) error { time.Sleep(50 * time.Second); return nil })
		}()
		synctest.Wait()
		begin, calls := time.Now(), d.calls
		for _, step := range []struct{ at, after time.Duration }{
			{0, 2 * time.Second}, {time.Second, 2 * time.Second}, {3 * time.Second, 3 * time.Second}, {12 * time.Second, 12 * time.Second}, {45 * time.Second, 20 * time.Second},
		} {
			time.Sleep(time.Until(begin.Add(step.at)))
			err := d.h.Handle(t.Context(), batch.Record{})
			d.spared(err, step.after)
			if !errors.Is(err, gobreaker.ErrTooManyRequests) || !strings.Contains(err.Error(), "half-open: other records are tried first") || d.calls != calls {
				t.Errorf("%v, %d calls", err, d.calls-calls)
			}
		}
		if err := <-probe; err != nil || d.state != gobreaker.StateClosed {
			t.Errorf("%v, %v", err, d.state)
		}
	})
}

func TestProbeDelaysAreBounded(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, 5 * time.Second: time.Second, 30 * time.Second: 3 * time.Second, time.Hour: 10 * time.Second, time.Millisecond: time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDependency(t, gobreaker.Settings{Timeout: timeout}, breaker.Config{})
			d.open()
			time.Sleep(timeout + 1)
			_ = d.handle(func(ctx context.Context) error {
				d.spared(d.h.Handle(ctx, batch.Record{}), want)
				return nil
			})
		})
	}
}

// A handler that never returns is counted when its context ends: its place is free.
func TestAHandlerThatNeverReturnsHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDependency(t, gobreaker.Settings{}, breaker.Config{})
		d.open()
		d.spared(d.handle(succeeds), time.Minute) // gobreaker's default
		time.Sleep(time.Minute + 1)
		go func() { _ = d.handle(func(context.Context) error { time.Sleep(24 * time.Hour); return nil }) }()
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		if d.state != gobreaker.StateOpen {
			t.Fatalf("it is %v a minute later", d.state)
		}
		d.spared(d.handle(succeeds), time.Minute) // anew
		time.Sleep(time.Minute + 1)
		if err := d.handle(succeeds); err != nil || d.state != gobreaker.StateClosed {
			t.Errorf("%v, %v", err, d.state)
		}
		time.Sleep(48 * time.Hour) // its return changes nothing
		if d.state != gobreaker.StateClosed {
			t.Errorf("it is %v in the end", d.state)
		}
	})
}

func TestPanicsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDependency(t, gobreaker.Settings{}, breaker.Config{})
		func() {
			defer func() {
				if v := recover(); v != "oops" {
					t.Errorf("panicked with %v", v)
				}
			}()
			_ = d.handle(func(context.Context) error { panic("oops") })
		}()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = d.handle(func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-done
		if d.state != gobreaker.StateOpen {
			t.Errorf("it is %v", d.state)
		}
	})
}

// The settings' own functions replace ours. A panic of one ends no process.
func TestSettingsOfGobreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		d := newDependency(t, gobreaker.Settings{
			IsExcluded: func(err error) bool {
				told = append(told, err)
				if errors.Is(err, context.DeadlineExceeded) {
					panic("a mistake")
				}
				return false
			},
			IsSuccessful: func(err error) bool { return err == nil || errors.Is(err, errDown) },
		}, breaker.Config{})
		for range 3 {
			_ = d.handle(fails)
			_ = d.handle(succeeds)
		}
		_ = d.handle(func(ctx context.Context) error { <-ctx.Done(); synctest.Wait(); return nil })
		if d.state != gobreaker.StateClosed || len(told) != 7 || told[0] != errDown || told[1] != nil {
			t.Errorf("it is %v, told %v", d.state, told)
		}
		_ = d.handle(func(context.Context) error { return batch.Permanent(nil) })
		_ = d.handle(func(context.Context) error { return batch.Permanent(nil) })
		if d.state != gobreaker.StateOpen {
			t.Errorf("it is %v", d.state)
		}
	})
}

func TestNothingIsNoHandler(t *testing.T) {
	var none batch.HandlerFunc
	for _, h := range []batch.Handler{breaker.New(gobreaker.Settings{})(nil), breaker.New(gobreaker.Settings{})(none)} {
		if _, err := handler.New(h, handler.Config{}); h != nil || err == nil {
			t.Errorf("%v, %v", h, err)
		}
	}
}

func inAMinute(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Minute)
}

func TestWhatCounts(t *testing.T) {
	returns := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	gone, permanent := returns(&httpstatus.Error{Status: 410}), returns(fmt.Errorf("a: %w", batch.Permanent(errDown)))
	hang := func(d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		}
	}
	aMinuteLater := func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Minute, cancel)
		return ctx, cancel
	}
	fourSeconds := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, 4*time.Second)
	}
	type do = []func(context.Context) error
	for name, c := range map[string]struct {
		do      do // of the records, which are at least three
		end     func(context.Context) (context.Context, context.CancelFunc)
		options breaker.Config
		fails   bool
	}{
		"an error":                          {do{fails}, inAMinute, breaker.Config{}, true},
		"RetryAfter":                        {do{returns(batch.RetryAfter(time.Minute, errDown))}, inAMinute, breaker.Config{}, true},
		"Abort":                             {do{returns(batch.Abort(time.Minute, errDown))}, inAMinute, breaker.Config{}, true},
		"Permanent":                         {do{permanent}, inAMinute, breaker.Config{}, false},
		"Permanent between failures":        {do{fails, permanent, fails}, inAMinute, breaker.Config{}, true},
		"malformed":                         {do{returns(&batch.MalformedError{})}, inAMinute, breaker.Config{}, false},
		"410 without a classifier":          {do{gone}, inAMinute, breaker.Config{}, true},
		"410":                               {do{gone}, inAMinute, breaker.Config{Classify: httpstatus.Classify}, false},
		"a classifier that says nothing":    {do{fails}, inAMinute, breaker.Config{Classify: func(err error) error { return err }}, true},
		"a classifier that loses the error": {do{fails}, inAMinute, breaker.Config{Classify: func(error) error { return nil }}, true},
		"the handler's own timeout":         {do{hang(time.Second)}, inAMinute, breaker.Config{}, true},
		"the record's time":                 {do{hang(time.Hour)}, inAMinute, breaker.Config{}, true},
		"the record's time, by choice":      {do{hang(time.Hour)}, inAMinute, breaker.Config{Hang: 61 * time.Second}, false},
		"the record's time, never":          {do{hang(time.Hour)}, inAMinute, breaker.Config{Hang: -1}, false},
		"a success that came too late":      {do{func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Nanosecond); return nil }}, inAMinute, breaker.Config{}, true},
		"a stop":                            {do{func(ctx context.Context) error { <-ctx.Done(); return errDown }}, aMinuteLater, breaker.Config{}, false},
		"little time was left":              {do{func(ctx context.Context) error { <-ctx.Done(); return errDown }}, fourSeconds, breaker.Config{}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDependency(t, gobreaker.Settings{}, c.options)
			for i := range 3 {
				_ = d.handleIn(c.end, c.do[i%len(c.do)])
				synctest.Wait()
			}
			if (d.state == gobreaker.StateOpen) != c.fails {
				t.Errorf("%s: it is %v", name, d.state)
			}
		})
	}
}

// broken is an error whose methods panic when it is a nil pointer.
type broken struct{ err error }

func (b *broken) Error() string { return "broken" }
func (b *broken) Unwrap() error { return b.err }

// A trial is counted whatever the functions do that judge it: else the breaker
// would be half-open forever, and send every record back.
func TestATrialIsCountedInAnyCase(t *testing.T) {
	oops := func(error) bool { panic("oops") }
	for name, c := range map[string]struct {
		settings gobreaker.Settings
		options  breaker.Config
		err      error
	}{
		"an error that is a nil pointer": {err: (*broken)(nil)},
		"Classify panics":                {options: breaker.Config{Classify: func(error) error { panic("oops") }}, err: errDown},
		"IsSuccessful panics":            {settings: gobreaker.Settings{IsSuccessful: oops}, err: errDown},
		"IsExcluded panics":              {settings: gobreaker.Settings{IsExcluded: oops}, err: errDown},
	} {
		for how, after := range map[string]time.Duration{"returned": 0, "hangs": time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				d := newDependency(t, c.settings, c.options)
				d.open()
				time.Sleep(time.Minute + 1)
				err := d.handle(func(ctx context.Context) error {
					if after > 0 {
						<-ctx.Done()
						synctest.Wait()
					}
					return c.err
				})
				if err != c.err || d.state != gobreaker.StateOpen {
					t.Errorf("%s, %s: %v, and it is %v", name, how, err, d.state)
				}
			})
		}
	}
}

// carrier is a handler whose dependency is down at first.
type carrier struct {
	mu      sync.Mutex
	until   time.Time
	takes   time.Duration
	down    int // calls while it was down
	shipped []string
}

func (c *carrier) Handle(_ context.Context, r batch.Record) error {
	time.Sleep(c.takes)
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		c.down++
		return errDown
	}
	c.shipped = append(c.shipped, r.Body)
	return nil
}

// An outage of three minutes: with the breaker the records outlive it, and the
// dependency is asked a few times. In a container nothing is received while the breaker
// is open, so the outage costs an attempt a minute only of the few records that are held.
func TestAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		records, down, deliveries int // the last two at most
		takes                     time.Duration
		run                       func(*testqueue.Queue, batch.Handler)
	}{
		"on Lambda": {20, 8, 100, 0, func(q *testqueue.Queue, h batch.Handler) {
			q.Map(10*time.Minute, q.Lambda(h, handler.Config{Concurrency: 1, Failures: partialfailure.Config{Backoff: func(int) time.Duration { return 5 * time.Second }}}).Invoke)
		}},
		"in a container": {300, 15, 400, 50 * time.Millisecond, func(q *testqueue.Queue, h batch.Handler) {
			q.Poll(context.Background(), 10*time.Minute, h, handler.Config{Concurrency: 5})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, dependency := testqueue.New(t, testqueue.Standard), &carrier{until: time.Now().Add(3 * time.Minute), takes: c.takes}
				for i := range c.records {
					q.Send(fmt.Sprint("o-", i))
				}
				c.run(q, breaker.New(gobreaker.Settings{Timeout: time.Minute})(dependency))
				left, dead := q.Left()
				if left != 0 || dead != 0 || len(dependency.shipped) != c.records || dependency.down > c.down {
					t.Errorf("%d calls while it was down, %d shipped, %d left, %d dead letters", dependency.down, len(dependency.shipped), left, dead)
				}
				if n := len(q.Events(sqs.Received)); n > c.deliveries {
					t.Errorf("%d deliveries of %d records", n, c.records)
				}
			})
		})
	}
}
