package lambda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// maxNumeric limits the numbers of comparisons, in patterns and in messages.
const maxNumeric = 5e9

// parseAnythingBut reads a literal, a list of literals of one kind, or an
// operator on strings with one operand or a list. A field that is absent does
// not match; of a list of values, one that is not one of the excluded is enough.
func parseAnythingBut(path string, operand json.RawMessage) (test, error) {
	if bytes.TrimSpace(operand)[0] == '{' {
		return parseNoneOf(path, operand)
	}
	items := []json.RawMessage{operand}
	if bytes.TrimSpace(operand)[0] == '[' {
		if err := json.Unmarshal(operand, &items); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: the list is empty, need a value", path)
	}
	var texts []string
	var numbers []float64
	for _, item := range items {
		value, err := literal(path, item)
		if err != nil {
			return nil, err
		}
		switch v := value.(type) {
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
	items := []json.RawMessage{inner}
	if bytes.TrimSpace(inner)[0] == '[' {
		if err := json.Unmarshal(inner, &items); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%s: the list is empty, need a string", path)
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
