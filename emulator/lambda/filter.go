package lambda

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Bounds of filter criteria, from "Control which events Lambda sends to your
// function" and the API's type Filter.
const (
	maxFilters       = 10 // with a raised quota; 5 without
	maxPatternLength = 4096
)

// Filter is a parsed filter of an event source mapping. [ParseFilter] makes
// one; it may be used by many goroutines at once.
type Filter struct {
	pattern string
	rule    object
}

// ParseFilter reads the Pattern of one of a mapping's FilterCriteria, JSON as
// written in "Control which events Lambda sends to your function". Messages of
// SQS are filtered by their body alone ("Using event filtering with an Amazon
// SQS event source"): as JSON when the pattern of body is an object,
//
//	{"body": {"status": ["paid", {"prefix": "part-"}], "total": [{"numeric": [">", 100]}]}}
//
// and as a plain string when it is a list:
//
//	{"body": [{"prefix": "order "}]}
//
// A pattern with another key, which that page's table would have filter by
// metadata and its note says is not supported, is an error rather than a guess.
// The error, also for what Lambda refuses as an invalid filter pattern
// definition, names the place in the pattern.
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

// Match tells whether a message with this body passes the filter. Where the
// formats differ it does not, and Lambda drops the message: by the table of
// "Using event filtering with an Amazon SQS event source" a body that is valid
// JSON never matches a plain string's pattern, and one that is not never
// matches that of an object. The page does not say what a number or a quoted
// string by itself is; they are valid JSON, and taken as that.
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

// parsed is a body that is JSON, plainString one that is not: neither must pass
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

// passes tells whether one of the filters matches, or there are none.
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
