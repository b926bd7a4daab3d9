package model

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/cases"
)

// mutants are models of which a rule is broken: a number of AWS, or a setting that has another effect.
var mutants = map[string]func(*Scenario, *rules){
	"quota in flight":        func(_ *Scenario, r *rules) { r.quota = 20 },
	"messages of a receive":  func(_ *Scenario, r *rules) { r.receive = 5 },
	"long poll":              func(_ *Scenario, r *rules) { r.longPoll = 10 * time.Second },
	"redrive a receive late": func(_ *Scenario, r *rules) { r.redriveLate = 1 },
	"no delay":               func(s *Scenario, _ *rules) { s.Queue.Delay = 0 },
	"visibility timeout":     func(s *Scenario, _ *rules) { s.Queue.Visibility *= 2 },
	"no retention":           func(s *Scenario, _ *rules) { s.Queue.Retention = 0 },
	"no redrive":             func(s *Scenario, _ *rules) { s.Queue.MaxReceiveCount = 0 },
	"one FIFO group":         func(s *Scenario, _ *rules) { s.Load.Groups = 1 },
	"no order": func(s *Scenario, _ *rules) {
		s.Queue.FIFO = false
	},
	"batch size":               ofMapping(func(m *Mapping) { m.BatchSize = max(1, m.BatchSize/2) }),
	"no window":                ofMapping(func(m *Mapping) { m.Window, m.BatchSize = 0, min(m.BatchSize, 10) }),
	"no maximum concurrency":   ofMapping(func(m *Mapping) { m.MaximumConcurrency = 0 }),
	"a poller more":            ofMapping(func(m *Mapping) { m.Pollers++ }),
	"no report of failures":    ofMapping(func(m *Mapping) { m.ReportBatchItemFailures = !m.ReportBatchItemFailures }),
	"no reserved concurrency":  func(s *Scenario, _ *rules) { s.Function.Reserved = 0 },
	"timeout":                  func(s *Scenario, _ *rules) { s.Function.Timeout = s.Function.Timeout * 2 / 3 },
	"concurrency of a batch":   func(s *Scenario, _ *rules) { s.Toolkit.Concurrency = 1 },
	"reserve":                  func(s *Scenario, _ *rules) { s.Toolkit.Reserve = time.Millisecond },
	"no record timeout":        func(s *Scenario, _ *rules) { s.Toolkit.RecordTimeout = 0 },
	"no least remaining time":  func(s *Scenario, _ *rules) { s.Toolkit.MinRemaining = time.Nanosecond },
	"grace":                    func(s *Scenario, _ *rules) { s.Toolkit.Grace = 10 * time.Second },
	"outage":                   func(s *Scenario, _ *rules) { s.Toolkit.Outage *= 2 },
	"backoff":                  func(s *Scenario, _ *rules) { s.Toolkit.BackoffBase *= 2 },
	"no RetryAfter":            func(s *Scenario, _ *rules) { s.Work.RetryAfter = 0 },
	"permanent failures":       func(s *Scenario, _ *rules) { s.Toolkit.OnPermanent = partialfailure.Retry },
	"no poison":                func(s *Scenario, _ *rules) { s.Work.Poison = Shares{} },
	"no crashes":               func(s *Scenario, _ *rules) { s.Work.Outcomes.Crash = 0 },
	"no hangs":                 func(s *Scenario, _ *rules) { s.Work.Outcomes.Hang = 0 },
	"no errors in an outage":   without(Errors),
	"no hangs in an outage":    without(Hangs),
	"not slower":               without(Slow),
	"no aborts":                without(Aborts),
	"a task more":              ofContainers(func(c *Containers) { c.Tasks++ }),
	"a slot more":              ofContainers(func(c *Containers) { c.Slots++ }),
	"no prefetching":           ofContainers(func(c *Containers) { c.Prefetch = -1 }),
	"visibility in containers": ofContainers(func(c *Containers) { c.Visibility *= 2 }),
}

func ofMapping(change func(*Mapping)) func(*Scenario, *rules) {
	return func(s *Scenario, _ *rules) {
		if s.Mapping != nil {
			m := *s.Mapping
			change(&m)
			s.Mapping = &m
		}
	}
}

func ofContainers(change func(*Containers)) func(*Scenario, *rules) {
	return func(s *Scenario, _ *rules) {
		if s.Containers != nil {
			c := *s.Containers
			change(&c)
			s.Containers = &c
		}
	}
}

func without(kind Kind) func(*Scenario, *rules) {
	return func(s *Scenario, _ *rules) {
		var others []Trouble
		for _, t := range s.Troubles {
			if t.Kind != kind {
				others = append(others, t)
			}
		}
		s.Troubles = others
	}
}

// Each mutant differs from the real thing in a history that the model gets right. make nightly runs it.
func TestMutants_AreCaught(t *testing.T) {
	if cases.Of(0, 1) == 0 {
		t.Skip("TEST_MANY=1 runs it")
	}
	left := map[string]bool{}
	for name := range mutants {
		left[name] = true
	}
	for seed := uint64(1); len(left) > 0 && seed <= 150; seed++ {
		h := carryOut(t, drawScenario(seed))
		if len(h.wrong) > 0 {
			continue
		}
		for name := range left {
			s, change := h.s, rules{}
			mutants[name](&s, &change)
			if _, err := newSim(s); err != nil {
				continue // the change makes it invalid
			}
			if len(wrong(runModel(t, s, h.ids, func(r *rules) { mutants[name](&Scenario{Mapping: &Mapping{}}, r) }), h.actual)) > 0 {
				delete(left, name)
			}
		}
	}
	for name := range left {
		t.Errorf("the comparison does not catch: %s", name)
	}
}
