// Package lint checks a template against rules: for settings of mappings, queues, roles and
// alarms that AWS accepts, but that lose messages or time when something fails.
//
//	st, err := tmpl.Stack(template.Options{})
//	if err != nil {
//		return err
//	}
//	findings, err := lint.Check(st)
//
// A rule is an entry in one of four tables, by its subject: [Mappings], [Queues], [Roles]
// and [Alarms]. A rule does not judge values that are known only after the deployment.
package lint

import (
	"fmt"
	"slices"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// Rule is a problem that a T may have.
type Rule[T any] struct {
	// ID is SB1xx of mappings, SB2xx of queues, SB3xx of permissions, SB5xx of alarms.
	ID    string
	check func(subject T, report report)
}

// report reports where and how a subject breaks a rule.
type report func(at template.Pos, format string, args ...any)

// Check returns the places where subject breaks the rule.
func (r Rule[T]) Check(subject T) (found []template.Finding) {
	r.check(subject, func(at template.Pos, format string, args ...any) {
		found = append(found, template.Finding{ID: r.ID, Pos: at, Message: fmt.Sprintf(format, args...)})
	})
	return found
}

// apply checks a table of rules.
func apply[T any](rules []Rule[T], subject T) (found []template.Finding) {
	for _, r := range rules {
		found = append(found, r.Check(subject)...)
	}
	return found
}

// Check checks a template against all rules, and lists its findings in the order of the
// file. A function or a queue that cannot be read is a finding. Check returns an error if
// the template's conditions are not known.
func Check(st *template.Stack) ([]template.Finding, error) {
	deployments, found, err := st.Deployments()
	if err != nil {
		return nil, err
	}
	queues, left, err := st.Queues()
	if err != nil {
		return nil, err
	}
	for _, f := range left {
		if f.ID != template.QueueElsewhere { // its settings are not judged
			found = append(found, f)
		}
	}
	sources := sourcesOf(queues)
	for _, d := range deployments {
		for _, m := range MappingsOf(d) {
			found = append(found, apply(Mappings, m)...)
			if role, ok := roleOf(st, m); ok {
				found = append(found, apply(Roles, role)...)
			}
			if s := sources[m.Queue.ARN]; s != nil {
				s.mapping = &m
			}
		}
	}
	for _, q := range queues {
		if s := sources[q.ARN]; s.mapping != nil || q.DeadLetterARN != "" {
			found = append(found, apply(Queues, *s)...)
		}
	}
	alarms, err := st.Resources("AWS::CloudWatch::Alarm")
	for _, a := range alarms {
		found = append(found, apply(Alarms, Alarm{a, sources})...)
	}
	slices.SortStableFunc(found, func(a, b template.Finding) int { return a.Pos.Line - b.Pos.Line })
	return found, err
}
