package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// test reports whether the values of a field pass. An absent field has no values.
type test func(leaves []any) bool

// oneOf returns a test that at least one value has to pass.
func oneOf(passes func(leaf any) bool) test {
	return func(leaves []any) bool { return slices.ContainsFunc(leaves, passes) }
}

// ofStrings is like oneOf, for strings. Other values do not pass.
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
	value := literal(raw)
	// Numbers are compared as text: 300 is not 3.0e2.
	return oneOf(func(leaf any) bool { return leaf == value }), nil
}

// literal returns a decoded JSON value, numbers as json.Number.
func literal(raw json.RawMessage) (value any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()        // keeps the text of numbers
	_ = dec.Decode(&value) // raw is valid JSON
	return value
}

func parseOperator(path string, raw json.RawMessage) (test, error) {
	name, operand, err := onlyField(path, raw)
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
		want, ok := literal(operand).(bool)
		if !ok {
			return nil, fmt.Errorf("%s: need true or false, not %s", path, operand)
		}
		return func(leaves []any) bool { return want == (len(leaves) > 0) }, nil
	}
	return nil, fmt.Errorf("%s: Lambda has no such operator; need prefix, suffix, equals-ignore-case, anything-but, numeric or exists", path)
}

// onlyField returns the one field of an operator's object.
func onlyField(path string, raw json.RawMessage) (name string, operand json.RawMessage, err error) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // raw is an object
	if len(fields) != 1 {
		return "", nil, fmt.Errorf("%s: need one operator, have %d", path, len(fields))
	}
	for name, operand = range fields {
	}
	return name, operand, nil
}

// parseText returns the test of prefix, suffix or equals-ignore-case. The operand of prefix and
// suffix may be {"equals-ignore-case": string}.
func parseText(path, name string, operand json.RawMessage) (func(string) bool, error) {
	if want, ok := literal(operand).(string); ok {
		return textTest(name, want), nil
	}
	if name != "equals-ignore-case" && bytes.TrimSpace(operand)[0] == '{' {
		inner, nested, err := onlyField(path, operand)
		if err != nil {
			return nil, err
		}
		if want, ok := literal(nested).(string); ok && inner == "equals-ignore-case" {
			return textTest(name+" "+inner, want), nil
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
	}
	// Strings that differ only in case have the same number of characters, but not of bytes.
	n := utf8.RuneCountInString(want)
	return func(s string) bool {
		switch r := []rune(s); {
		case name == "prefix equals-ignore-case" && len(r) >= n:
			s = string(r[:n])
		case name == "suffix equals-ignore-case" && len(r) >= n:
			s = string(r[len(r)-n:])
		}
		return strings.EqualFold(s, want)
	}
}

// maxNumeric is the largest absolute value of numbers that are compared, in patterns and
// messages.
const maxNumeric = 5e9

// parseAnythingBut returns the test of anything-but. The operand is a literal, a list of
// literals of one kind, or an operator on strings with one operand or a list. A field
// passes if at least one of its values is not excluded, so an absent field does not pass.
func parseAnythingBut(path string, operand json.RawMessage) (test, error) {
	if bytes.TrimSpace(operand)[0] == '{' {
		return parseNoneOf(path, operand)
	}
	items, err := list(path, operand)
	if err != nil {
		return nil, err
	}
	var texts []string
	var numbers []float64
	for _, item := range items {
		switch v := literal(item).(type) {
		case string:
			texts = append(texts, v)
		case json.Number:
			f, err := number(path, v)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, f)
		default:
			return nil, fmt.Errorf("%s: need strings or numbers, not %s", path, item)
		}
	}
	if len(texts) > 0 && len(numbers) > 0 {
		return nil, fmt.Errorf("%s: need strings only or numbers only", path)
	}
	return oneOf(func(leaf any) bool {
		switch v := leaf.(type) {
		case string:
			return !slices.Contains(texts, v)
		case json.Number:
			f, err := v.Float64()
			return err != nil || !slices.Contains(numbers, f)
		}
		return true
	}), nil
}

// list returns the elements of a list. Another value counts as a list of one element.
func list(path string, raw json.RawMessage) (items []json.RawMessage, err error) {
	if bytes.TrimSpace(raw)[0] != '[' {
		return []json.RawMessage{raw}, nil
	}
	_ = json.Unmarshal(raw, &items) // raw is a list
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: the list is empty", path)
	}
	return items, nil
}

// parseNoneOf returns the test of anything-but with {"prefix": …}, {"suffix": …} or
// {"equals-ignore-case": …}.
func parseNoneOf(path string, operand json.RawMessage) (test, error) {
	name, inner, err := onlyField(path, operand)
	if err != nil {
		return nil, err
	}
	path += "." + name
	if name != "prefix" && name != "suffix" && name != "equals-ignore-case" {
		return nil, fmt.Errorf("%s: anything-but takes prefix, suffix or equals-ignore-case", path)
	}
	items, err := list(path, inner)
	if err != nil {
		return nil, err
	}
	var excluded []func(string) bool
	for _, item := range items {
		want, ok := literal(item).(string)
		if !ok {
			return nil, fmt.Errorf("%s: need a string, not %s", path, item)
		}
		excluded = append(excluded, textTest(name, want))
	}
	return oneOf(func(leaf any) bool {
		s, ok := leaf.(string)
		return !ok || !slices.ContainsFunc(excluded, func(is func(string) bool) bool { return is(s) })
	}), nil
}

// parseNumeric returns the test of numeric: a comparison, or a range with the lower bound first.
func parseNumeric(path string, operand json.RawMessage) (test, error) {
	list, _ := literal(operand).([]any)
	if len(list) != 2 && len(list) != 4 {
		return nil, fmt.Errorf(`%s: need [operator, number] or [">", number, "<", number], not %s`, path, operand)
	}
	var tests []func(float64) bool
	var operators []string
	var bounds []float64
	for i := 0; i < len(list); i += 2 {
		operator, _ := list[i].(string)
		compare, ok := comparisons[operator]
		if !ok {
			return nil, fmt.Errorf("%s: %v is not one of the operators =, <, <=, > and >=", path, list[i])
		}
		n, ok := list[i+1].(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s: %v is not a number", path, list[i+1])
		}
		bound, err := number(path, n)
		if err != nil {
			return nil, err
		}
		operators, bounds = append(operators, operator), append(bounds, bound)
		tests = append(tests, func(f float64) bool { return compare(f, bound) })
	}
	if len(operators) == 2 {
		switch {
		case operators[0][0] != '>' || operators[1][0] != '<':
			return nil, fmt.Errorf("%s: a range is > or >= and then < or <=", path)
		case bounds[0] >= bounds[1]:
			return nil, fmt.Errorf("%s: the range from %v to %v is empty", path, bounds[0], bounds[1])
		}
	}
	return oneOf(func(leaf any) bool {
		n, ok := leaf.(json.Number)
		if !ok {
			return false
		}
		f, err := number(path, n)
		return err == nil && !slices.ContainsFunc(tests, func(passes func(float64) bool) bool { return !passes(f) })
	}), nil
}

var comparisons = map[string]func(a, b float64) bool{
	"=":  func(a, b float64) bool { return a == b },
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
}

func number(path string, n json.Number) (float64, error) {
	f, err := n.Float64()
	if err != nil || f < -maxNumeric || f > maxNumeric {
		return 0, fmt.Errorf("%s: %s: need a number from %v to %v", path, n, -maxNumeric, float64(maxNumeric))
	}
	return f, nil
}
