package model

import (
	"cmp"
	"slices"
	"time"
)

// mapping is an event source mapping with its function, by the rules of emulator/lambda. Lambda's own
// number of pollers and of invocations at a time follows "Configuring scaling behavior for SQS event
// source mappings".
type mapping struct {
	*sim
	most    int // records of a batch
	slots   int // batches at a time, from before the first receive
	limit   int // of slots
	highest int // slots since the latest change of the limit
	idle    ring[*poller]
	pollers int // provisioned

	busy         int             // environments that run an invocation
	environments []time.Duration // idle ones, by the time of their latest use
	throttled    ring[*gathered]
	running      ring[*running] // for Kills, the one that began first is the first
}

// running is an invocation with its environment.
type running struct {
	*invocation
	over bool
}

// poller gathers batches, one after another.
type poller struct {
	*mapping
	batch  []delivery
	window time.Duration // the end of the batching window
}

// gathered is a batch that waits for an environment.
type gathered struct {
	list  []delivery
	begun bool   // or all of it has expired
	after func() // is called then
}

// startMapping starts the pollers.
func (s *sim) startMapping() {
	cfg := s.s.Mapping
	m := &mapping{sim: s, most: min(cfg.BatchSize, max(1, maxPayload/(s.s.Load.Bytes+recordBytes)))}
	s.mapping = m
	pollers := cfg.Pollers
	switch {
	case cfg.Pollers > 0:
		m.limit = cmp.Or(cfg.MaximumConcurrency, maxSlots)
	case cfg.MaximumPollers > 0:
		m.pollers, pollers = cfg.MinimumPollers, cfg.MinimumPollers
		m.limit = m.pollers * s.rules.perPoller
		m.after(time.Second, m.provision)
	default:
		pollers = s.rules.pollers
		if s.s.Queue.FIFO {
			pollers = 1
		}
		m.limit = s.rules.pollers
		if most := cfg.MaximumConcurrency; most > 0 {
			m.limit = min(m.limit, most)
		}
		m.after(time.Second, m.scale)
	}
	for i := range s.s.Troubles {
		if t := &s.s.Troubles[i]; t.Kind == Throttle {
			s.at(t.Until, m.retry)
		}
	}
	for range pollers {
		(&poller{mapping: m}).poll()
	}
}

// scale changes the limit of batches at a time, once a second: it rises while messages wait and all are
// in use, by up to 300 a minute. It falls to what was in use, each minute.
func (m *mapping) scale() {
	most := cmp.Or(m.s.Mapping.MaximumConcurrency, m.rules.maxScale)
	if m.slots >= m.limit && m.queue.visible > 0 && m.throttled.len() == 0 {
		m.limit = min(most, m.limit+m.rules.scaleBy)
		m.wake()
	} else if int(m.now/time.Second)%60 == 0 {
		m.limit = max(min(m.rules.pollers, most), m.highest)
		m.highest = m.slots
	}
	m.after(time.Second, m.scale)
}

// provision changes the number of provisioned pollers, once a second.
func (m *mapping) provision() {
	cfg := m.s.Mapping
	m.r.Totals.PollerHours += float64(m.pollers) / 3600
	if m.slots >= m.limit && m.queue.visible > 0 && m.throttled.len() == 0 {
		m.pollers = min(cfg.MaximumPollers, m.pollers+m.rules.provisionBy)
	} else if int(m.now/time.Second)%60 == 0 {
		m.pollers = max(cfg.MinimumPollers, ceil(m.highest, m.rules.perPoller))
		m.highest = m.slots
	}
	m.limit = m.pollers * m.rules.perPoller
	m.wake()
	m.after(time.Second, m.provision)
}

// wake has pollers go on that wait for a slot.
func (m *mapping) wake() {
	for m.slots < m.limit && m.idle.len() > 0 {
		m.slots++
		m.highest = max(m.highest, m.slots)
		m.idle.pop().collect()
	}
}

// free gives a slot back.
func (m *mapping) free() {
	m.slots--
	m.after(0, m.wake)
}

// poll gathers the next batch when there is a slot.
func (p *poller) poll() {
	p.idle.push(p)
	p.wake()
}

// collect receives until the batch is full or its window is over.
func (p *poller) collect() {
	if len(p.batch) == 0 {
		p.receive(p.rules.longPoll, p.received)
		return
	}
	switch left := p.window - p.now; {
	case len(p.batch) == p.most, left <= 0:
		p.invoke()
	case left < time.Second: // a long poll waits for whole seconds
		p.after(left, func() { p.receive(0, p.last) })
	default:
		p.receive(left.Truncate(time.Second), p.received)
	}
}

func (p *poller) receive(wait time.Duration, got func([]delivery)) {
	p.queue.receive(min(p.rules.receive, p.most-len(p.batch)), p.s.Queue.Visibility, min(wait, p.rules.longPoll), got)
}

func (p *poller) received(list []delivery) {
	if len(p.batch) == 0 && len(list) > 0 {
		p.window = p.now + p.s.Mapping.Window
	}
	p.batch = append(p.batch, list...)
	p.collect()
}

func (p *poller) last(list []delivery) {
	p.batch = append(p.batch, list...)
	p.invoke()
}

// invoke passes the batch to the function. Lambda's own pollers go on, those of emulator/lambda wait while
// the function is throttled.
func (p *poller) invoke() {
	g := &gathered{list: p.batch, after: func() {}}
	p.batch = nil
	if p.s.Mapping.Pollers > 0 {
		g.after = p.poll
	} else {
		defer p.poll()
	}
	if p.reserve(g) {
		return
	}
	p.r.Totals.Throttles++
	p.throttled.push(g)
	p.dropExpired(g)
}

// concurrency returns how many invocations may run.
func (m *mapping) concurrency() int {
	f := m.s.Function
	limit := f.AccountLimit
	if f.Reserved > 0 {
		limit = min(limit, f.Reserved)
	}
	for i := range m.s.Troubles {
		if t := &m.s.Troubles[i]; t.Kind == Throttle && m.now >= t.From && m.now < t.Until {
			limit = min(limit, t.Concurrency)
		}
	}
	return limit
}

// reserve begins the invocation of a batch, unless the function is throttled.
func (m *mapping) reserve(g *gathered) bool {
	if m.busy >= m.concurrency() {
		return false
	}
	m.busy++
	m.peak(&m.r.Peaks.Concurrency, float64(m.busy))
	g.begun = true
	init := time.Duration(0)
	if n := len(m.environments); n > 0 && m.now-m.environments[n-1] < m.rules.keptWarm {
		m.environments = m.environments[:n-1]
	} else {
		m.environments = m.environments[:0] // the others were used even earlier
		m.r.Totals.ColdStarts++
		init = m.s.Function.Init
	}
	m.r.Totals.Invocations++
	if init == 0 {
		m.run(g.list, 0)
	} else {
		m.after(init, func() { m.run(g.list, init) })
	}
	g.after()
	return true
}

// run runs an invocation.
func (m *mapping) run(list []delivery, init time.Duration) {
	r := &running{}
	m.running.push(r)
	began := m.now
	r.invocation = m.begin(list, func(how result) {
		r.over = true
		m.charge(m.now - began + init)
		m.ended(r, how)
	})
}

// ended settles an invocation, and frees what it used.
func (m *mapping) ended(r *running, how result) {
	m.after(0, func() {
		for m.running.len() > 0 && m.running.first().over {
			m.running.pop()
		}
		m.busy--
		if how != ended {
			m.environments = append(m.environments, m.now)
		}
		if how == answered {
			m.deleteDone(r.list, func(*held) bool { return true })
		} else {
			m.r.Totals.Errors++
		}
		m.retry()
		m.free()
	})
}

// kill ends the environment of the invocation that began first.
func (m *mapping) kill() {
	for _, r := range m.running.items() {
		if !r.over {
			r.crash()
			return
		}
	}
}

// retry begins throttled batches.
func (m *mapping) retry() {
	for m.throttled.len() > 0 && (m.throttled.first().begun || m.reserve(m.throttled.first())) {
		m.throttled.pop()
	}
}

// dropExpired drops the records of a throttled batch whose visibility timeout is over.
func (m *mapping) dropExpired(g *gathered) {
	if g.begun {
		return
	}
	n := len(g.list)
	g.list = slices.DeleteFunc(g.list, func(d delivery) bool { return d.at+m.s.Queue.Visibility <= m.now })
	m.r.Totals.Throttled += n - len(g.list)
	if len(g.list) == 0 {
		g.begun = true
		m.free()
		g.after()
		return
	}
	first := slices.MinFunc(g.list, func(a, b delivery) int { return int(a.at - b.at) })
	m.at(first.at+m.s.Queue.Visibility, func() { m.dropExpired(g) })
}
