package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// An answer says whether a statement of a policy is about a call, as far as that is known.
type answer int

const (
	perhaps answer = iota
	never
	surely
)

// or is the answer of alternatives, of which one is enough.
func (a answer) or(b answer) answer {
	switch {
	case a == surely || b == surely:
		return surely
	case a == never && b == never:
		return never
	}
	return perhaps
}

// and is the answer of two tests that must both be met.
func (a answer) and(b answer) answer { return a.not().or(b.not()).not() }

func (a answer) not() answer {
	switch a {
	case surely:
		return never
	case never:
		return surely
	}
	return perhaps
}

// about reports whether a statement, whatever its effect is, is about a call with an action that
// the service makes when it delivers. If it never is because of a condition, why says so.
func (d delivery) about(s template.Value, action string) (all answer, why string) {
	all = d.isPrincipal(s).and(anyText(s.Get("Action"), func(text string) answer { return answerOf(matches(text, action)) }))
	if all == never {
		return never, ""
	}
	condition := s.Get("Condition")
	if condition.Err != nil {
		return all.and(perhaps), ""
	}
	for operator, tests := range condition.Entries() {
		if tests.Err != nil {
			all = all.and(perhaps)
		}
		for key, value := range tests.Entries() {
			a, says := d.meets(strings.ToLower(operator), key, value)
			why = cmp.Or(says, why)
			if all = all.and(a); all == never {
				return never, why
			}
		}
	}
	return all, why
}

// isPrincipal reports whether a statement names the service.
func (d delivery) isPrincipal(s template.Value) answer {
	principal := s.Get("Principal")
	services, err := texts(principal.Get("Service"))
	_, unknown := texts(principal.Get("AWS"))
	name, _, _ := strings.Cut(d.service, ".")
	switch {
	case everyone(principal) || slices.Contains(services, d.service):
		return surely
	case principal.Absent() || err != nil || unknown != nil || slices.ContainsFunc(services, func(s string) bool { return strings.HasPrefix(s, name+".") }):
		return perhaps
	}
	return never
}

func answerOf(yes bool) answer {
	if yes {
		return surely
	}
	return never
}

// anyText is the answer for a text or a list of them: perhaps, if there is none or if they are not known.
func anyText(v template.Value, of func(string) answer) answer {
	list, err := texts(v)
	if err != nil || list == nil {
		return perhaps
	}
	a := never
	for _, text := range list {
		a = a.or(of(text))
	}
	return a
}

// noCaller are keys of conditions, in lower case, that calls of services do not have: they are
// about identities of an account, and about networks ("AWS global condition context keys", "AWS KMS
// condition keys").
var noCaller = []string{"aws:principalorgid", "aws:principalorgpaths", "aws:principalaccount", "aws:principalarn", "aws:sourcevpc", "aws:sourcevpce", "kms:calleraccount"}

// meets reports whether the service's call meets a test of a condition.
func (d delivery) meets(operator, key string, value template.Value) (answer, string) {
	given, key := key, strings.ToLower(key)
	name := strings.TrimSuffix(strings.TrimPrefix(operator, "forallvalues:"), "ifexists")
	name = strings.TrimPrefix(name, "foranyvalue:")
	positive := strings.ReplaceAll(name, "not", "")
	is := func(a answer, why string) (answer, string) {
		if name != positive {
			a = a.not()
		}
		return a, why
	}
	switch {
	case name == "null":
		return perhaps, ""
	case slices.Contains(noCaller, key):
		absent := "calls of services do not have " + given
		with := strings.HasPrefix(operator, "forallvalues:") || strings.HasSuffix(operator, "ifexists")
		return answerOf(with || name != positive && !strings.HasPrefix(operator, "foranyvalue:")), absent
	case positive == "bool" && (key == "aws:securetransport" || key == "aws:principalisawsservice"):
		return anyText(value, func(text string) answer { return answerOf(strings.EqualFold(text, "true")) }), ""
	case key == "aws:principalservicename" && strings.HasPrefix(positive, "string"):
		return is(anyText(value, func(text string) answer { return answerOf(matches(text, d.service)) }), "")
	case key == "kms:viaservice":
		return is(anyText(value, func(text string) answer {
			if matches(text, "sqs.us-east-1.amazonaws.com") || strings.HasPrefix(text, "sqs.") {
				return perhaps
			}
			return never
		}), "AWS does not say whether calls for services have kms:ViaService")
	case key == "aws:sourcearn" && slices.Contains([]string{"stringequals", "stringequalsignorecase", "stringlike", "arnequals", "arnlike"}, positive):
		why := ""
		a := anyText(value, func(text string) answer {
			if strings.HasPrefix(positive, "stringequals") && strings.ContainsAny(text, "*?") && !strings.Contains(text, "${") {
				why = "its aws:SourceArn is " + text + ", whose wildcard counts as a letter without ArnLike or StringLike"
				return never
			}
			a := d.isSource(text)
			if a == never && why == "" {
				why = "its aws:SourceArn is " + strings.Trim(text, "${}")
			}
			return a
		})
		return is(a, why)
	}
	return perhaps, ""
}

// isSource reports whether a value of aws:SourceArn is the ARN of what sends.
func (d delivery) isSource(text string) answer {
	id, _, attribute := strings.Cut(strings.TrimPrefix(text, "${"), ".")
	if attribute = attribute && strings.HasPrefix(text, "${"); !attribute {
		id = text
	}
	if r, ok := d.st.Resource(id); ok {
		of := serviceOf(r)
		switch {
		case of == "":
			return perhaps
		case of != d.service || of != "sns.amazonaws.com" && !attribute: // the Ref of a bucket or a rule is its name
			return never
		case d.owner.ID == "":
			return perhaps
		}
		return answerOf(r.ID == d.owner.ID)
	}
	if strings.Trim(text, "*?") == "" {
		return surely
	}
	parts := strings.SplitN(text, ":", 6)
	switch {
	case attribute || strings.Contains(text, "${") || strings.ContainsAny(parts[0], "*?") || parts[0] == "arn" && len(parts) < 6:
		return perhaps
	case parts[0] != "arn" || !matches(parts[2], strings.TrimSuffix(d.service, ".amazonaws.com")):
		return never
	}
	return sameARN(d.st, parts, d.arn)
}

// serviceOf is the service that sends for a resource, "" if that is not judged.
func serviceOf(r template.Resource) string {
	if r.Type == template.SAMFunction || r.Type == "AWS::SNS::Subscription" {
		return ""
	}
	return senders[r.Type].service
}

// sameARN reports whether the parts of a pattern match those of an ARN, which are "" if they are not
// known. The region and the account are made up unless they are given, and so is the stack's name.
func sameARN(st *template.Stack, pattern, arn []string) answer {
	region, account := st.Where()
	all := surely
	for i, given := range []string{"", "", "", region, account, "name"} {
		switch {
		case i < 3 || strings.Trim(pattern[i], "*") == "":
		case given == "" || arn == nil || arn[i] == "":
			all = perhaps
		case matches(pattern[i], arn[i]):
		case i == 5 && strings.Contains(pattern[i]+arn[i], "local"):
			all = perhaps
		default:
			return never
		}
	}
	return all
}
