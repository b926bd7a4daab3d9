package rules

import (
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// OfDeployment returns the findings about the settings that a run or a simulation of d uses,
// errors first: errors and warnings about the function, the queues that feed it, and its event.
// Alarms, permissions and encryption have no effect there, and settings of events have none if
// the function polls. Environment of o counts as the function's. A template that cannot be
// checked has no findings.
func OfDeployment(t *template.Template, o template.Options, d *template.Deployment, poll bool) (found []Finding) {
	st, err := t.Stack(o)
	if err != nil {
		return nil
	}
	result, err := Check(st)
	if err != nil {
		return nil
	}
	for _, f := range result.Findings {
		if f.matters(d, poll) {
			found = append(found, f)
		}
	}
	isError := func(f Finding) bool { return f.Severity == Error }
	errors := slices.DeleteFunc(slices.Clone(found), func(f Finding) bool { return !isError(f) })
	return append(errors, slices.DeleteFunc(found, isError)...)
}

func (f Finding) matters(d *template.Deployment, poll bool) bool {
	const encryption, variables, permissions = "SB214", "SB119", "SB3"
	if f.Severity == Note || f.ID == encryption || strings.HasPrefix(f.ID, permissions) || poll && strings.HasPrefix(f.ID, "SB1") && f.ID != variables {
		return false
	}
	return slices.ContainsFunc(f.About, func(s Subject) bool {
		if s.Function != "" || s.Event != "" {
			return s.Function == d.Function.LogicalID && (s.Event == "" || s.Event == d.Event.Name)
		}
		return s.Queue != "" && slices.ContainsFunc(d.Mappings(), func(m template.Mapping) bool { return m.Queue.LogicalID == s.Queue })
	})
}
