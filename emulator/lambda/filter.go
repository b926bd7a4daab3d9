package lambda

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Limits of filter criteria, from "Control which events Lambda sends to your function" and
// the API's type Filter.
const (
	maxFilters       = 10 // with a raised quota; 5 without
	maxPatternLength = 4096
)

// Filter is a parsed filter of an event source mapping. Make it with [ParseFilter]. It is
// safe for concurrent use.
type Filter struct {
	pattern string
	rule    object
}

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
	return &Filter{pattern: pattern, rule: rule}, nil
}

// String returns the pattern.
func (f *Filter) String() string { return f.pattern }

// Match reports whether a message with this body passes the filter. If the formats of body
// and pattern differ, it does not pass, and Lambda drops the message: by the table of
// "Using event filtering with an Amazon SQS event source", a pattern for a plain string
// never matches a body that is valid JSON, and a pattern for an object never matches a body
// that is not. The page does not mention a body that is only a number or a quoted string.
// They are valid JSON, so they count as JSON here.
func (f *Filter) Match(body string) bool {
	return f.rule.match(record(body))
}

// record is what of a message can be filtered: a body as it was parsed, or as
// the plain string that it is.
func record(body string) map[string]any {
	dec := json.NewDecoder(bytes.NewReader([]byte(body)))
	dec.UseNumber() // numbers are compared as they are written
	var value any
	if !json.Valid([]byte(body)) || dec.Decode(&value) != nil {
		return map[string]any{"body": plainString(body)}
	}
	return map[string]any{"body": parsed{value}}
}

// parsed is a body that is JSON, plainString one that is not. Neither may match a pattern
// for the other.
type (
	parsed      struct{ value any }
	plainString string
)

// parseFilters reads a mapping's filters. Without any every message passes.
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

// passes reports whether one of the filters matches, or there are none.
func passes(filters []*Filter, body string) bool {
	if len(filters) == 0 {
		return true
	}
	r := record(body)
	for _, f := range filters {
		if f.rule.match(r) {
			return true
		}
	}
	return false
}
