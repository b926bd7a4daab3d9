package simulate

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// Shrink makes a plan smaller as long as it still goes wrong: fails carries a
// plan out and reports whether it does. It is called budget times at most.
func Shrink(p Plan, budget int, fails func(Plan) bool) Plan {
	s := shrinker{plan: p, budget: budget, fails: fails}
	for before := -1; before != s.steps && s.budget > 0; {
		before = s.steps
		s.simpler(func(p *Plan) reflect.Value { return reflect.ValueOf(p).Elem() })
		s.queues()
		s.functions()
		s.usual()
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
	p := s.plan.clone()
	change(&p)
	if s.budget <= 0 || reflect.DeepEqual(p, s.plan) || p.Polls() != s.plan.Polls() || !p.sound() {
		return false
	}
	if s.budget--; !s.fails(p) {
		return false
	}
	s.plan = p
	s.steps++
	return true
}

// needed are the fields of a plan that need a value, or to which others refer.
var needed = map[reflect.Type]string{
	reflect.TypeFor[Plan]():       "Seed Heal Queues Functions",
	reflect.TypeFor[Queue]():      "Name Visibility Function Report BatchSize Window MaxReceive DeadLetters",
	reflect.TypeFor[Function]():   "Timeout Environments PerEnvironment DeleteSucceeded",
	reflect.TypeFor[Message]():    "Number Queue Group Key",
	reflect.TypeFor[Act]():        "Verb",
	reflect.TypeFor[sqs.Fault]():  "Kind Operation Queue Latency Times",
	reflect.TypeFor[Break]():      "Kind Operation Most Message",
	reflect.TypeFor[StoreFault](): "Kind Operation Takes",
	reflect.TypeFor[Kill]():       "How",
	reflect.TypeFor[Replica]():    "Queue",
	reflect.TypeFor[Life]():       "Lasts How",
}

// simpler makes a part of the plan simpler: its lists shorter, and its fields zero.
func (s *shrinker) simpler(part func(*Plan) reflect.Value) {
	switch v := part(&s.plan); v.Kind() {
	case reflect.Slice:
		if elem := v.Type().Elem(); elem != reflect.TypeFor[Queue]() && elem != reflect.TypeFor[Function]() {
			s.shorten(part)
		}
		for i := range part(&s.plan).Len() {
			s.simpler(func(p *Plan) reflect.Value { return part(p).Index(i) })
		}
	case reflect.Struct:
		if act, ok := v.Interface().(Act); ok && act != (Act{Verb: OK}) {
			to := func(verb Verb) bool { return s.try(func(p *Plan) { part(p).Set(reflect.ValueOf(Act{Verb: verb})) }) }
			_ = to(OK) || to(Fail)
		}
		for f := range v.NumField() {
			field := func(p *Plan) reflect.Value { return part(p).Field(f) }
			if slices.Contains(strings.Fields(needed[v.Type()]), v.Type().Field(f).Name) || !s.try(func(p *Plan) { field(p).SetZero() }) {
				if s.simpler(field); v.Type() != reflect.TypeFor[Queue]() && v.Type() != reflect.TypeFor[Function]() {
					s.sooner(field)
				}
			}
		}
	}
}

// sooner halves a time of the plan, to whole milliseconds, as often as it still goes wrong.
func (s *shrinker) sooner(field func(*Plan) reflect.Value) {
	v := field(&s.plan)
	if v.Type() != reflect.TypeFor[time.Duration]() {
		return
	}
	half := func(p *Plan) { field(p).SetInt(int64(time.Duration(v.Int() / 2).Truncate(time.Millisecond))) }
	for time.Duration(v.Int()) > time.Millisecond && s.try(half) {
		v = field(&s.plan)
	}
}

// shorten leaves out parts of a list: halves, quarters, and so on to single ones.
func (s *shrinker) shorten(list func(*Plan) reflect.Value) {
	for size := max(1, list(&s.plan).Len()/2); size >= 1; size /= 2 {
		for from := 0; from < list(&s.plan).Len(); {
			if !s.try(func(p *Plan) {
				l := list(p)
				to := min(from+size, l.Len())
				l.Set(reflect.AppendSlice(l.Slice(0, from), l.Slice(to, l.Len())))
			}) {
				from += size
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

// functions leaves out those that no queue invokes.
func (s *shrinker) functions() {
	for f := len(s.plan.Functions) - 1; f >= 0; f-- {
		s.try(func(p *Plan) {
			if slices.ContainsFunc(p.Queues, func(q Queue) bool { return q.Function == f }) {
				return
			}
			p.Functions = slices.Delete(p.Functions, f, f+1)
			for i := range p.Queues {
				if p.Queues[i].Function > f {
					p.Queues[i].Function--
				}
			}
		})
	}
}

// usual has fields that need a value have the one that says least.
func (s *shrinker) usual() {
	for i := range s.plan.Functions {
		if !s.plan.Polls() {
			s.try(func(p *Plan) { p.Functions[i].PerEnvironment = 1 })
			s.try(func(p *Plan) { p.Functions[i].Environments = 1 })
		}
	}
	for i := range s.plan.Queues {
		s.try(func(p *Plan) { p.Queues[i].MaxReceive, p.Queues[i].DeadLetters = 0, "" })
		if !s.plan.Polls() {
			s.try(func(p *Plan) { p.Queues[i].BatchSize, p.Queues[i].Window = 10, 0 })
		}
	}
	for i := range s.plan.Faults {
		s.try(func(p *Plan) { p.Faults[i].Times = 1 })
	}
	s.try(func(p *Plan) { p.Heal = min(p.Heal, 30*time.Second) })
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
