package model

import (
	"math"
	"math/rand/v2"
	"time"
)

// rates is the rate over time: straight lines between points.
type rates []Point

// at returns the rate at a time, in messages a second.
func (r rates) at(t time.Duration) float64 {
	for i, p := range r {
		if t < p.At {
			if i == 0 {
				return p.PerSecond
			}
			before := r[i-1]
			part := float64(t-before.At) / float64(p.At-before.At)
			return before.PerSecond + part*(p.PerSecond-before.PerSecond)
		}
	}
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1].PerSecond
}

// next returns the time until which the line at t goes on.
func (r rates) next(t time.Duration) time.Duration {
	for _, p := range r {
		if p.At > t {
			return p.At
		}
	}
	return math.MaxInt64
}

// before returns a rate just before the time t, at the end of a line.
func (r rates) before(t time.Duration) float64 { return r.at(t - 1) }

// expected returns how many messages arrive until end, on average.
func (r rates) expected(end time.Duration) (sum float64) {
	for t := time.Duration(0); t < end; {
		next := min(r.next(t), end)
		sum += (r.at(t) + r.before(next)) / 2 * (next - t).Seconds()
		t = next
	}
	return sum
}

// arrival returns the time of the next message after t, math.MaxInt64 for never. need is the number
// of messages on average until then, which is drawn.
func (r rates) arrival(t time.Duration, need float64) time.Duration {
	for {
		next, rate := r.next(t), r.at(t)
		if next == math.MaxInt64 {
			if rate == 0 {
				return next
			}
			if d := need / rate * float64(time.Second); d < float64(next-t) {
				return t + time.Duration(d)
			}
			return next
		}
		seconds := (next - t).Seconds()
		slope := (r.before(next) - rate) / seconds
		area := rate*seconds + slope*seconds*seconds/2
		if need >= area {
			need -= area
			t = next
			continue
		}
		// rate·x + slope·x²/2 = need
		x := 2 * need / (rate + math.Sqrt(rate*rate+2*slope*need))
		return min(t+max(1, time.Duration(x*float64(time.Second))), next)
	}
}

// arrive sends the messages of the load.
func (s *sim) arrive() {
	for _, b := range s.s.Load.Bursts {
		s.at(b.At, func() { s.send(b.Messages) })
	}
	next := s.s.arrivals()
	var schedule func()
	schedule = func() {
		if at, ok := next(); ok {
			s.at(at, func() {
				s.send(1)
				schedule()
			})
		}
	}
	schedule()
}

// arrivals returns the times of the messages that arrive one by one.
func (s *Scenario) arrivals() func() (at time.Duration, ok bool) {
	random, points, at := rand.New(rand.NewPCG(s.Seed, 1)), rates(s.Load.Points), time.Duration(0)
	return func() (time.Duration, bool) {
		at = points.arrival(at, random.ExpFloat64())
		return at, at < s.For
	}
}

// send sends messages at once.
func (s *sim) send(n int) {
	for range n {
		s.queue.send(s.sent)
		s.sent++
	}
	t := &s.r.Totals
	t.Sent += n
	t.Requests.Send += ceil(n, s.s.Load.SendBatch)
	s.billedSend += n/s.s.Load.SendBatch*s.chunks(s.s.Load.SendBatch) + min(1, n%s.s.Load.SendBatch)*s.chunks(n%s.s.Load.SendBatch)
	s.queue.serve()
}

// ceil returns n ÷ size, rounded up.
func ceil(n, size int) int { return (n + size - 1) / size }
