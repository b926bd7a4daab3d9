package template

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A Filter is one of an event's FilterCriteria.
type Filter struct {
	// Pattern is JSON as written; whether it is a pattern is not checked here.
	Pattern string
	// Pos is where it stands in the template.
	Pos Pos
}

// filters reads FilterCriteria, {Filters: [{Pattern: JSON}]}.
func (s source) filters() ([]Filter, error) {
	items, err := s.in.Get("FilterCriteria", "Filters").List()
	if err != nil {
		return nil, err
	}
	var out []Filter
	for i, item := range items {
		f, err := item.filter(fmt.Sprintf("filter %d of event %s of %s", i+1, s.name, s.function.ID))
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (v Value) filter(name string) (Filter, error) {
	pattern := v.Get("Pattern")
	switch {
	case pattern.Err != nil:
		return Filter{}, pattern.Err
	case pattern.Absent():
		return Filter{}, &Error{Pos: v.Pos, Message: name + ` has no Pattern; give one, as in Pattern: '{"body": {"status": ["paid"]}}'`}
	case pattern.node.Kind != yaml.ScalarNode:
		return Filter{}, v.st.errorf(pattern.node, `the Pattern of %s is %s; it must be a string of JSON, as in Pattern: '{"body": {"status": ["paid"]}}'`, name, kind(pattern.node))
	}
	return Filter{Pattern: pattern.node.Value, Pos: v.st.at(pattern.node)}, nil
}
