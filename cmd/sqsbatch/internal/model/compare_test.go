package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// drawScenario draws a scenario that is small enough to be run for real.
func drawScenario(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	between := func(least, most int) int { return least + r.IntN(most-least+1) }
	chance := func(p float64) bool { return r.Float64() < p }
	seconds := func(least, most int) time.Duration { return time.Duration(between(least, most)) * time.Second }
	s := Scenario{Seed: seed, For: time.Duration(between(2, 15))*time.Minute + 500*time.Millisecond}
	s.Function.Timeout = seconds(2, 20)
	s.Queue.Visibility = s.Function.Timeout*time.Duration(between(1, 6)) + 10*time.Second // more than any window
	if chance(0.3) {
		s.Queue.Delay = seconds(1, 30)
	}
	if chance(0.8) {
		s.Queue.MaxReceiveCount = between(1, 6)
	}
	s.Queue.FIFO = chance(0.25)
	s.Load.Groups = between(1, 30)
	m := &Mapping{BatchSize: between(1, 10), Pollers: between(1, 5), ReportBatchItemFailures: chance(0.8)}
	if s.Queue.FIFO {
		m.Pollers = 1
	}
	if s.Mapping = m; chance(0.4) {
		s.Mapping = nil
		s.Containers = &Containers{Tasks: between(1, 3), Slots: between(1, 12), Visibility: seconds(3, 60), Prefetch: []int{0, 0, -1, between(1, 30)}[between(0, 3)]}
	}
	if s.Mapping != nil && chance(0.1) {
		s.Queue.Retention = seconds(60, 300)
	}
	if chance(0.3) && !s.Queue.FIFO {
		m.Window = seconds(1, 8)
		m.BatchSize = between(1, 40)
	}
	if chance(0.5) {
		m.MaximumConcurrency = between(2, 8)
	}
	if chance(0.3) {
		s.Function.Reserved = between(1, 4)
	}
	if chance(0.3) {
		s.Toolkit.Concurrency = between(1, 5)
	}
	if chance(0.3) {
		s.Toolkit.RecordTimeout = seconds(1, 10)
	}
	if chance(0.2) {
		s.Toolkit.Reserve = time.Duration(between(100, 2000)) * time.Millisecond
	}
	if chance(0.2) {
		s.Toolkit.MinRemaining = time.Duration(between(100, 2000)) * time.Millisecond
	}
	if chance(0.2) {
		s.Toolkit.BackoffBase = seconds(1, 10)
	} else {
		s.Toolkit.Outage = seconds(1, 600)
	}
	p50 := 1 + r.Int64N(int64(2*time.Second))
	s.Work.Durations = Durations{P50: time.Duration(p50), P99: time.Duration(p50 * int64(between(1, 20)))}
	if chance(0.5) {
		s.Work.Outcomes.Retry = r.Float64() / 4
	}
	if chance(0.3) {
		s.Work.Outcomes.Permanent = r.Float64() / 8
	}
	s.Toolkit.OnPermanent = []partialfailure.OnPermanent{partialfailure.DeadLetter, partialfailure.Retry, partialfailure.Drop}[between(0, 2)]
	if chance(0.2) {
		s.Work.Outcomes.Hang = r.Float64() / 10
	}
	if chance(0.2) {
		s.Work.Outcomes.Crash = r.Float64() / 20
	}
	if chance(0.2) {
		s.Work.Poison.Retry = r.Float64() / 5
	}
	if chance(0.2) {
		s.Work.RetryAfter = seconds(1, 60)
	}
	s.Load.Points = []Point{{0, r.Float64() * 4}, {s.For / 2, r.Float64() * 2}}
	if chance(0.3) {
		s.Load.Bursts = []Burst{{At: time.Duration(r.Int64N(int64(s.For))), Messages: between(2, 100)}}
	}
	for _, kind := range []Kind{Errors, Hangs, Slow, Aborts, Permanents, Crashes} {
		if chance(0.12) {
			from := time.Duration(r.Int64N(int64(s.For)))
			s.Troubles = append(s.Troubles, Trouble{
				Kind: kind, From: from, Until: from + seconds(10, 120), Share: r.Float64(), Factor: 1 + 4*r.Float64(), After: seconds(0, 30),
				Took: time.Duration(r.Int64N(int64(time.Second))),
			})
		}
	}
	return s
}

// runModel carries out a scenario with the draws of the actual run, and with a change to its rules.
func runModel(t *testing.T, s Scenario, ids []string, change func(*rules)) *Report {
	t.Helper()
	run, err := newSim(s)
	if err != nil {
		t.Fatal(err)
	}
	run.ids, run.random = ids, rand.New(new(always))
	change(&run.rules)
	r, err := run.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func unchanged(*rules) {}

// difference is a number in which the model is not like the actual run.
type difference struct {
	what          string
	model, actual float64
	scale         float64 // of which 5 % are allowed
}

func (d difference) String() string {
	return fmt.Sprintf("%s: model %v, actual %v", d.what, d.model, d.actual)
}

// large reports whether a difference is more than 5 %, and more than a few messages: events at the same
// instant have no order, and may share their batches in another way.
func (d difference) large() bool {
	return math.Abs(d.model-d.actual) > max(0.05*d.scale, 6)
}

// compare returns the differences of two reports.
func compare(model, actual *Report) (list []difference) {
	add := func(what string, a, b, scale float64) {
		if math.Abs(a-b) > 0.01 {
			list = append(list, difference{what, a, b, scale})
		}
	}
	count := func(what string, a, b int) { add(what, float64(a), float64(b), float64(b)) }
	m, a := &model.Totals, &actual.Totals
	count("sent", m.Sent, a.Sent)
	count("attempts", m.Attempts, a.Attempts)
	count("dead letters", m.DeadLetters, a.DeadLetters)
	count("expired", m.Expired, a.Expired)
	count("deliveries", m.Deliveries, a.Deliveries)
	count("invocations", m.Invocations, a.Invocations)
	count("failed invocations", m.Errors, a.Errors)
	count("left", m.Left, a.Left)
	count("abandoned", m.Abandoned, a.Abandoned)
	count("not started", m.NotStarted, a.NotStarted)
	count("skipped", m.Skipped, a.Skipped)
	count("throttled", m.Throttled, a.Throttled)
	count("receives", m.Requests.Receive, a.Requests.Receive)
	count("deletes", m.Requests.Delete, a.Requests.Delete)
	count("visibility changes", m.Requests.Visibility, a.Requests.Visibility)
	count("sends of dead letters", m.Requests.DeadLetter, a.Requests.DeadLetter)
	count("samples", len(model.Samples), len(actual.Samples))
	highest := Sample{}
	for _, s := range actual.Samples {
		highest.Visible, highest.InFlight = max(highest.Visible, s.Visible), max(highest.InFlight, s.InFlight)
		highest.Age = max(highest.Age, s.Age)
	}
	for i := range min(len(model.Samples), len(actual.Samples)) {
		x, y := model.Samples[i], actual.Samples[i]
		if int(x.At)%60 != 0 {
			continue
		}
		at := fmt.Sprintf(" at %v s", x.At)
		add("visible"+at, float64(x.Visible), float64(y.Visible), float64(highest.Visible))
		add("delayed"+at, float64(x.Delayed), float64(y.Delayed), 0)
		add("in flight"+at, float64(x.InFlight), float64(y.InFlight), float64(highest.InFlight))
		add("age"+at, x.Age, y.Age, highest.Age)
	}
	return list
}

// history is a scenario that was carried out for real.
type history struct {
	s      Scenario
	ids    []string
	actual *Report
	model  *Report
	wrong  []difference
}

// carryOut carries out a scenario for real and in the model.
func carryOut(t *testing.T, s Scenario) (h history) {
	h.s = s
	h.actual, h.ids = runActual(t, s)
	h.model = runModel(t, s, h.ids, unchanged)
	h.wrong = wrong(h.model, h.actual)
	return h
}

// A queue that is overloaded is chaotic: the real thing itself differs from run to run, since goroutines
// that are ready at the same instant run in any order. So a history counts only if it is different from the
// model each time, but not from itself. One of 100 may be: an order that the scheduler prefers, where
// the model has another one.
func TestModel_IsLikeTheRealThing(t *testing.T) {
	all := random.Histories{Few: 15, Many: 500, Processes: true, Run: func(t *testing.T, seed uint64, seen random.Seen) {
		s := drawScenario(seed)
		first := carryOut(t, s)
		seen.Saw("all equal", len(compare(first.model, first.actual)) == 0)
		differs, chaotic := len(first.wrong) > 0, false
		for n := 0; differs && n < 4; n++ {
			again := carryOut(t, s)
			differs, chaotic = len(again.wrong) > 0, chaotic || len(wrong(again.actual, first.actual)) > 0
		}
		seen.Saw("chaotic", differs && chaotic)
		if differs && !chaotic {
			t.Logf("seed %d: %v\n%+v\n%+v\n%+v", seed, first.wrong, s, s.Mapping, s.Containers)
		}
		seen.Saw("different", differs && !chaotic)
		for _, part := range []struct {
			name string
			is   bool
		}{
			{"Lambda", s.Mapping != nil}, {"containers", s.Containers != nil}, {"FIFO", s.Queue.FIFO}, {"dead letters", first.actual.Totals.DeadLetters > 0},
			{"throttled", first.actual.Totals.Throttled > 0}, {"abandoned", first.actual.Totals.Abandoned > 0}, {"failed invocations", first.actual.Totals.Errors > 0},
			{"not started", first.actual.Totals.NotStarted > 0}, {"expired", first.actual.Totals.Expired > 0},
		} {
			seen.Saw(part.name, part.is)
		}
	}, Expect: []string{"all equal", "Lambda", "containers", "FIFO"}}.Check(t)
	if histories := all["Lambda"] + all["containers"]; all["different"]*100 > histories {
		t.Errorf("%d of %d histories differ from the model", all["different"], histories)
	}
}

// tolerated is the share of a history's numbers that may differ by more than 5 %: after two events at the
// same instant have happened in another order, single messages take other ways.
const tolerated = 0.1

// wrong returns the differences that are too large: of numbers that are the same whatever the order of
// events at the same instant, and all if they are too many.
func wrong(model, actual *Report) (large []difference) {
	certain := false
	for _, d := range compare(model, actual) {
		if d.large() || d.what == "sent" {
			large = append(large, d)
			certain = certain || slices.Contains([]string{"sent", "attempts", "deliveries", "invocations", "failed invocations", "receives"}, d.what)
		}
	}
	if numbers := 17 + 4*len(actual.Samples)*int(actual.Every)/60; certain || float64(len(large)) > tolerated*float64(numbers) {
		return large
	}
	return nil
}
