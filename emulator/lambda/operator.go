package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// test decides about the values of a field; there are none when it is absent.
type test func(leaves []any) bool

// oneOf is a test that one of the values has to pass.
func oneOf(passes func(leaf any) bool) test {
	return func(leaves []any) bool { return slices.ContainsFunc(leaves, passes) }
}

// ofStrings is a oneOf that nothing but strings pass.
func ofStrings(passes func(s string) bool) test {
	return oneOf(func(leaf any) bool { s, ok := leaf.(string); return ok && passes(s) })
}

// parseTest reads a value of a pattern's list: a literal or an operator.
func parseTest(path string, raw json.RawMessage) (test, error) {
	switch bytes.TrimSpace(raw)[0] {
	case '[':
		return nil, fmt.Errorf("%s: need a value or an operator, not a list", path)
	case '{':
		return parseOperator(path, raw)
	}
	value, err := literal(path, raw)
	if err != nil {
		return nil, err
	}
	// Numbers are equal when they are written the same: 300 is not 3.0e2.
	return oneOf(func(leaf any) bool { return leaf == value }), nil
}

// literal returns a string, a json.Number, a bool or nil.
func literal(path string, raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return value, nil
}

func parseOperator(path string, raw json.RawMessage) (test, error) {
	name, operand, err := only(path, raw)
	if err != nil {
		return nil, err
	}
	path += "." + name
	switch name {
	case "prefix", "suffix", "equals-ignore-case":
		passes, err := parseText(path, name, operand)
		return ofStrings(passes), err
	case "anything-but":
		return parseAnythingBut(path, operand)
	case "numeric":
		return parseNumeric(path, operand)
	case "exists":
		var want *bool
		if json.Unmarshal(operand, &want) != nil || want == nil {
			return nil, fmt.Errorf("%s: need true or false, not %s", path, operand)
		}
		return func(leaves []any) bool { return *want == (len(leaves) > 0) }, nil
	}
	return nil, fmt.Errorf("%s: Lambda has no such operator; need prefix, suffix, equals-ignore-case, anything-but, numeric or exists", path)
}

// only returns the one field of an operator's object.
func only(path string, raw json.RawMessage) (name string, operand json.RawMessage, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(fields) != 1 {
		return "", nil, fmt.Errorf("%s: need one operator, have %d", path, len(fields))
	}
	for name, operand = range fields {
	}
	return name, operand, nil
}

// parseText reads the operand of the operators on strings. A prefix or suffix
// may itself be one that ignores case.
func parseText(path, name string, operand json.RawMessage) (func(string) bool, error) {
	var want *string
	if json.Unmarshal(operand, &want) == nil && want != nil {
		return textTest(name, *want), nil
	}
	if name != "equals-ignore-case" && bytes.TrimSpace(operand)[0] == '{' {
		inner, nested, err := only(path, operand)
		if err != nil {
			return nil, err
		}
		if inner == "equals-ignore-case" && json.Unmarshal(nested, &want) == nil && want != nil {
			return textTest(name+" "+inner, *want), nil
		}
		return nil, fmt.Errorf("%s: need a string or {\"equals-ignore-case\": string}", path)
	}
	return nil, fmt.Errorf("%s: need a string, not %s", path, operand)
}

func textTest(name, want string) func(string) bool {
	switch name {
	case "prefix":
		return func(s string) bool { return strings.HasPrefix(s, want) }
	case "suffix":
		return func(s string) bool { return strings.HasSuffix(s, want) }
	case "prefix equals-ignore-case":
		return func(s string) bool { return foldedPrefix(s, want) }
	case "suffix equals-ignore-case":
		return func(s string) bool { return foldedSuffix(s, want) }
	}
	return func(s string) bool { return strings.EqualFold(s, want) }
}

// foldedPrefix and foldedSuffix ignore case. What they compare has the same
// number of characters, not of bytes.
func foldedPrefix(s, prefix string) bool {
	n := len([]rune(prefix))
	r := []rune(s)
	return len(r) >= n && strings.EqualFold(string(r[:n]), prefix)
}

func foldedSuffix(s, suffix string) bool {
	n := len([]rune(suffix))
	r := []rune(s)
	return len(r) >= n && strings.EqualFold(string(r[len(r)-n:]), suffix)
}
