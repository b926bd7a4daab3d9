package dynamostore_test

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// expression evaluates conditions and updates for an item.
type expression struct {
	item   attributes // nil for none
	names  map[string]string
	values map[string]map[string]any

	tokens []string // what is left of it
}

var token = regexp.MustCompile(`[#:]?[A-Za-z_][A-Za-z0-9_]*|<>|<=|>=|[()=<>+,-]`)

// condition is an expression of AND, OR, comparisons and attribute_not_exists. An empty one
// holds.
func (e *expression) condition(text string) (holds bool, err error) {
	if text == "" {
		return true, nil
	}
	defer recovered(&err)
	e.tokens = token.FindAllString(text, -1)
	holds = e.or()
	if len(e.tokens) > 0 {
		panic(fmt.Errorf("%q is left of the condition %q", e.tokens, text))
	}
	return holds, nil
}

// recovered makes an error of a panic with one.
func recovered(err *error) {
	if p := recover(); p != nil {
		var ok bool
		if *err, ok = p.(error); !ok {
			panic(p)
		}
	}
}

func (e *expression) next() string {
	if len(e.tokens) == 0 {
		panic(errors.New("the expression ends too early"))
	}
	t := e.tokens[0]
	e.tokens = e.tokens[1:]
	return t
}

func (e *expression) take(t string) bool {
	if len(e.tokens) == 0 || !strings.EqualFold(e.tokens[0], t) {
		return false
	}
	e.tokens = e.tokens[1:]
	return true
}

func (e *expression) want(t string) {
	if !e.take(t) {
		panic(fmt.Errorf("want %q before %q", t, e.tokens))
	}
}

func (e *expression) or() bool {
	holds := e.and()
	for e.take("OR") {
		right := e.and()
		holds = holds || right
	}
	return holds
}

func (e *expression) and() bool {
	holds := e.term()
	for e.take("AND") {
		right := e.term()
		holds = holds && right
	}
	return holds
}

func (e *expression) term() bool {
	switch {
	case e.take("("):
		holds := e.or()
		e.want(")")
		return holds
	case e.take("attribute_not_exists"):
		e.want("(")
		missing := e.operand(e.next()) == nil
		e.want(")")
		return missing
	}
	left, operator, right := e.operand(e.next()), e.next(), e.operand(e.next())
	return compare(left, operator, right)
}

// operand is the value of a placeholder; nil for an attribute that is not there.
func (e *expression) operand(t string) map[string]any {
	switch t[0] {
	case '#':
		return e.item[e.name(t)]
	case ':':
		if v, ok := e.values[t]; ok {
			return v
		}
	}
	panic(fmt.Errorf("the expression has %q, which is not defined", t))
}

func (e *expression) name(placeholder string) string {
	name, ok := e.names[placeholder]
	if !ok {
		panic(fmt.Errorf("the expression has %q, which is not defined", placeholder))
	}
	return name
}

// compare holds for no values of different types.
func compare(left map[string]any, operator string, right map[string]any) bool {
	a, b := only(left), only(right)
	if a == nil || b == nil || a[0] != b[0] {
		return false
	}
	order := strings.Compare(a[1], b[1])
	if a[0] == "N" {
		order = rational(a[1]).Cmp(rational(b[1]))
	}
	switch operator {
	case "=":
		return order == 0
	case "<":
		return order < 0
	}
	panic(fmt.Errorf("the operator %q is not known here", operator))
}

// only is the type and the text of a value.
func only(v map[string]any) []string {
	for kind, value := range v {
		return []string{kind, fmt.Sprint(value)}
	}
	return nil
}

func rational(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(fmt.Errorf("%q is no number", s))
	}
	return r
}

// update is "SET #a = :b, #c = :d + #e". The key is of an item that does not exist yet.
func (e *expression) update(text string, key attributes) (item attributes, err error) {
	defer recovered(&err)
	item = maps.Clone(key)
	maps.Copy(item, e.item)
	e.tokens = token.FindAllString(text, -1)
	e.want("SET")
	for {
		name := e.name(e.next())
		e.want("=")
		value := e.operand(e.next())
		if e.take("+") {
			value = sum(value, e.operand(e.next()))
		}
		item[name] = value
		if !e.take(",") {
			break
		}
	}
	if len(e.tokens) > 0 {
		panic(fmt.Errorf("%q is left of the update %q", e.tokens, text))
	}
	return item, nil
}

// sum is 0 for what is not there: the condition does not hold then.
func sum(a, b map[string]any) map[string]any {
	total := new(big.Rat)
	for _, v := range []map[string]any{a, b} {
		if typed := only(v); typed != nil && typed[0] == "N" {
			total.Add(total, rational(typed[1]))
		}
	}
	return map[string]any{"N": total.RatString()}
}

// unused wants every placeholder to be in an expression, as DynamoDB does.
func (e *expression) unused(text string) error {
	used := token.FindAllString(text, -1)
	for _, placeholder := range slices.AppendSeq(slices.Collect(maps.Keys(e.names)), maps.Keys(e.values)) {
		if !slices.Contains(used, placeholder) {
			return fmt.Errorf("%s is not used in expressions", placeholder)
		}
	}
	return nil
}
