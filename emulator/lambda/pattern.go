package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// object is a pattern's JSON object: all of it must match.
type object struct {
	fields map[string]node
	either [][]object // of each "$or", one object must match
}

// node is what a field's value must be: one of exactly one of the two.
type node struct {
	object *object
	values []test
}

const or = "$or"

// reserved are the operators. An object of "$or" that has one for a field makes
// "$or" a field's name like any other ("And and Or With Ruler", Event Ruler).
var reserved = []string{"exact", "prefix", "suffix", "equals-ignore-case", "anything-but", "numeric", "exists", "wildcard", "cidr"}

func parseObject(path string, raw json.RawMessage) (object, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return object{}, fmt.Errorf("%s: need an object", path)
	}
	if len(fields) == 0 {
		return object{}, fmt.Errorf("%s: is empty, need a field", path)
	}
	o := object{fields: map[string]node{}}
	for _, name := range slices.Sorted(maps.Keys(fields)) { // sorted: the same error each time
		if name == or {
			if list, ok := alternatives(fields[name]); ok {
				either, err := parseAlternatives(path, list)
				if err != nil {
					return object{}, err
				}
				o.either = append(o.either, either)
				continue
			}
		}
		n, err := parseNode(path+"."+name, fields[name])
		if err != nil {
			return object{}, err
		}
		o.fields[name] = n
	}
	return o, nil
}

// alternatives reports whether the value of "$or" is what makes it the operator:
// a list of two or more objects, none of which has an operator for a field.
func alternatives(raw json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) < 2 {
		return nil, false
	}
	for _, item := range list {
		var fields map[string]json.RawMessage
		if json.Unmarshal(item, &fields) != nil || fields == nil {
			return nil, false
		}
		for name := range fields {
			if slices.Contains(reserved, name) {
				return nil, false
			}
		}
	}
	return list, true
}

func parseAlternatives(path string, list []json.RawMessage) (either []object, err error) {
	for i, item := range list {
		o, err := parseObject(fmt.Sprintf("%s.%s[%d]", path, or, i), item)
		if err != nil {
			return nil, err
		}
		either = append(either, o)
	}
	return either, nil
}

func parseNode(path string, raw json.RawMessage) (node, error) {
	switch bytes.TrimSpace(raw)[0] {
	case '{':
		o, err := parseObject(path, raw)
		return node{object: &o}, err
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return node{}, fmt.Errorf("%s: %w", path, err)
		}
		if len(list) == 0 {
			return node{}, fmt.Errorf("%s: the list is empty, need a value", path)
		}
		var n node
		for i, item := range list {
			t, err := parseTest(fmt.Sprintf("%s[%d]", path, i), item)
			if err != nil {
				return node{}, err
			}
			n.values = append(n.values, t)
		}
		return n, nil
	}
	return node{}, fmt.Errorf("%s: need a list of values or an object, not %s", path, raw)
}

// notBody returns a field at the top other than body, "" when there is none.
func (o object) notBody() string {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if name != "body" {
			return name
		}
	}
	for _, either := range o.either {
		for _, alternative := range either {
			if name := alternative.notBody(); name != "" {
				return name
			}
		}
	}
	return ""
}

// match compares with a parsed JSON value. A value that is not an object has no fields. In
// a list, one element has to match as a whole.
func (o object) match(value any) bool {
	switch v := value.(type) {
	case parsed:
		return o.match(v.value)
	case plainString:
		return false // even for a pattern that says that something must not exist
	case []any:
		for _, element := range v {
			if o.match(element) {
				return true
			}
		}
		return len(v) == 0 && o.matchFields(nil)
	case map[string]any:
		return o.matchFields(v)
	}
	return o.matchFields(nil)
}

func (o object) matchFields(fields map[string]any) bool {
	for name, n := range o.fields {
		value, found := fields[name]
		if !n.match(value, found) {
			return false
		}
	}
	for _, either := range o.either {
		if !slices.ContainsFunc(either, func(alternative object) bool { return alternative.matchFields(fields) }) {
			return false
		}
	}
	return true
}

func (n node) match(value any, found bool) bool {
	if n.object != nil {
		return n.object.match(value)
	}
	var leaves []any
	switch v := value.(type) {
	case parsed:
		return false // JSON never matches a plain string's pattern
	case plainString:
		leaves = []any{string(v)}
	default:
		if found {
			leaves = appendLeaves(nil, v)
		}
	}
	return slices.ContainsFunc(n.values, func(t test) bool { return t(leaves) })
}

// appendLeaves appends the values with which a field's list is compared: a value, or all
// values of a list. Objects do not count ("Exists works on leaf nodes").
func appendLeaves(leaves []any, value any) []any {
	switch v := value.(type) {
	case map[string]any:
		return leaves
	case []any:
		for _, element := range v {
			leaves = appendLeaves(leaves, element)
		}
		return leaves
	}
	return append(leaves, value)
}
