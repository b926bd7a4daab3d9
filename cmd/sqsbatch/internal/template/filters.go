package template

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A Filter is one of an event's FilterCriteria.
type Filter struct {
	// Pattern is JSON as written; whether it is a pattern is not checked here.
	Pattern string
	// Line is where it stands in the template, 0 when that is not known.
	Line int
}

// quotaOfFilters is how many a mapping takes unless the account's quota was
// raised ("Control which events Lambda sends to your function").
const quotaOfFilters = 5

// filters reads FilterCriteria, {Filters: [{Pattern: JSON}]}.
func (e *evaluator) filters(s source) (out []Filter, warnings []string, err error) {
	criteria, err := e.get(layers{s.node}, "FilterCriteria")
	if criteria == nil || err != nil {
		return nil, nil, err
	}
	list, err := e.field(criteria, "Filters")
	if err != nil {
		return nil, nil, err
	}
	items, err := e.items(list)
	if err != nil {
		return nil, nil, err
	}
	for i, item := range items {
		f, err := e.filter(item, fmt.Sprintf("filter %d of event %s of %s", i+1, s.name, s.function.id))
		if err != nil {
			return nil, nil, err
		}
		out = append(out, f)
	}
	if len(out) > quotaOfFilters {
		warnings = append(warnings, fmt.Sprintf("event %s has %d filters: Lambda takes %d, and more only where the account's quota was raised",
			s.name, len(out), quotaOfFilters))
	}
	return out, warnings, nil
}

func (e *evaluator) filter(item *yaml.Node, name string) (Filter, error) {
	pattern, err := e.field(item, "Pattern")
	if err != nil {
		return Filter{}, err
	}
	if pattern == nil {
		return Filter{}, e.errorf(item, `%s has no Pattern; give one, as in Pattern: '{"body": {"status": ["paid"]}}'`, name)
	}
	if pattern.Kind != yaml.ScalarNode {
		return Filter{}, e.errorf(pattern, `the Pattern of %s is %s; it must be a string of JSON, as in Pattern: '{"body": {"status": ["paid"]}}'`, name, kind(pattern))
	}
	return Filter{Pattern: pattern.Value, Line: pattern.Line}, nil
}
