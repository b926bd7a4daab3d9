package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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
	value := literal(raw)
	// Numbers are equal when they are written the same: 300 is not 3.0e2.
	return oneOf(func(leaf any) bool { return leaf == value }), nil
}

// literal returns a value of JSON, numbers as a json.Number.
func literal(raw json.RawMessage) (value any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()        // numbers are compared as they are written
	_ = dec.Decode(&value) // it is a part of valid JSON
	return value
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
	_ = json.Unmarshal(raw, &fields) // it is an object
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
	}
	// What is compared without case has the same number of characters, not of bytes.
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

// maxNumeric limits the numbers of comparisons, in patterns and in messages.
const maxNumeric = 5e9

// parseAnythingBut reads a literal, a list of literals of one kind, or an
// operator on strings with one operand or a list. A field that is absent does
// not match; of a list of values, one that is not one of the excluded is enough.
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

// list returns the elements of a list, or the one value that stands for a list of it.
func list(path string, raw json.RawMessage) (items []json.RawMessage, err error) {
	if bytes.TrimSpace(raw)[0] != '[' {
		return []json.RawMessage{raw}, nil
	}
	_ = json.Unmarshal(raw, &items) // it is a list
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: the list is empty", path)
	}
	return items, nil
}

// parseNoneOf reads {"prefix": …}, {"suffix": …} or {"equals-ignore-case": …}
// within anything-but.
func parseNoneOf(path string, operand json.RawMessage) (test, error) {
	name, inner, err := only(path, operand)
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
		var want *string
		if json.Unmarshal(item, &want) != nil || want == nil {
			return nil, fmt.Errorf("%s: need a string, not %s", path, item)
		}
		excluded = append(excluded, textTest(name, *want))
	}
	return oneOf(func(leaf any) bool {
		s, ok := leaf.(string)
		return !ok || !slices.ContainsFunc(excluded, func(is func(string) bool) bool { return is(s) })
	}), nil
}

// parseNumeric reads a comparison, or a range: its lower bound, then its upper.
func parseNumeric(path string, operand json.RawMessage) (test, error) {
	var list []any
	dec := json.NewDecoder(bytes.NewReader(operand))
	dec.UseNumber()
	if dec.Decode(&list) != nil || len(list) != 2 && len(list) != 4 {
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
