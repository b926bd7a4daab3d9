// Package lint checks a template against rules: for settings of mappings, queues, roles and
// alarms that AWS accepts, but that lose messages or time when something fails.
//
//	st, err := tmpl.Stack(template.Options{})
//	if err != nil {
//		return err
//	}
//	result, err := lint.Check(st)
//
// A rule is an entry in a table, by its subject: [Mappings], [Queues], [Roles] or [Alarms].
// A rule does not judge values that are known only after the deployment: they are in
// [Result].Unknown.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/template"
)

// Severity says what to do about a finding.
type Severity string

const (
	// Error is for settings that AWS refuses, or that lose messages.
	Error Severity = "error"
	// Warning is for settings that cost messages or time when something else fails.
	Warning Severity = "warning"
	// Note is for what may be on purpose.
	Note Severity = "note"
)

// Info describes a rule.
type Info struct {
	// ID is SB0xx of suppressions, SB1xx of mappings, SB2xx of queues, SB3xx of
	// permissions, SB5xx of alarms. An id never gets another meaning.
	ID string
	// Severity is the severity of most findings. A finding may have another, which
	// depends on the value.
	Severity Severity
	// Title says in one line what is wrong.
	Title string
	// Why says in a sentence or two what it costs.
	Why string
	// Page is the name of the page of AWS's documentation that says so.
	Page string
	// Fixable says that some findings have a Fix.
	Fixable bool
}

// Rules describes all rules, in the order of their ids.
func Rules() []Info {
	list := slices.Concat(infos(Mappings), infos(Queues), infos(Roles), infos(Alarms))
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// A Finding is a place where a template breaks a rule.
type Finding struct {
	// Info is the rule's, with the finding's own severity.
	Info
	// Pos and EndCol are the text that is wrong: on the line of Pos, from Pos.Col up to but
	// without EndCol. They count characters from 1.
	Pos    template.Pos
	EndCol int
	// Resource is the logical id of the resource around Pos, "" outside of Resources.
	Resource string
	// Message says what is wrong here, with names and values.
	Message string
	// Fix is nil if there is no safe one.
	Fix *Fix
}

// String returns the message after its place.
func (f Finding) String() string { return template.Finding{Pos: f.Pos, Message: f.Message}.String() }

// Suppressed is a finding that the template says to ignore.
type Suppressed struct {
	Finding
	// Reason is what the template gives as the reason.
	Reason string
	// By is the place of the suppression.
	By template.Pos
}

// Unknown is something that could not be checked.
type Unknown struct {
	Pos      template.Pos
	EndCol   int
	Resource string
	// Rules are the ids of the rules that need it, nil if that is all rules on the resource.
	Rules []string
	// Message says what is not known, and why.
	Message string
}

// String returns the message after its place.
func (u Unknown) String() string { return template.Finding{Pos: u.Pos, Message: u.Message}.String() }

// Result is what Check returns. All lists are in the order of the file.
type Result struct {
	Findings   []Finding
	Suppressed []Suppressed
	Unknown    []Unknown
}

// Rule is a problem that a T may have.
type Rule[T any] struct {
	Info
	check func(subject T, report report)
}

// report reports where and how a subject breaks a rule. The caller may add to the finding.
type report func(at template.Pos, format string, args ...any) *Finding

// Check returns the places where subject breaks the rule.
func (r Rule[T]) Check(subject T) []Finding {
	var all []*Finding
	r.check(subject, func(at template.Pos, format string, args ...any) *Finding {
		f := &Finding{Info: r.Info, Pos: at, Message: fmt.Sprintf(format, args...)}
		all = append(all, f)
		return f
	})
	var found []Finding
	for _, f := range all {
		found = append(found, *f)
	}
	return found
}

// apply checks a table of rules.
func apply[T any](rules []Rule[T], subject T) (found []Finding) {
	for _, r := range rules {
		found = append(found, r.Check(subject)...)
	}
	return found
}

func infos[T any](rules []Rule[T]) (list []Info) {
	for _, r := range rules {
		list = append(list, r.Info)
	}
	return list
}

// Check checks a template against all rules. It returns an error if the template's
// conditions are not known.
func Check(st *template.Stack) (Result, error) {
	var result Result
	deployments, left, err := st.Deployments()
	if err != nil {
		return result, err
	}
	queues, more, err := st.Queues()
	if err != nil {
		return result, err
	}
	for _, f := range slices.Concat(left, more) {
		result.Unknown = append(result.Unknown, Unknown{Pos: f.Pos, Message: f.Message})
	}
	sources := sourcesOf(queues)
	found := checkMappings(st, deployments, sources)
	for _, q := range queues {
		if s := sources[q.ARN]; s.mapping != nil || q.DeadLetterARN != "" {
			found = append(found, apply(Queues, *s)...)
		}
	}
	alarms, err := st.Resources("AWS::CloudWatch::Alarm")
	for _, a := range alarms {
		found = append(found, apply(Alarms, Alarm{a, sources})...)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Pos.Line, b.Pos.Line) })
	result.Findings = found
	return result, err
}

// checkMappings checks the mappings and the roles of their functions, and tells each source
// its mapping.
func checkMappings(st *template.Stack, deployments []*template.Deployment, sources map[string]*Source) (found []Finding) {
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
	return found
}
