package lambda

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Limits of filter criteria, from "Control which events Lambda sends to your function" and
// the API's type Filter.
const (
	maxFilters       = 10 // with a raised quota; the default quota is 5
	maxPatternLength = 4096
)

// Filter is a parsed filter of an event source mapping. Make it with [ParseFilter]. It is
// safe for concurrent use.
type Filter struct{ rule object }

// ParseFilter parses a pattern of a mapping's FilterCriteria: JSON as described in "Control
// which events Lambda sends to your function". Messages of SQS are filtered only by their
// body ("Using event filtering with an Amazon SQS event source"). The body is matched as
// JSON if the pattern of body is an object,
//
//	{"body": {"status": ["paid", {"prefix": "part-"}], "total": [{"numeric": [">", 100]}]}}
//
// and as a plain string if it is a list:
//
//	{"body": [{"prefix": "order "}]}
//
// A pattern with another key is an error: a table on that page filters by metadata, but its
// note says that this is not supported. ParseFilter also refuses what Lambda refuses as an
// invalid filter pattern definition. The error names the place in the pattern.
func ParseFilter(pattern string) (*Filter, error) {
	if n := utf8.RuneCountInString(pattern); n > maxPatternLength {
		return nil, fmt.Errorf("the pattern has %d characters, limit %d", n, maxPatternLength)
	}
	if !utf8.ValidString(pattern) {
		return nil, errors.New("the pattern is not UTF-8")
	}
	var top json.RawMessage
	if err := json.Unmarshal([]byte(pattern), &top); err != nil {
		return nil, fmt.Errorf("the pattern is not JSON: %w", err)
	}
	rule, err := parseObject("pattern", top)
	if err != nil {
		return nil, err
	}
	if key := rule.notBody(); key != "" {
		return nil, fmt.Errorf("pattern: %q: messages of SQS are filtered by their \"body\" only", key)
	}
	return &Filter{rule}, nil
}

// Match reports whether a message with this body passes the filter. If the formats of body
// and pattern differ, it does not pass, and Lambda drops the message: by the table of
// "Using event filtering with an Amazon SQS event source", a pattern for a plain string
// never matches a body that is valid JSON, and a pattern for an object never matches a body
// that is not. The page does not mention a body that is only a number or a quoted string.
// They are valid JSON, so they count as JSON here.
func (f *Filter) Match(body string) bool {
	return f.rule.match(record(body))
}

// record returns the fields of a message that can be filtered: the body, parsed or as a plain
// string.
func record(body string) map[string]any {
	if !json.Valid([]byte(body)) {
		return map[string]any{"body": plainString(body)}
	}
	return map[string]any{"body": parsed{literal(json.RawMessage(body))}}
}

// parsed is a body that is JSON, plainString any other body. A pattern for the one never matches
// the other.
type (
	parsed      struct{ value any }
	plainString string
)

// parseFilters returns a mapping's filters. The error names the filter's index.
func parseFilters(patterns []string) ([]*Filter, error) {
	if len(patterns) > maxFilters {
		return nil, fmt.Errorf("lambda: %d Filters: a mapping takes 5, and %d with a raised quota", len(patterns), maxFilters)
	}
	var filters []*Filter
	for i, pattern := range patterns {
		f, err := ParseFilter(pattern)
		if err != nil {
			return nil, fmt.Errorf("lambda: Filters[%d]: %w", i, err)
		}
		filters = append(filters, f)
	}
	return filters, nil
}

// passes reports whether one of the filters matches.
func passes(filters []*Filter, body string) bool {
	r := record(body)
	return slices.ContainsFunc(filters, func(f *Filter) bool { return f.rule.match(r) })
}

// object is a pattern's JSON object: all fields and alternatives must match.
type object struct {
	fields map[string]node
	either [][]object // for each "$or", the alternatives: one of them must match
}

// node is the pattern of a field's value: either an object or a list of tests, one of which must
// pass.
type node struct {
	object *object
	values []test
}

const or = "$or"

// reserved are the names of operators. If an object within "$or" has a field of such a
// name, "$or" is an ordinary field name ("And and Or With Ruler", Event Ruler).
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

// alternatives returns the objects of "$or", false if "$or" is an ordinary field name. As an
// operator it has two or more objects, none with a field that is reserved.
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
		items, err := list(path, raw)
		if err != nil {
			return node{}, err
		}
		var n node
		for i, item := range items {
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

// notBody returns a top-level field other than body, "" if there is none.
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

// match reports whether a parsed JSON value matches. A value that is not an object has no
// fields. In a list, one element has to match as a whole.
func (o object) match(value any) bool {
	switch v := value.(type) {
	case parsed:
		return o.match(v.value)
	case plainString:
		return false // even for the pattern {"exists": false}
	case []any:
		return slices.ContainsFunc(v, o.match) || len(v) == 0 && o.matchFields(nil)
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
		if !slices.ContainsFunc(either, func(o object) bool { return o.matchFields(fields) }) {
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

// appendLeaves appends a field's values for tests: a value, or all values of a list. Objects do
// not count ("Exists works on leaf nodes").
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
