package model

import (
	"math"
	"time"
)

// purpose separates the draws of a message's attempt.
type purpose uint64

const (
	ofDuration purpose = iota + 1
	ofOutcome
	ofPoison
	ofGroup
	ofTrouble // plus the trouble's position
)

// chance returns a number from 0 to 1, below 1. It depends on its arguments alone, so a change of a
// setting does not change what happens to a message: scenarios can be compared.
func chance(seed uint64, message, attempt int, p purpose) float64 {
	x := mix(mix(mix(mix(seed)+uint64(message))+uint64(attempt)) + uint64(p))
	return float64(x>>11) / (1 << 53)
}

// mix is the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// at returns the duration at a probability, from 0 to 1.
func (d *Durations) at(p float64) time.Duration {
	switch {
	case len(d.Quantiles) > 0:
		place := p * float64(len(d.Quantiles)-1)
		k := min(int(place), len(d.Quantiles)-2)
		low, high := d.Quantiles[k], d.Quantiles[k+1]
		return low + time.Duration((place-float64(k))*float64(high-low))
	case d.P50 > 0:
		sigma := math.Log(float64(d.P99)/float64(d.P50)) / z99
		z := math.Sqrt2 * math.Erfinv(min(max(2*p-1, -1+1e-15), 1-1e-15))
		return time.Duration(min(float64(d.P50)*math.Exp(sigma*z), float64(longest)))
	}
	return d.Constant
}

// outcome is how an attempt ends.
type outcome uint8

const (
	succeeds outcome = iota
	retries
	isPermanent
	hangs
	crashes
	aborts
)

// of returns the outcome at a probability.
func (s *Shares) of(p float64) outcome {
	for _, part := range [...]struct {
		share float64
		outcome
	}{{s.Retry, retries}, {s.Permanent, isPermanent}, {s.Hang, hangs}, {s.Crash, crashes}} {
		if p < part.share {
			return part.outcome
		}
		p -= part.share
	}
	return succeeds
}

// attempt is what a handler does with a record.
type attempt struct {
	outcome
	takes time.Duration
	after time.Duration // that RetryAfter or Abort asks for; negative for none
	own   bool          // the message's own fault, not a trouble's
}

// attemptOf returns the attempt of a message that begins at a time. It depends on its arguments alone.
func (s *Scenario) attemptOf(message, number int, at time.Duration) attempt {
	a := attempt{after: -1}
	a.takes = s.Work.Durations.at(chance(s.Seed, message, number, ofDuration))
	if a.outcome = s.Work.Poison.of(chance(s.Seed, message, 0, ofPoison)); a.outcome == succeeds {
		a.outcome = s.Work.Outcomes.of(chance(s.Seed, message, number, ofOutcome))
	}
	a.own = a.outcome != succeeds
	if a.outcome == retries && s.Work.RetryAfter > 0 {
		a.after = s.Work.RetryAfter
	}
	for i := range s.Troubles {
		t := &s.Troubles[i]
		if at >= t.From && at < t.Until && t.Share > chance(s.Seed, message, number, ofTrouble+purpose(i)) {
			t.change(&a)
		}
	}
	return a
}

// change applies a trouble to an attempt in its time. The first trouble that makes an attempt fail
// decides how.
func (t *Trouble) change(a *attempt) {
	if t.Kind == Slow {
		a.takes = time.Duration(min(float64(a.takes)*t.Factor, float64(longest)))
	}
	o, ok := failures[t.Kind]
	if !ok || a.outcome != succeeds && !a.own {
		return
	}
	a.outcome, a.own, a.after = o, false, -1
	if o == aborts {
		a.after = t.After
	}
	if t.Took > 0 {
		a.takes = t.Took
	}
}

var failures = map[Kind]outcome{Errors: retries, Hangs: hangs, Aborts: aborts, Permanents: isPermanent, Crashes: crashes}

// longest limits the time of an attempt.
const longest = 12 * time.Hour
