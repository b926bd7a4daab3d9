package local

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// maxFindings is the largest number of findings that a run prints. `sqsbatch lint` prints
// all, with reasons and fixes.
const maxFindings = 4

// lint returns the findings about the settings that the run uses, errors first. --env counts as
// the function's environment. A template that cannot be checked has no findings.
func (p *plan) lint() (found []rules.Finding) {
	st, err := p.template.Stack(template.Options{Parameters: p.o.parameters, Environment: p.o.env})
	if err != nil {
		return nil
	}
	result, err := rules.Check(st)
	if err != nil {
		return nil
	}
	for _, f := range result.Findings {
		if p.uses(f) {
			found = append(found, f)
		}
	}
	isError := func(f rules.Finding) bool { return f.Severity == rules.Error }
	errors := slices.DeleteFunc(slices.Clone(found), func(f rules.Finding) bool { return !isError(f) })
	return append(errors, slices.DeleteFunc(found, isError)...)
}

// uses reports whether the run prints a finding: an error or a warning about the function,
// a queue that feeds it, or its event. Alarms, permissions and encryption have no effect in
// a run, and settings of events have none with --mode poll.
func (p *plan) uses(f rules.Finding) bool {
	const encryption, variables, permissions = "SB214", "SB119", "SB3"
	if f.Severity == rules.Note || f.ID == encryption || strings.HasPrefix(f.ID, permissions) || p.o.mode == modePoll && strings.HasPrefix(f.ID, "SB1") && f.ID != variables {
		return false
	}
	d := p.deployment
	return slices.ContainsFunc(f.About, func(s rules.Subject) bool {
		if s.Function != "" || s.Event != "" {
			return s.Function == d.Function.LogicalID && (s.Event == "" || s.Event == d.Event.Name)
		}
		return s.Queue != "" && slices.ContainsFunc(p.polled(), func(q template.Queue) bool { return q.LogicalID == s.Queue })
	})
}

// warn prints the template's warnings and findings before the run.
func (s *stack) warn(r *run, tracker *track.Tracker) {
	for _, f := range s.deployment.Findings {
		r.view.Event(track.Warning{Text: f.String()})
	}
	for _, m := range s.deployment.Mappings() {
		if e := m.Event; s.o.mode == modePoll && len(e.Filters) > 0 { // they change what a handler receives
			tracker.Warn(fmt.Sprintf("%s: the FilterCriteria of event %s apply on Lambda only: in a container the function receives every message", e.Properties.Get("FilterCriteria").Pos, e.Name))
		}
	}
	for _, f := range s.found[:min(len(s.found), maxFindings)] {
		first, _, _ := strings.Cut(f.Message, ". ")
		r.view.Event(track.Warning{Text: fmt.Sprintf("%s: %s (%s)", f.Pos, first, f.ID)})
	}
	if n := len(s.found); n > 0 {
		all := "it"
		if n > 1 {
			all = fmt.Sprintf("all %d", n)
		}
		same := ""
		if len(s.o.parameters) > 0 {
			same = " with the same --parameter-overrides"
		}
		r.view.Say(fmt.Sprintf("`sqsbatch lint %s`%s shows %s, with reasons and fixes", s.settings, same, all))
	}
}
