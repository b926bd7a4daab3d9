package rules

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// maxTried bounds how often a template is checked for the values that its parameters may have.
const maxTried = 16

// Check checks a template against all rules. What cannot be read is in Result.Unknown. Check
// returns an error only if the template's expressions are too many to evaluate, as with
// aliases that multiply.
//
// If a parameter without a value decides whether resources are created, the template is checked
// with each of its AllowedValues.
func Check(st *template.Stack) (Result, error) {
	result, err := check(st)
	if err != nil {
		return result, err
	}
	tries := maxTried
	if tried, ok, err := tryAllowed(st, result, &tries); err != nil || ok {
		return tried, err
	}
	return result, nil
}

// tryAllowed checks the template with each allowed value of a parameter that keeps a resource
// in result from being checked, and of others that then do. It returns false if there is none, or
// if there are too many values.
func tryAllowed(st *template.Stack, result Result, tries *int) (Result, bool, error) {
	parameter, values := "", []string(nil)
	for _, u := range result.Unknown {
		if u.Parameter != "" && len(values) == 0 {
			parameter, values = u.Parameter, st.Allowed(u.Parameter)
		}
	}
	if *tries -= len(values); len(values) == 0 || *tries < 0 {
		return result, false, nil
	}
	var results []Result
	for _, value := range values {
		with := st.With(parameter, value)
		result, err := check(with)
		if err == nil {
			result, _, err = tryAllowed(with, result, tries)
		}
		if err != nil {
			return result, true, err
		}
		results = append(results, result)
	}
	return union(parameter, values, results), true, nil
}

// union is what results for the values of a parameter say together. A finding that some of them
// do not have says for which values it is one. A suppression suppresses nothing only if that is so
// for all values.
func union(parameter string, values []string, results []Result) (all Result) {
	c, of, suppressed := newCollector(), map[said][]string{}, map[said]bool{}
	for i, result := range results {
		for _, f := range result.Findings {
			key := said{f.ID, f.Message, f.Pos}
			of[key] = append(of[key], values[i])
			if _, again := c.found[key]; !again {
				c.found[key] = 0
				c.Findings = append(c.Findings, f)
			}
		}
		for _, s := range result.Suppressed {
			if key := (said{s.ID, s.Message, s.Pos}); !suppressed[key] {
				suppressed[key] = true
				c.Suppressed = append(c.Suppressed, s)
			}
		}
		for _, u := range result.Unknown {
			c.unsure(u)
		}
	}
	for _, f := range c.Findings {
		having := of[said{f.ID, f.Message, f.Pos}]
		switch {
		case len(having) == len(values):
		case f.ID == unused.ID:
			continue
		default:
			f.Message += fmt.Sprintf(" (if %s is %s)", parameter, strings.Join(having, " or "))
		}
		all.Findings = append(all.Findings, f)
	}
	all.Suppressed, all.Unknown = c.Suppressed, c.Unknown
	all.sort()
	return all
}

// check is Check with the values that the parameters have.
func check(st *template.Stack) (Result, error) {
	survey := st.Survey()
	st = survey.Stack
	c := newCollector()
	var mappings []Mapping
	for _, m := range survey.Mappings {
		mappings = append(mappings, Mapping{m})
	}
	sources := sourcesOf(survey.Queues, mappings)
	c.checkMappings(st, mappings)
	c.checkContainers(st, sources)
	list, err := st.Resources("AWS::CloudWatch::Alarm")
	if err != nil {
		return c.Result, err
	}
	c.checkQueues(st, survey.Queues, sources, alarmsOf(st, list))
	for _, a := range list {
		apply(c, Alarms, Subject{}, Alarm{a, sources})
	}
	policies, err := st.Resources("AWS::SQS::QueuePolicy", "AWS::SQS::QueueInlinePolicy")
	for _, p := range policies {
		apply(c, Policies, Subject{}, Policy{p})
	}
	for _, f := range survey.Left() {
		c.unsure(Unknown{Pos: f.Pos, Message: f.Message, Parameter: f.Parameter})
	}
	c.place(st)
	c.suppress(st)
	c.place(st) // of those about suppressions
	if st.Exhausted() {
		return Result{}, errors.New("the template's expressions are too many to check: do its aliases multiply?")
	}
	return c.Result, err
}

// checkMappings checks mappings, their functions and the functions' roles.
func (c *collector) checkMappings(st *template.Stack, mappings []Mapping) {
	policies := attachmentsOf(st)
	for _, m := range mappings {
		apply(c, Mappings, Subject{m.Function.LogicalID, m.Event.Name, m.Queue.LogicalID}, m)
		switch {
		case m.Event.QueueARN == "":
			_, err := queueOfEvent(m).Str()
			if err == nil {
				err = &template.Error{Pos: m.Event.Pos, Message: "it is no queue's ARN"}
			}
			c.unsure(Unknown{Pos: m.Event.Pos, Message: "the queue of event " + m.Event.Name + " is not known, and its settings are not checked: " + template.Reason(m.Event.Pos, err)})
		case m.Queue.LogicalID == "":
			c.unsure(Unknown{Pos: m.Event.Pos, Message: "queue " + m.Queue.Name + " is not in the template, and its settings are not checked"})
		}
		if m.Function.LogicalID == "" {
			c.unsure(Unknown{Pos: m.Event.Pos, Message: "the function of mapping " + m.Event.Name + " is not in the template, and its settings are not checked"})
		} else if m.Queue.ARN != "" {
			c.checkRole(st, m, policies)
		}
	}
	for _, f := range functionsOf(mappings) {
		about := Subject{Function: f.LogicalID}
		apply(c, Functions, about, *f)
		variables := variablesOf(f.Function)
		if len(f.Mappings) == 1 { // the variables are for one queue
			apply(c, consumers, about, consumer{variables, f.Mappings[0].Queue})
		}
		if !isForeign(f.Resource) {
			apply(c, Environments, about, variables)
		}
	}
}

// queueOfEvent is what names the queue of a mapping.
func queueOfEvent(m Mapping) template.Value {
	if v := m.get("Queue"); !v.Absent() {
		return v
	}
	return m.get("EventSourceArn")
}

func (c *collector) checkRole(st *template.Stack, m Mapping, policies attachments) {
	role, err := roleOf(st, m, policies)
	if err != nil {
		at := m.Function.Resource.Pos
		c.unsure(Unknown{Pos: at, Rules: idsOf(Roles), Message: "the permissions of function " + m.Function.LogicalID + " are not checked: " + template.Reason(at, err)})
		return
	}
	apply(c, Roles, Subject{m.Function.LogicalID, m.Event.Name, m.Queue.LogicalID}, role)
}

// checkQueues checks the queues and their keys.
func (c *collector) checkQueues(st *template.Stack, queues []template.Queue, sources map[string]*Source, watching *alarms) {
	deliveries, policies := deliveriesTo(st), queuePoliciesOf(st)
	piped, failed := pipedQueues(st), failuresOf(st)
	region, account := st.Where()
	for _, q := range queues {
		s := *sources[q.ARN]
		if s.LogicalID != q.LogicalID { // two of a name, which CloudFormation refuses
			continue
		}
		s.alarms, s.region, s.account, s.policies, s.deliveries = watching, region, account, policies, deliveries[q.ARN]
		s.pipe, s.piped = piped[q.ARN]
		s.failures = len(s.deadOf) > 0 || failed[q.ARN] || deadName.MatchString(q.LogicalID+" "+q.Name)
		apply(c, Queues, Subject{Queue: q.LogicalID}, s)
		apply(c, watched, Subject{}, s)
		apply(c, fed, Subject{}, s)
		if key := keyOf(st, q); key != nil {
			apply(c, Keys, Subject{}, Key{key, s.deliveries})
		}
	}
}

// pipedQueues are the queues that pipes of EventBridge may poll, with whether one surely does.
func pipedQueues(st *template.Stack) map[string]bool {
	list, created := map[string]bool{}, creation(st)
	for _, r := range st.All() {
		if r.Type == "AWS::Pipes::Pipe" {
			arn, _ := r.Get("Source").Str()
			list[arn] = list[arn] || created(r)
		}
	}
	return list
}

// deadName matches names of dead-letter queues. The template of a dead-letter queue may not
// have what sends to it.
var deadName = regexp.MustCompile(`(?i)dlq|dead.?letter`)

// A visit is a place that was read. Aliases that multiply lead to the same places.
type visit struct {
	pos   template.Pos
	name  string
	below bool
}

// failuresOf are the queues, by their ARNs, that get what failed elsewhere: queues, topics,
// rules, schedules, functions and mappings may name one.
func failuresOf(st *template.Stack) map[string]bool {
	queues, visited := map[string]bool{}, map[visit]bool{}
	var collect func(v template.Value, below bool)
	collect = func(v template.Value, below bool) {
		at := visit{v.Pos, v.Name(), below}
		if visited[at] {
			return
		}
		visited[at] = true
		for name, entry := range v.Entries() {
			collect(entry, below || slices.Contains([]string{"RedrivePolicy", "DeadLetterConfig", "DeadLetterQueue", "OnFailure"}, name))
		}
		items, _ := v.List()
		for _, item := range items {
			collect(item, below)
		}
		if text, err := v.Str(); below && err == nil {
			queues[text] = true
		}
	}
	for _, r := range st.All() {
		collect(r.Get(), false)
	}
	return queues
}

// place fills in what follows from the places of findings, and sorts by them.
func (c *collector) place(st *template.Stack) {
	text := st.Text()
	for i, f := range c.Findings {
		c.Findings[i].EndCol = text.EndCol(f.Pos.Line, f.Pos.Col)
		c.Findings[i].Resource = st.Around(f.Pos)
	}
	for i, u := range c.Unknown {
		c.Unknown[i].EndCol = text.EndCol(u.Pos.Line, u.Pos.Col)
		c.Unknown[i].Resource = st.Around(u.Pos)
	}
	c.sort()
}

// sort sorts by places.
func (r *Result) sort() {
	before := func(a, b template.Pos) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return before(a.Pos, b.Pos) })
	slices.SortStableFunc(r.Suppressed, func(a, b Suppressed) int { return before(a.Pos, b.Pos) })
	slices.SortStableFunc(r.Unknown, func(a, b Unknown) int { return before(a.Pos, b.Pos) })
}
