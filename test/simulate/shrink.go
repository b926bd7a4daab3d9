package simulate

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Shrink makes a plan smaller as long as it still goes wrong: fails carries a
// plan out, some times since the order of goroutines is not in the plan, and
// reports whether it does. It is called budget times at most.
func Shrink(p Plan, budget int, fails func(Plan) bool) Plan {
	s := shrinker{plan: p, budget: budget, fails: fails}
	for before := -1; before != s.steps && s.budget > 0; {
		before = s.steps
		shorten(&s, func(p *Plan) *[]Message { return &p.Messages })
		shorten(&s, func(p *Plan) *[]Kill { return &p.Kills })
		shorten(&s, func(p *Plan) *[]sqs.Fault { return &p.Faults })
		shorten(&s, func(p *Plan) *[]Break { return &p.Breaks })
		shorten(&s, func(p *Plan) *[]StoreFault { return &p.StoreFaults })
		s.replicas()
		s.queues()
		s.acts()
		s.simpler()
	}
	return s.plan
}

type shrinker struct {
	plan   Plan
	budget int
	steps  int
	fails  func(Plan) bool
}

// try takes over a change of the plan if it still goes wrong then.
func (s *shrinker) try(change func(*Plan)) bool {
	if s.budget <= 0 {
		return false
	}
	s.budget--
	p := s.plan.clone()
	change(&p)
	if reflect.DeepEqual(p, s.plan) || p.Polls() != s.plan.Polls() || !p.sound() || !s.fails(p) {
		return false
	}
	s.plan = p
	s.steps++
	return true
}

// shorten leaves out parts of a list: halves, quarters, and so on to single ones.
func shorten[T any](s *shrinker, list func(*Plan) *[]T) {
	for size := max(1, len(*list(&s.plan))/2); size >= 1; size /= 2 {
		for from := 0; from < len(*list(&s.plan)); {
			to := min(from+size, len(*list(&s.plan)))
			if !s.try(func(p *Plan) { *list(p) = slices.Delete(*list(p), from, to) }) {
				from = to
			}
		}
	}
}

// queues leaves out those that are sent no message.
func (s *shrinker) queues() {
	for q := len(s.plan.Queues) - 1; q >= 0; q-- {
		s.try(func(p *Plan) {
			if slices.ContainsFunc(p.Messages, func(m Message) bool { return m.Queue == q }) {
				return
			}
			p.Queues = slices.Delete(p.Queues, q, q+1)
			for i := range p.Messages {
				if p.Messages[i].Queue > q {
					p.Messages[i].Queue--
				}
			}
			p.Replicas = slices.DeleteFunc(p.Replicas, func(r Replica) bool { return r.Queue == q })
			for i := range p.Replicas {
				if p.Replicas[i].Queue > q {
					p.Replicas[i].Queue--
				}
			}
		})
	}
}

// replicas leaves out replicas, processes and pauses, and makes the rest simpler.
func (s *shrinker) replicas() {
	shorten(s, func(p *Plan) *[]Replica { return &p.Replicas })
	for i := range s.plan.Replicas {
		shorten(s, func(p *Plan) *[]Life { return &p.Replicas[i].Lives })
		for l := range s.plan.Replicas[i].Lives {
			s.zero(func(p *Plan) any { return &p.Replicas[i].Lives[l] }, "Lasts", "How")
		}
		s.zero(func(p *Plan) any { return &p.Replicas[i] }, "Queue", "Lives")
	}
}

// acts makes what handlers do simpler.
func (s *shrinker) acts() {
	for m := range s.plan.Messages {
		for len(s.plan.Messages[m].Acts) > 0 && s.try(func(p *Plan) {
			acts := &p.Messages[m].Acts
			*acts = (*acts)[:len(*acts)-1]
		}) {
		}
		for a := range s.plan.Messages[m].Acts {
			act := func(p *Plan) *Act { return &p.Messages[m].Acts[a] }
			if s.try(func(p *Plan) { *act(p) = Act{Verb: OK} }) || s.try(func(p *Plan) { *act(p) = Act{Verb: Fail} }) {
				continue
			}
			s.try(func(p *Plan) { act(p).Takes, act(p).Heeds = 0, false })
		}
		s.zero(func(p *Plan) any { return &p.Messages[m] }, "Number", "Queue", "Group", "Acts", "Key")
	}
}

// simpler sets fields to zero: of functions, queues and faults.
func (s *shrinker) simpler() {
	for i := range s.plan.Functions {
		s.zero(func(p *Plan) any { return &p.Functions[i] }, "Timeout", "Environments", "PerEnvironment", "DeleteSucceeded")
		if !s.plan.Polls() {
			s.try(func(p *Plan) { p.Functions[i].PerEnvironment = 1 })
			s.try(func(p *Plan) { p.Functions[i].Environments = 1 })
		}
	}
	for i := range s.plan.Queues {
		s.try(func(p *Plan) { p.Queues[i].MaxReceive, p.Queues[i].DeadLetters = 0, "" })
		s.zero(func(p *Plan) any { return &p.Queues[i] }, "Name", "Visibility", "Function", "Report", "BatchSize", "Window")
		if !s.plan.Polls() {
			s.try(func(p *Plan) { p.Queues[i].BatchSize, p.Queues[i].Window = 10, 0 })
		}
	}
	for i := range s.plan.Faults {
		s.try(func(p *Plan) {
			f := p.Faults[i]
			p.Faults[i] = sqs.Fault{Kind: f.Kind, Operation: f.Operation, Queue: f.Queue, Latency: f.Latency, Times: 1}
		})
		s.zero(func(p *Plan) any { return &p.Faults[i] }, "Kind", "Operation", "Queue", "Latency", "Times")
	}
	for i := range s.plan.Breaks {
		s.zero(func(p *Plan) any { return &p.Breaks[i] }, "Kind", "Operation", "Most", "Message")
	}
	for i := range s.plan.StoreFaults {
		s.zero(func(p *Plan) any { return &p.StoreFaults[i] }, "Kind", "Operation", "Takes")
	}
	s.try(func(p *Plan) { p.StoreTakes = 0 })
	s.try(func(p *Plan) { p.Heal = min(p.Heal, 30*time.Second) })
}

// zero sets the fields of a struct to zero, one after another, but for those
// that need a value.
func (s *shrinker) zero(of func(*Plan) any, but ...string) {
	t := reflect.TypeOf(of(&s.plan)).Elem()
	for f := range t.NumField() {
		if !slices.Contains(but, t.Field(f).Name) {
			s.try(func(p *Plan) { reflect.ValueOf(of(p)).Elem().Field(f).SetZero() })
		}
	}
}

// sound reports whether a plan makes sense: it has a message, policies are whole,
// and something takes out what can never be handled.
func (p *Plan) sound() bool {
	for _, q := range p.Queues {
		if (q.MaxReceive > 0) != (q.DeadLetters != "") {
			return false
		}
	}
	for _, m := range p.Messages {
		q := p.Queues[m.Queue]
		if f := p.Functions[q.Function]; (m.Malformed && f.JSON || f.Guard.KeepPermanent) && !p.endsMalformed(q, f) {
			return false
		}
	}
	for i := range p.Queues { // each has someone to take its messages
		if p.Polls() && !slices.ContainsFunc(p.Replicas, func(r Replica) bool { return r.Queue == i }) {
			return false
		}
	}
	return len(p.Messages) > 0
}

// clone copies a plan, which is plain data.
func (p Plan) clone() (same Plan) {
	b, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(b, &same)
	}
	if err != nil {
		panic(err)
	}
	return same
}
