package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// suppressions are the rules of suppressions.
var suppressions = []Rule[struct{}]{unused, unreasoned}

var unused = Rule[struct{}]{Info: Info{ID: "SB001", Severity: Warning,
	Title: "A suppression that suppresses nothing",
	Why:   "The finding is gone, or the suppression is at the wrong place. If it stays there, it hides the next finding."}}

var unreasoned = Rule[struct{}]{Info: Info{ID: "SB002", Severity: Warning,
	Title: "A suppression without a reason, or of an unknown rule",
	Why:   "The next reader of the template must know why the finding does not matter. Such a suppression has no effect."}}

// A suppression says that a rule's findings are to be ignored: those of a resource, of a line,
// or, if it has neither, of the whole template.
type suppression struct {
	id, reason string
	at         template.Pos
	resource   string
	line       int
	used       bool
}

// suppressionsOf lists those of the template: of Metadata and of comments.
func suppressionsOf(st *template.Stack) (list []*suppression) {
	read := func(v template.Value, resource string) {
		for id, reason := range v.Get("ignore").Entries() {
			text, _ := reason.Str()
			list = append(list, &suppression{id: id, reason: text, at: reason.Pos, resource: resource})
		}
	}
	read(st.Metadata("sqsbatch"), "")
	for _, r := range st.All() {
		read(r.Metadata("sqsbatch"), st.Around(r.Pos))
	}
	return append(list, commented(st)...)
}

var ignoring = regexp.MustCompile(`^sqsbatch:ignore\s+(\S+)\s*(.*)$`)

// commented lists suppressions in comments: on the line of the finding, or above it.
func commented(st *template.Stack) (list []*suppression) {
	text := st.Text()
	alone := map[int]bool{}
	comments := text.Comments("sqsbatch:ignore")
	for _, c := range comments {
		alone[c.Line] = c.Alone
	}
	for _, c := range comments {
		part := append(ignoring.FindStringSubmatch(c.Text), "", "", "") // it may name no rule
		line := c.Line
		for alone[line] || c.Alone && text.Commented(line) {
			line++
		}
		list = append(list, &suppression{id: part[1], reason: strings.Trim(part[2], " :-–"), at: template.Pos{File: st.Path, Line: c.Line, Col: c.Col}, line: line})
	}
	return list
}

// suppress moves what the template says to ignore from the findings to the suppressed, and
// reports suppressions that have no effect.
func (c *collector) suppress(st *template.Stack) {
	list := suppressionsOf(st)
	known := Rules()
	var valid []*suppression
	for _, s := range list {
		switch i := slices.IndexFunc(known, func(r Info) bool { return r.ID == s.id }); {
		case i < 0:
			c.apply(unreasoned.Info, Subject{}, func(r *reporter) { r.report(s.at, "there is no rule %q", s.id) })
		case s.reason == "":
			c.apply(unreasoned.Info, Subject{}, func(r *reporter) { r.report(s.at, "the suppression of %s gives no reason, and has no effect", s.id) })
		default:
			valid = append(valid, s)
		}
	}
	var left []Finding
	for _, f := range c.Findings {
		i := slices.IndexFunc(valid, func(s *suppression) bool {
			return s.id == f.ID && (s.resource == "" || s.resource == f.Resource) && (s.line == 0 || s.line == f.Pos.Line)
		})
		if i < 0 {
			left = append(left, f)
			continue
		}
		valid[i].used = true
		c.Suppressed = append(c.Suppressed, Suppressed{f, valid[i].reason, valid[i].at})
	}
	c.Findings = left
	for _, s := range valid {
		unsure := slices.ContainsFunc(c.Unknown, func(u Unknown) bool { return u.Rules == nil || slices.Contains(u.Rules, s.id) })
		if !s.used && !unsure {
			c.apply(unused.Info, Subject{}, func(r *reporter) { r.report(s.at, "nothing here breaks %s: remove the suppression", s.id) })
		}
	}
}
