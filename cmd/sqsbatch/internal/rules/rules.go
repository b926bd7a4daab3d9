// Package rules checks a template against rules: for settings of mappings, queues, roles and
// alarms that AWS accepts, but that lose messages or time when something fails.
//
//	st, err := tmpl.Stack(template.Options{})
//	if err != nil {
//		return err
//	}
//	result, err := rules.Check(st)
//
// A rule is an entry in a table, by its subject: [Mappings], [Functions], [Environments],
// [Containers], [Probes], [Scalings], [Queues], [Policies], [Keys], [Roles] or [Alarms].
// A rule does not judge values that are known only after the deployment: they are in
// [Result].Unknown.
package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
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
	// permissions, SB4xx of containers, SB5xx of alarms. An id never gets another meaning.
	ID string
	// Severity is the severity of most findings. A finding may have another, which
	// depends on the value.
	Severity Severity
	Title    string // what is wrong, in one line
	Why      string // what it costs, in a sentence or two
	Page     string // the name of the page of AWS's documentation that says so
}

// Document is the place below docs that describes the rule.
func (i Info) Document() string {
	page := map[byte]string{'0': "suppressions", '1': "mappings", '2': "queues", '3': "permissions", '4': "containers", '5': "alarms"}[i.ID[2]]
	return "lint/" + page + ".md#" + strings.ToLower(i.ID)
}

// Rules describes all rules, in the order of their ids.
func Rules() []Info {
	list := slices.Concat(infos(Mappings), infos(Functions), infos(consumers), infos(Environments), infos(Containers), infos(Probes), infos(Scalings), infos(Queues), infos(watched), infos(fed), infos(Policies), infos(Keys),
		infos(Roles), infos(Alarms), infos(suppressions))
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// A Finding is a place where a template breaks a rule.
type Finding struct {
	// Info is the rule's, with the finding's own severity.
	Info
	// Pos and EndCol are the text that is wrong: on the line of Pos, from Pos.Col up to but
	// without EndCol. They count characters from 1.
	Pos      template.Pos
	EndCol   int
	Resource string // the logical id of the resource around Pos, "" outside of Resources
	// Attribute is what is wrong of a resource of Terraform, whose address is Resource. There is no
	// Pos then.
	Attribute string
	About     []Subject // the subjects of the rule that it is a finding of
	Message   string    // what is wrong here, with names and values
	Fix       *Fix      // nil if there is no safe one
}

// A Subject is what a rule judged: a mapping, or its function's role, if it has an Event, else a
// function or a queue. It is empty for rules about containers, alarms, policies, keys and
// suppressions.
type Subject struct {
	Function string // logical id
	Event    string // as in [template.Event].Name
	Queue    string // logical id
}

// String returns the message after its place.
func (f Finding) String() string { return template.Finding{Pos: f.Pos, Message: f.Message}.String() }

// Suppressed is a finding that the template says to ignore.
type Suppressed struct {
	Finding
	Reason string       // what the template gives as the reason
	By     template.Pos // the place of the suppression
}

// Unknown is something that could not be checked.
type Unknown struct {
	Pos      template.Pos
	EndCol   int
	Resource string
	// Attribute is as in Finding.
	Attribute string
	Rules     []string // the ids of the rules that need it, nil if that is all rules on the resource
	Message   string   // what is not known, and why
	// Parameter is the parameter without a value that keeps a resource from being checked.
	Parameter string
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
	check func(subject T, r *reporter)
}

// A reporter collects what a rule says about a subject.
type reporter struct {
	info    Info
	found   []*Finding
	unknown []Unknown
}

// report adds a finding, to which the caller may add.
func (r *reporter) report(at template.Pos, format string, args ...any) *Finding {
	f := &Finding{Info: r.info, Pos: at, Message: fmt.Sprintf(format, args...)}
	r.found = append(r.found, f)
	return f
}

// unsure says that the rule cannot be checked.
func (r *reporter) unsure(at template.Pos, format string, args ...any) {
	r.unknown = append(r.unknown, Unknown{Pos: at, Rules: []string{r.info.ID}, Message: fmt.Sprintf(format, args...)})
}

// known reports whether all values are known. If one is not, it says so.
func (r *reporter) known(values ...template.Value) bool {
	for _, v := range values {
		if err := v.Unknown(); err != nil {
			r.unsure(v.Pos, "%s is not known: %s", v.Name(), template.Reason(v.Pos, err))
			return false
		}
	}
	return true
}

// number reads a whole number. It returns false if there is none, or if it is not known.
func (r *reporter) number(v template.Value) (int, bool) {
	n, err := v.Int(0)
	if err != nil {
		r.unsure(v.Pos, "%s is not known: %s", v.Name(), template.Reason(v.Pos, err))
	}
	return n, err == nil && !v.Absent()
}

// A collector collects what rules say, each thing once.
type collector struct {
	Result
	// found and unknown are indexes of Findings and of Unknown, right until those are sorted:
	// nothing is said again afterwards.
	found, unknown map[said]int
}

// said is what makes two findings, or two unknowns, the same.
type said struct {
	id, message string
	pos         template.Pos
}

func newCollector() *collector {
	return &collector{found: map[said]int{}, unknown: map[said]int{}}
}

func (c *collector) apply(info Info, about Subject, check func(*reporter)) {
	r := &reporter{info: info}
	check(r)
	for _, f := range r.found {
		key := said{f.ID, f.Message, f.Pos}
		i, again := c.found[key]
		if !again {
			i = len(c.Findings)
			c.found[key] = i
			c.Findings = append(c.Findings, *f)
		}
		c.Findings[i].About = append(c.Findings[i].About, about)
	}
	for _, u := range r.unknown {
		c.unsure(u)
	}
}

// unsure adds what is not known, once for all rules that need it.
func (c *collector) unsure(u Unknown) {
	key := said{message: u.Message, pos: u.Pos}
	i, again := c.unknown[key]
	switch {
	case !again:
		c.unknown[key] = len(c.Unknown)
		c.Unknown = append(c.Unknown, u)
	case len(c.Unknown[i].Rules) > 0 && len(u.Rules) > 0 && !slices.Contains(c.Unknown[i].Rules, u.Rules[0]):
		c.Unknown[i].Rules = append(c.Unknown[i].Rules, u.Rules...)
	}
}

// apply checks a table of rules.
func apply[T any](c *collector, rules []Rule[T], about Subject, subject T) {
	for _, r := range rules {
		c.apply(r.Info, about, func(out *reporter) { r.check(subject, out) })
	}
}

// idsOf lists the ids of rules.
func idsOf[T any](rules []Rule[T]) (list []string) {
	for _, r := range rules {
		list = append(list, r.ID)
	}
	return list
}

func infos[T any](rules []Rule[T]) (list []Info) {
	for _, r := range rules {
		list = append(list, r.Info)
	}
	return list
}
