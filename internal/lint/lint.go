// Package lint holds what a template deploys against rules: settings of mappings,
// queues, roles and alarms that AWS takes, and that lose messages or time once
// something fails.
//
//	st, err := tmpl.Stack(template.Options{})
//	if err != nil {
//		return err
//	}
//	findings, err := lint.Check(st)
//
// A rule is an entry in one of four tables, by what it looks at: [Mappings],
// [Queues], [Roles] and [Alarms]. A rule does not judge what is known only once the
// stack is deployed.
package lint

import (
	"fmt"
	"slices"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// A Rule is something that should not be, of a T.
type Rule[T any] struct {
	// ID is SB1xx of mappings, SB2xx of queues, SB3xx of permissions, SB5xx of alarms.
	ID    string
	check func(subject T, report report)
}

// report says where a subject breaks a rule, and how.
type report func(at template.Pos, format string, args ...any)

// Check returns where subject breaks the rule.
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

// Check holds a template against all rules, and lists what it finds in the file's
// order. A function or a queue that cannot be
// read is a finding; the error is of a template whose conditions are not known.
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
