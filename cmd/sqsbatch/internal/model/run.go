package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/draw"
	"github.com/sqsbatch/sqsbatch/internal/prices"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/internal/settle"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// Run carries out a scenario. The same scenario gives the same report. It returns an error if a field
// of the scenario is invalid, which it names with its value and what is allowed, or ctx's error.
//
// Cost: some 5 µs of a processor for each message, and 200 bytes for each one that is in the queue.
func Run(ctx context.Context, scenario Scenario) (*Report, error) {
	s, err := newSim(scenario)
	if err != nil {
		return nil, err
	}
	return s.run(ctx)
}

// sim is a run.
type sim struct {
	s      Scenario // with its defaults
	rules  rules
	r      *Report
	now    time.Duration
	agenda agenda
	sent   int // messages so far

	arn    string
	ids    []string // of messages; made up beyond its end
	policy *settle.Policy
	random *rand.Rand // draws that are not of a message

	queue      queue
	mapping    *mapping
	tasks      *tasks
	handlers   int // at work
	latencies  []time.Duration
	failed     int // attempts that did not succeed
	sampled    Totals
	failedThen int // failed at the latest sample
	oldest     []float64
	billedSend int
	quotaSince time.Duration // since when the quota holds back receives; -1 if it does not
	alarms     []*alarm
}

// newSim returns a run that has not begun.
func newSim(scenario Scenario) (*sim, error) {
	s := &sim{s: scenario.withDefaults(), rules: standardRules(), r: &Report{Rings: []Ring{}}, quotaSince: -1}
	if err := s.s.validate(); err != nil {
		return nil, err
	}
	s.random = rand.New(rand.NewPCG(s.s.Seed, 2))
	s.queue.sim, s.arn = s, "arn:aws:sqs:us-east-1:000000000000:queue"
	if s.s.Queue.FIFO {
		s.arn += ".fifo"
		s.queue.groups = make([]group, s.s.Load.Groups)
		for k := range s.queue.groups {
			s.queue.groups[k].number = k
		}
	}
	t := s.s.Toolkit
	failures := partialfailure.Config{Outage: t.Outage, OnPermanent: t.OnPermanent}
	if t.BackoffBase > 0 {
		failures.Backoff = func(attempt int) time.Duration {
			return draw.FullJitter(s.random, t.BackoffBase, t.BackoffCap, attempt)
		}
	}
	s.policy = settle.New(settle.Config{Config: failures})
	known := map[string]string{}
	if n := s.s.Queue.MaxReceiveCount; n > 0 {
		known["RedrivePolicy"] = fmt.Sprintf(`{"deadLetterTargetArn":"%s-dead","maxReceiveCount":%d}`, s.arn, n)
	}
	s.policy.Know(s.arn, "", known)
	return s, nil
}

// eventsBetween is how many events pass until the context is looked at.
const eventsBetween = 10_000

func (s *sim) run(ctx context.Context) (*Report, error) {
	s.agenda.delays(0, s.rules.longPoll, s.s.Queue.Visibility, settle.BatchLinger, settle.PollLinger)
	s.arrive()
	s.startSamples()
	if s.s.Mapping != nil {
		s.startMapping()
	} else {
		s.startTasks()
	}
	s.startKills()
	for n := 0; ; n++ {
		if n%eventsBetween == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e, ok := s.agenda.next()
		if !ok || e.at > s.s.For {
			break
		}
		s.now = e.at
		if e.shows != nil {
			s.queue.due(e.shows)
		} else {
			e.do()
		}
	}
	s.now = s.s.For
	s.finishReport()
	return s.r, nil
}

// startKills kills a consumer again and again in the time of a trouble: the one that began first.
func (s *sim) startKills() {
	for _, t := range s.s.Troubles {
		if t.Kind != Kills {
			continue
		}
		var kill func()
		kill = func() {
			if s.now >= t.Until {
				return
			}
			if s.mapping != nil {
				s.mapping.kill()
			} else if s.tasks.count() > 0 {
				s.tasks.polling[0].crash()
			}
			s.after(time.Duration(float64(t.Every)*(0.75+s.random.Float64()/2)), kill)
		}
		s.at(t.From, kill)
	}
}

// epoch is the beginning of a run, for functions that take times.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *sim) time(t time.Duration) time.Time  { return epoch.Add(t) }
func (s *sim) since(t time.Time) time.Duration { return t.Sub(epoch) }

// id returns the id of a message, from which the toolkit draws its jitter.
func (s *sim) id(number int) string {
	if number < len(s.ids) {
		return s.ids[number]
	}
	return "m-" + strconv.Itoa(number)
}

// withDefaults returns the configuration with its defaults.
func (t Toolkit) withDefaults() Toolkit {
	cfg := runner.Config{Concurrency: t.Concurrency, Grace: t.Grace}.WithDefaults(nil)
	t.Concurrency, t.Grace = cfg.Concurrency, cfg.Grace
	t.OnPermanent = cmp.Or(t.OnPermanent, partialfailure.DeadLetter)
	if t.BackoffBase > 0 {
		t.BackoffCap = cmp.Or(t.BackoffCap, 15*time.Minute)
	}
	return t
}

// groupOf returns the number of a message's FIFO group.
func (s *Scenario) groupOf(message int) int {
	return int(chance(s.Seed, message, 0, ofGroup) * float64(s.Load.Groups))
}

func groupName(number int) string { return "g-" + strconv.Itoa(number) }

// chunks returns the requests that AWS bills for a call with n messages.
func (s *sim) chunks(n int) int { return max(1, ceil(n*s.s.Load.Bytes, billedBytes)) }

// deadLetter counts a message that is in the dead-letter queue.
func (s *sim) deadLetter(m *message) {
	t := &s.r.Totals
	t.DeadLetters++
	poison := s.s.Work.Poison.of(chance(s.s.Seed, m.number, 0, ofPoison)) != succeeds
	if !poison && !(m.last.own && m.last.outcome == isPermanent) {
		t.Healthy++
	}
}

// withDefaults returns the scenario with its defaults filled in.
func (s Scenario) withDefaults() Scenario {
	if s.Prices == (prices.Table{}) {
		s.Prices = prices.USEast1()
	}
	q := &s.Queue
	q.Visibility, q.Retention = cmp.Or(q.Visibility, 30*time.Second), cmp.Or(q.Retention, 4*24*time.Hour)
	if s.Mapping != nil {
		m := *s.Mapping
		m.BatchSize = cmp.Or(m.BatchSize, 10)
		s.Mapping = &m
	}
	if s.Containers != nil {
		s.Containers = s.Containers.withDefaults(s.Queue.FIFO)
	}
	f := &s.Function
	f.Timeout, f.MemoryMB, f.AccountLimit = cmp.Or(f.Timeout, 3*time.Second), cmp.Or(f.MemoryMB, 128), cmp.Or(f.AccountLimit, 1000)
	s.Toolkit = s.Toolkit.withDefaults()
	l := &s.Load
	l.Bytes, l.Groups, l.SendBatch = cmp.Or(l.Bytes, 1024), cmp.Or(l.Groups, 100), cmp.Or(l.SendBatch, 10)
	s.Troubles = append([]Trouble(nil), s.Troubles...)
	for i := range s.Troubles {
		s.Troubles[i].Share = cmp.Or(s.Troubles[i].Share, 1)
	}
	s.Alarms = append([]Alarm(nil), s.Alarms...)
	for i := range s.Alarms {
		a := &s.Alarms[i]
		a.Period, a.Periods = cmp.Or(a.Period, time.Minute), cmp.Or(a.Periods, 1)
		a.Datapoints = cmp.Or(a.Datapoints, a.Periods)
	}
	return s
}

// round returns a number of seconds with milliseconds, so that the report is easy to read.
func round(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
