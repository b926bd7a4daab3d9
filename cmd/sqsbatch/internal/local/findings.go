package local

import (
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
)

// maxFindings is the largest number of findings that a run prints. `sqsbatch lint` prints
// all, with reasons and fixes.
const maxFindings = 4

// lint returns the findings about the settings that the run uses, errors first. --env counts as
// the function's environment.
func (p *plan) lint() []rules.Finding {
	o := template.Options{Parameters: p.o.parameters, Environment: p.o.env}
	return rules.OfDeployment(p.template, o, p.deployment, p.o.mode == modePoll)
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
