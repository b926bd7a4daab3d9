package settle

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

const (
	leastBackoff   = time.Second     // below that, a dependency that is down is hammered
	firstBackoff   = 2 * time.Second // of a schedule, where the outage leaves room for it
	leastJitter    = 3 * time.Second
	unknownReceive = 5 // maxReceiveCount, where the queue's is not known: what AWS recommends at least
)

// Wait returns the time from a record's failure until it comes back, in whole seconds as
// SQS counts them: the time that its error asks for, or else [Policy.Backoff]. An abort
// that asks for less than that gets that, since a dependency that is down must not use up
// the record's attempts. Exception: 0 stays 0.
func (p *Policy) Wait(r *batch.Record, verdict batch.Verdict, failedAt time.Time) time.Duration {
	if verdict.HasAfter && (!verdict.Aborts || verdict.After == 0) {
		return WholeSeconds(verdict.After)
	}
	return WholeSeconds(max(verdict.After, p.Backoff(r, failedAt)))
}

// Backoff returns the time from a record's failure until it comes back, if the record's
// error asks for no time. It is what [partialfailure.Config].Backoff returns, at least 1 s,
// or 1 s if that panics. Without that function it is the time that survives
// [partialfailure.Config].Outage.
func (p *Policy) Backoff(r *batch.Record, failedAt time.Time) time.Duration {
	if p.cfg.Backoff != nil {
		return p.configured(max(r.Attempt, 1))
	}
	most, known := p.maxReceiveCount(r.QueueARN)
	switch {
	case !known:
		most = unknownReceive
	case most == 1 && r.Attempt <= 1:
		return 0 // nothing comes after it that could be put off, unless the configuration is wrong
	}
	d := p.schedule.delay(r.Attempt, most)
	if r.Attempt == most-1 && !r.FirstReceivedAt.IsZero() {
		// Receives that were not attempts (not started, skipped, throttled) have used up
		// attempts of the schedule, but not its time.
		since := max(0, failedAt.Sub(r.FirstReceivedAt))
		d = max(d, WholeSeconds(p.cfg.Outage-since))
	}
	return jittered(d, r)
}

// configured calls Config.Backoff, which may panic.
func (p *Policy) configured(attempt int) (d time.Duration) {
	defer func() {
		if recover() != nil {
			d = leastBackoff
		}
	}()
	return max(leastBackoff, p.cfg.Backoff(attempt))
}

// WholeSeconds rounds up to whole seconds, and down to SQS's limit.
func WholeSeconds(d time.Duration) time.Duration {
	return (min(d, MaxVisibility) + time.Second - 1).Truncate(time.Second)
}

// Delays returns the longest times between the attempts of a record that keeps failing, on a
// queue with that maxReceiveCount, for an outage of that length: with all of the jitter.
func Delays(outage time.Duration, maxReceiveCount int) []time.Duration {
	s := schedule{outage: outage}
	list := slices.Clone(s.delays(maxReceiveCount))
	for i, d := range list {
		list[i] = longest(d)
	}
	return list
}

// schedule spaces the attempts of a record so that it outlives an outage: its
// delays add up to the outage at least before SQS moves it to the dead-letter
// queue. They grow by a constant ratio, so that a short failure costs little time
// and a long one few calls.
type schedule struct {
	outage time.Duration
	tried  sync.Map // delays by maxReceiveCount
	said   sync.Map // queues, see Schedule
}

// delay is the least time until a record comes back that failed at an attempt,
// counted from 1, in whole seconds. most is the queue's maxReceiveCount, 0 for a
// queue without RedrivePolicy; a queue that allows one attempt has no delays.
func (s *schedule) delay(attempt, most int) time.Duration {
	attempt = max(attempt, 1)
	if delays := s.delays(most); attempt <= len(delays) {
		return delays[attempt-1]
	}
	return min(firstBackoff<<min(attempt-1, 30), s.outage)
}

// delays are those between the attempts of a queue with that maxReceiveCount.
func (s *schedule) delays(most int) []time.Duration {
	if most < 2 {
		return nil
	}
	if list, ok := s.tried.Load(most); ok {
		return list.([]time.Duration)
	}
	list := delaysOver(s.outage, most-1)
	s.tried.Store(most, list)
	return list
}

// delaysOver returns n delays that add up to outage at least, each longer than the one
// before by the same ratio, the least that will do, and then rounded up to seconds.
func delaysOver(outage time.Duration, n int) []time.Duration {
	if n == 1 {
		return []time.Duration{WholeSeconds(outage)}
	}
	first := max(min(firstBackoff, outage/time.Duration(n)), time.Second)
	list := make([]time.Duration, n)
	fill := func(ratio float64) (sum time.Duration) {
		for k := range list {
			d := min(float64(first)*math.Pow(ratio, float64(k)), float64(outage))
			list[k] = WholeSeconds(time.Duration(d).Round(time.Millisecond)) // the ratio is not exact
			sum += time.Duration(d)
		}
		return sum
	}
	low, high := 1.0, max(1, float64(outage)/float64(first))
	for high-low > 1e-9*low {
		if middle := (low + high) / 2; fill(middle) < outage {
			low = middle
		} else {
			high = middle
		}
	}
	fill(high)
	return list
}

// jittered is a delay with a part by chance added: whole seconds, since SQS counts
// those, up to half of the delay and up to 3 s at least, so that records that
// failed together do not come back together. A hash of the message's id and the
// attempt draws it, so that a run can be repeated. Records of a FIFO group share
// theirs, to come back together.
func jittered(d time.Duration, r *batch.Record) time.Duration {
	key := r.MessageID
	if r.FIFO() {
		key = r.GroupID
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", key, r.Attempt)
	choices := uint64((longest(d)-d)/time.Second) + 1
	draw := rand.New(rand.NewPCG(h.Sum64(), 0))
	return d + time.Duration(draw.Uint64N(choices))*time.Second
}

// longest is what jitter can make of a delay of whole seconds.
func longest(d time.Duration) time.Duration { return d + max(d/2, leastJitter).Truncate(time.Second) }

// AdvisedReceives is the least maxReceiveCount that AWS advises: "Creating and configuring an
// Amazon SQS event source mapping". An invocation that is throttled takes a receive, too.
const AdvisedReceives = 5

// Schedule describes how long a failing record is retried, the first time that the
// maxReceiveCount of the queue with an ARN is known. After that, and if
// [partialfailure.Config].Backoff decides, it returns "".
func (p *Policy) Schedule(arn string) string {
	most, known := p.maxReceiveCount(arn)
	if !known || p.cfg.Backoff != nil {
		return ""
	}
	if _, said := p.schedule.said.LoadOrStore(arn, true); said {
		return ""
	}
	switch most {
	case 0:
		return fmt.Sprintf("the queue has no RedrivePolicy: a record that fails is retried until it expires, with at most %v between attempts", longest(p.cfg.Outage))
	case 1:
		return fmt.Sprintf("maxReceiveCount is 1: a record that fails is not retried; AWS recommends at least %d", AdvisedReceives)
	}
	var sum time.Duration
	for _, d := range p.schedule.delays(most) {
		sum += d
	}
	text := fmt.Sprintf("a record that fails gets %d attempts over at least %v", most, sum)
	if most < AdvisedReceives {
		text += fmt.Sprintf("; AWS recommends a maxReceiveCount of at least %d", AdvisedReceives)
	}
	return text
}

// MaxVisibility is the longest time that SQS allows from the receipt of a message until it
// is visible again. A ChangeMessageVisibility beyond it is an error, see "Amazon SQS
// visibility timeout" in the Developer Guide.
const MaxVisibility = 12 * time.Hour

// maxWindow is the longest time for which Lambda may have had a message before the
// invocation began: the longest batching window, and some more.
const maxWindow = 5*time.Minute + 30*time.Second

// callMargin is left of the 12 hours for the call itself and for clocks that differ.
const callMargin = 5 * time.Second

// timeout returns the visibility timeout that makes a record visible at the right time: SQS
// counts it from the call, the backoff counts from the failure.
func (j *job) timeout(now time.Time) time.Duration {
	left, limited := Timeout(j.visibleIn, now.Sub(j.failedAt), now.Sub(j.received))
	if limited {
		j.visibleIn = left + now.Sub(j.failedAt).Truncate(time.Second)
	}
	return left
}

// Timeout returns the visibility timeout, counted from now, of a record that comes back at a time
// counted from its failure. It also reports whether SQS's limit, counted from the receipt, made it
// shorter.
func Timeout(visibleIn, sinceFailure, sinceReceipt time.Duration) (left time.Duration, limited bool) {
	left = WholeSeconds(max(0, visibleIn-sinceFailure))
	most := max(0, (MaxVisibility - sinceReceipt - callMargin).Truncate(time.Second))
	return min(left, most), left > most
}
