package model

import (
	"math"
	"slices"
	"time"
)

// steps are the times between two samples.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute,
	2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour,
}

// mostSamples is the most samples of a report, but for the first.
const mostSamples = 600

// sampleEvery returns the time between two samples of a run.
func sampleEvery(run time.Duration) time.Duration {
	every := steps[len(steps)-1]
	for _, step := range slices.Backward(steps) {
		if run/step <= mostSamples {
			every = step
		}
	}
	return every
}

func (s *sim) startSamples() {
	every := sampleEvery(s.s.For)
	s.r.Every = round(every)
	var next func()
	next = func() {
		s.sample()
		s.after(every, next)
	}
	s.at(0, next)
	for i := range s.s.Alarms {
		s.alarms = append(s.alarms, &alarm{sim: s, Alarm: &s.s.Alarms[i], since: -1})
	}
	if len(s.alarms) > 0 {
		s.at(time.Minute, s.minute)
	}
}

// sample adds a sample of now.
func (s *sim) sample() {
	q, t := &s.queue, s.r.Totals
	sample := Sample{
		At: round(s.now), Visible: q.visible, Delayed: q.delayed, InFlight: q.inFlight, Age: round(q.age()), DeadLetters: t.DeadLetters,
		Concurrency: s.concurrent(), Tasks: s.tasks.count(),
		Sent: t.Sent - s.sampled.Sent, Handled: t.Handled - s.sampled.Handled, Throttles: t.Throttles - s.sampled.Throttles,
		Failed: s.failed - s.failedThen,
	}
	s.sampled, s.failedThen = t, s.failed
	s.r.Samples = append(s.r.Samples, sample)
	age := time.Duration(0)
	if m := q.oldest(); m != nil {
		age = s.now - m.sent
	}
	s.oldest = append(s.oldest, round(age))
	s.peak(&s.r.Peaks.Age, round(age))
	s.peak(&s.r.Peaks.Tasks, float64(sample.Tasks))
}

// concurrent returns the number of invocations, or of handlers of all tasks.
func (s *sim) concurrent() int {
	if s.mapping != nil {
		return s.mapping.busy
	}
	return s.handlers
}

// peak notes a value that may be the highest.
func (s *sim) peak(p *Peak, value float64) {
	if value > p.Value {
		p.Value, p.At = value, round(s.now)
	}
}

// note notes the state after it may have changed.
func (s *sim) note() {
	q, p := &s.queue, &s.r.Peaks
	s.peak(&p.Backlog, float64(q.visible))
	s.peak(&p.InFlight, float64(q.inFlight))
	s.peak(&p.Concurrency, float64(s.concurrent()))
	switch held := q.inFlight >= s.rules.quota && q.visible > 0; {
	case held && s.quotaSince < 0:
		if s.quotaSince = s.now; p.AtQuota == 0 {
			p.QuotaFrom = round(s.now)
		}
	case !held && s.quotaSince >= 0:
		p.AtQuota, p.QuotaUntil = p.AtQuota+round(s.now-s.quotaSince), round(s.now)
		s.quotaSince = -1
	}
}

// finishReport completes the report at the end of the run.
func (s *sim) finishReport() {
	r, q := s.r, &s.queue
	r.Seconds = round(s.s.For)
	r.Totals.Left = q.visible + q.delayed + q.inFlight
	if s.quotaSince >= 0 {
		r.Peaks.AtQuota += round(s.now - s.quotaSince)
		r.Peaks.QuotaUntil = round(s.now)
	}
	r.Peaks.AtQuota = math.Round(r.Peaks.AtQuota*1000) / 1000
	r.Totals.Latency = quantiles(s.latencies)
	r.Totals.GBSeconds = math.Round(r.Totals.GBSeconds*1000) / 1000
	r.Totals.PollerHours = math.Round(r.Totals.PollerHours*1000) / 1000
	s.finishPeaks()
	for _, a := range s.alarms {
		a.finish()
	}
	slices.SortStableFunc(r.Rings, func(a, b Ring) int { return int(a.From - b.From) })
	s.price()
	r.Assumptions = s.assumptions()
}

// finishPeaks finds out when each peak was over.
func (s *sim) finishPeaks() {
	p := &s.r.Peaks
	for _, of := range []struct {
		*Peak
		value func(i int) float64
	}{
		{&p.Backlog, func(i int) float64 { return float64(s.r.Samples[i].Visible) }},
		{&p.Age, func(i int) float64 { return s.oldest[i] }},
		{&p.InFlight, func(i int) float64 { return float64(s.r.Samples[i].InFlight) }},
		{&p.Concurrency, func(i int) float64 { return float64(s.r.Samples[i].Concurrency) }},
		{&p.Tasks, func(i int) float64 { return float64(s.r.Samples[i].Tasks) }},
	} {
		of.Over = -1
		for i := range s.r.Samples {
			if at := s.r.Samples[i].At; at > of.At && of.value(i) <= of.Value/10 {
				of.Over = at
				break
			}
		}
	}
}

// quantiles sorts a list, and returns its quantiles.
func quantiles(list []time.Duration) (q Quantiles) {
	if len(list) == 0 {
		return q
	}
	slices.Sort(list)
	at := func(p float64) float64 { return round(list[int(p*float64(len(list)-1))]) }
	return Quantiles{P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}
}

// charge counts the time of an invocation, with its initialization, which AWS bills by the millisecond.
func (s *sim) charge(d time.Duration) {
	ms := (d + time.Millisecond - 1) / time.Millisecond
	s.r.Totals.GBSeconds += float64(ms) / 1000 * float64(s.s.Function.MemoryMB) / 1024
}

// price works out the cost.
func (s *sim) price() {
	p, t, c := s.s.Prices, &s.r.Totals, &s.r.Cost
	request := p.Requests
	if s.s.Queue.FIFO {
		request = p.FIFORequests
	}
	cents := func(dollars float64) float64 { return math.Round(dollars*1e6) / 1e6 }
	c.Requests, c.Sends = cents(float64(t.Requests.Billed)*request/1e6), cents(float64(s.billedSend)*request/1e6)
	c.Invocations, c.GBSeconds = cents(float64(t.Invocations)*p.Invocations/1e6), cents(t.GBSeconds*p.GBSecond)
	c.Pollers, c.Tasks = cents(t.PollerHours*p.PollerHour), cents(t.TaskHours*p.TaskHour)
	c.Total = cents(c.Requests + c.Invocations + c.GBSeconds + c.Pollers + c.Tasks)
}
