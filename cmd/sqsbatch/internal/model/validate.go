package model

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Limits of a scenario.
const (
	mostMessages = 20_000_000
	mostTasks    = 5_000
	day          = 24 * time.Hour
)

// checks collects the first error.
type checks struct{ err error }

func (c *checks) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("scenario: "+format, args...)
	}
}

// within checks a number.
func within[N int | float64 | time.Duration](c *checks, field string, value, least, most N) {
	if !(value >= least && value <= most) { // also NaN
		c.fail("%s is %v: need %v to %v", field, value, least, most)
	}
}

// validate returns an error that names a field, its value and what is allowed. The scenario has its defaults.
func (s *Scenario) validate() error {
	c := &checks{}
	within(c, "For", s.For, time.Second, 14*day)
	s.validateQueue(c)
	if (s.Mapping == nil) == (s.Containers == nil) {
		c.fail("Mapping is %v and Containers is %v: set one of them", s.Mapping, s.Containers)
	}
	if c.err == nil && s.Mapping != nil {
		s.validateMapping(c)
	}
	if c.err == nil && s.Containers != nil {
		s.Containers.validate(c)
	}
	s.Toolkit.validate(c)
	s.Work.validate(c)
	s.Load.validate(c, s.For)
	for i := range s.Troubles {
		s.Troubles[i].validate(c, fmt.Sprintf("Troubles[%d]", i))
	}
	for i := range s.Alarms {
		s.Alarms[i].validate(c, fmt.Sprintf("Alarms[%d]", i))
	}
	p := s.Prices
	for _, price := range []struct {
		field string
		value float64
	}{
		{"Requests", p.Requests}, {"FIFORequests", p.FIFORequests}, {"Invocations", p.Invocations}, {"GBSecond", p.GBSecond},
		{"PollerHour", p.PollerHour}, {"TaskHour", p.TaskHour},
	} {
		within(c, "Prices."+price.field, price.value, 0, 1e6)
	}
	return c.err
}

func (s *Scenario) validateQueue(c *checks) {
	q := s.Queue
	within(c, "Queue.Visibility", q.Visibility, 0, 12*time.Hour)
	within(c, "Queue.Delay", q.Delay, 0, 15*time.Minute)
	within(c, "Queue.Retention", q.Retention, time.Minute, 14*day)
	within(c, "Queue.MaxReceiveCount", q.MaxReceiveCount, 0, 1000)
}

func (s *Scenario) validateMapping(c *checks) {
	m, f, fifo := s.Mapping, s.Function, s.Queue.FIFO
	within(c, "Mapping.BatchSize", m.BatchSize, 1, 10_000)
	within(c, "Mapping.Window", m.Window, 0, 300*time.Second)
	within(c, "Mapping.Pollers", m.Pollers, 0, 1000)
	if m.MaximumConcurrency != 0 {
		within(c, "Mapping.MaximumConcurrency", m.MaximumConcurrency, 2, 1000)
	}
	if m.MinimumPollers != 0 || m.MaximumPollers != 0 {
		within(c, "Mapping.MinimumPollers", m.MinimumPollers, 2, 200)
		within(c, "Mapping.MaximumPollers", m.MaximumPollers, max(2, m.MinimumPollers), 10_000)
	}
	switch {
	case m.Window%time.Second != 0:
		c.fail("Mapping.Window is %v: need whole seconds", m.Window)
	case fifo && m.BatchSize > 10:
		c.fail("Mapping.BatchSize is %d: a FIFO queue takes at most 10", m.BatchSize)
	case fifo && m.Window > 0:
		c.fail("Mapping.Window is %v: a FIFO queue takes none", m.Window)
	case fifo && m.Pollers > 1:
		c.fail("Mapping.Pollers is %d: a FIFO queue takes one", m.Pollers)
	case m.BatchSize > 10 && m.Window == 0:
		c.fail("Mapping.Window is 0: a BatchSize of %d needs at least 1s", m.BatchSize)
	case m.MaximumPollers > 0 && m.MaximumConcurrency > 0:
		c.fail("Mapping.MaximumConcurrency is %d and MaximumPollers is %d: set one of them", m.MaximumConcurrency, m.MaximumPollers)
	case m.MaximumPollers > 0 && m.Pollers > 0:
		c.fail("Mapping.Pollers is %d and MaximumPollers is %d: set one of them", m.Pollers, m.MaximumPollers)
	}
	within(c, "Function.Timeout", f.Timeout, time.Second, 15*time.Minute)
	if f.Timeout > s.Queue.Visibility {
		c.fail("Function.Timeout is %v: need at most Queue.Visibility, %v", f.Timeout, s.Queue.Visibility)
	}
	within(c, "Function.MemoryMB", f.MemoryMB, 128, 10_240)
	within(c, "Function.Reserved", f.Reserved, 0, 1_000_000)
	within(c, "Function.AccountLimit", f.AccountLimit, 1, 1_000_000)
	within(c, "Function.Init", f.Init, 0, 10*time.Second)
}

func (t *Toolkit) validate(c *checks) {
	within(c, "Toolkit.Concurrency", t.Concurrency, 1, 10_000)
	within(c, "Toolkit.Reserve", t.Reserve, 0, 15*time.Minute)
	within(c, "Toolkit.RecordTimeout", t.RecordTimeout, 0, 12*time.Hour-time.Minute)
	within(c, "Toolkit.MinRemaining", t.MinRemaining, 0, 15*time.Minute)
	within(c, "Toolkit.Grace", t.Grace, 0, 15*time.Minute)
	if t.Outage != 0 {
		within(c, "Toolkit.Outage", t.Outage, time.Second, 7*time.Hour)
	}
	if t.BackoffBase != 0 {
		within(c, "Toolkit.BackoffBase", t.BackoffBase, time.Millisecond, 12*time.Hour)
		within(c, "Toolkit.BackoffCap", t.BackoffCap, time.Second, 12*time.Hour)
		if t.Outage != 0 {
			c.fail("Toolkit.Outage is %v and BackoffBase is %v: set one of them", t.Outage, t.BackoffBase)
		}
	}
	if known := []partialfailure.OnPermanent{partialfailure.DeadLetter, partialfailure.Retry, partialfailure.Drop}; !slices.Contains(known, t.OnPermanent) {
		c.fail("Toolkit.OnPermanent is %q: need one of %q", t.OnPermanent, known)
	}
}

func (w *Work) validate(c *checks) {
	d := &w.Durations
	within(c, "Work.Durations.Constant", d.Constant, 0, longest)
	within(c, "Work.Durations.P50", d.P50, 0, longest)
	if d.P50 > 0 || d.P99 != 0 {
		within(c, "Work.Durations.P99", d.P99, max(d.P50, 1), longest)
		within(c, "Work.Durations.P50", d.P50, 1, longest)
	}
	set := 0
	for _, one := range []bool{d.Constant > 0, d.P50 > 0, d.Quantiles != nil} {
		if one {
			set++
		}
	}
	if set > 1 {
		c.fail("Work.Durations has several of Constant, P50 and Quantiles: set one of them")
	}
	if d.Quantiles != nil {
		within(c, "the number of Work.Durations.Quantiles", len(d.Quantiles), 2, 10_001)
		for k, q := range d.Quantiles {
			least := time.Duration(0)
			if k > 0 {
				least = d.Quantiles[k-1]
			}
			within(c, fmt.Sprintf("Work.Durations.Quantiles[%d]", k), q, least, longest)
		}
	}
	w.Outcomes.validate(c, "Work.Outcomes")
	w.Poison.validate(c, "Work.Poison")
	within(c, "Work.RetryAfter", w.RetryAfter, 0, 12*time.Hour)
}

func (s *Shares) validate(c *checks, field string) {
	for _, share := range []struct {
		name  string
		value float64
	}{{"Retry", s.Retry}, {"Permanent", s.Permanent}, {"Hang", s.Hang}, {"Crash", s.Crash}} {
		within(c, field+"."+share.name, share.value, 0, 1)
	}
	if sum := s.Retry + s.Permanent + s.Hang + s.Crash; sum > 1+1e-9 {
		c.fail("%s adds up to %v: need at most 1", field, sum)
	}
}

func (l *Load) validate(c *checks, end time.Duration) {
	within(c, "the number of Load.Points", len(l.Points), 0, 100_000)
	for k, p := range l.Points {
		least := time.Duration(0)
		if k > 0 {
			least = l.Points[k-1].At + 1
		}
		within(c, fmt.Sprintf("Load.Points[%d].At", k), p.At, least, 14*day)
		within(c, fmt.Sprintf("Load.Points[%d].PerSecond", k), p.PerSecond, 0, 1e6)
	}
	sum := 0.0
	within(c, "the number of Load.Bursts", len(l.Bursts), 0, 100_000)
	for k, b := range l.Bursts {
		within(c, fmt.Sprintf("Load.Bursts[%d].At", k), b.At, 0, 14*day)
		within(c, fmt.Sprintf("Load.Bursts[%d].Messages", k), b.Messages, 1, mostMessages)
		sum += float64(b.Messages)
	}
	within(c, "Load.Bytes", l.Bytes, 1, 1<<20)
	within(c, "Load.Groups", l.Groups, 1, 1_000_000)
	within(c, "Load.SendBatch", l.SendBatch, 1, 10)
	if c.err == nil {
		if sum += rates(l.Points).expected(end); sum > mostMessages {
			c.fail("Load has %.0f messages in %v: need at most %d. Lower the rate or For", math.Round(sum), end, mostMessages)
		}
	}
}

func (t *Trouble) validate(c *checks, field string) {
	within(c, field+".From", t.From, 0, 14*day)
	within(c, field+".Until", t.Until, t.From+1, 28*day)
	within(c, field+".Share", t.Share, 0, 1)
	within(c, field+".Took", t.Took, 0, longest)
	switch t.Kind {
	case Errors, Hangs, Permanents, Crashes:
	case Slow:
		within(c, field+".Factor", t.Factor, 1e-6, 1e6)
	case Aborts:
		within(c, field+".After", t.After, 0, 12*time.Hour)
	case Kills:
		within(c, field+".Every", t.Every, time.Second, 14*day)
	case Throttle:
		within(c, field+".Concurrency", t.Concurrency, 0, 1_000_000)
	default:
		c.fail("%s.Kind is %q: need one of %q", field, t.Kind, []Kind{Errors, Hangs, Slow, Aborts, Permanents, Crashes, Kills, Throttle})
	}
}

func (a *Alarm) validate(c *checks, field string) {
	if !slices.Contains(metrics, a.Metric) {
		c.fail("%s.Metric is %q: need one of %q", field, a.Metric, metrics)
	}
	within(c, field+".Threshold", a.Threshold, -1e12, 1e12)
	within(c, field+".Period", a.Period, time.Minute, day)
	if a.Period%time.Minute != 0 {
		c.fail("%s.Period is %v: need whole minutes", field, a.Period)
	}
	within(c, field+".Periods", a.Periods, 1, 1440)
	within(c, field+".Datapoints", a.Datapoints, 1, a.Periods)
}
