package template

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds on evaluation. Real templates stay far below them (CloudFormation
// takes 1 MB and 500 resources); a file with aliases or Refs that multiply or
// turn in a circle ends in an error.
const (
	maxDepth = 200
	maxSteps = 1_000_000
	maxText  = 1 << 20
)

// noValue is what AWS::NoValue evaluates to: the property that has it counts
// as absent.
var noValue = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}

// An evaluator gives meaning to the nodes of one template. A node is evaluated
// only as far as it is asked for: an intrinsic function is replaced by its
// result, a mapping or sequence is left as it stands.
type evaluator struct {
	t     *Template
	o     Options
	depth int
	steps int
}

// errorf makes an error that begins with the file and line of n.
func (e *evaluator) errorf(n *yaml.Node, format string, args ...any) error {
	var where string
	switch {
	case n != nil && n.Line > 0 && e.t.Path != "":
		where = fmt.Sprintf("%s:%d: ", e.t.Path, n.Line)
	case n != nil && n.Line > 0:
		where = fmt.Sprintf("line %d: ", n.Line)
	case e.t.Path != "":
		where = e.t.Path + ": "
	}
	return errors.New(where + fmt.Sprintf(format, args...))
}

// enter counts one step of evaluation; the caller must decrement depth.
func (e *evaluator) enter(n *yaml.Node) error {
	e.depth++
	e.steps++
	if e.depth > maxDepth || e.steps > maxSteps {
		return e.errorf(n, "the expression is too deep: does something in it refer to itself?")
	}
	return nil
}

// eval replaces intrinsic functions at the head of n until a plain scalar,
// mapping or sequence is left. It returns nil for nil.
func (e *evaluator) eval(n *yaml.Node) (*yaml.Node, error) {
	if n == nil || n == noValue {
		return n, nil
	}
	if err := e.enter(n); err != nil {
		return nil, err
	}
	defer func() { e.depth-- }()
	if n.Kind == yaml.AliasNode {
		return e.eval(n.Alias)
	}
	name, arg := intrinsic(n)
	if name == "" {
		return n, nil
	}
	out, err := e.call(name, n, arg)
	if err != nil {
		return nil, err
	}
	return e.eval(out)
}

// intrinsic returns the long name ("Ref", "Fn::Sub", "Condition") and the
// argument of an intrinsic function in either form, or "".
func intrinsic(n *yaml.Node) (string, *yaml.Node) {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		arg := *n
		arg.Tag = ""
		if arg.Kind == yaml.ScalarNode {
			arg.Tag = "!!str"
		}
		switch name := n.Tag[1:]; name {
		case "Ref", "Condition":
			return name, &arg
		default:
			return "Fn::" + name, &arg
		}
	}
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 {
		if key := n.Content[0].Value; key == "Ref" || strings.HasPrefix(key, "Fn::") {
			return key, n.Content[1]
		}
	}
	return "", nil
}

// text makes a string node at n's place.
func text(n *yaml.Node, s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Line: n.Line, Column: n.Column}
}

// list makes a sequence of strings at n's place.
func list(n *yaml.Node, items []string) *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Column: n.Column}
	for _, s := range items {
		out.Content = append(out.Content, text(n, s))
	}
	return out
}

// absent says whether an evaluated node counts as not being there.
func absent(n *yaml.Node) bool {
	return n == nil || n == noValue || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// str evaluates n to a scalar's text.
func (e *evaluator) str(n *yaml.Node) (string, error) {
	v, err := e.eval(n)
	if err != nil {
		return "", err
	}
	if absent(v) {
		return "", nil
	}
	if v.Kind != yaml.ScalarNode {
		return "", e.errorf(n, "a string is expected here, not %s", kind(v))
	}
	return v.Value, nil
}

// items evaluates n to a sequence and returns its elements, unevaluated, those
// that are AWS::NoValue left out.
func (e *evaluator) items(n *yaml.Node) ([]*yaml.Node, error) {
	v, err := e.eval(n)
	if err != nil || absent(v) {
		return nil, err
	}
	if v.Kind != yaml.SequenceNode {
		return nil, e.errorf(n, "a list is expected here, not %s", kind(v))
	}
	out := make([]*yaml.Node, 0, len(v.Content))
	for _, c := range v.Content {
		if name, arg := intrinsic(c); name == "Ref" && arg.Value == "AWS::NoValue" {
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

// strs evaluates n to a list of strings.
func (e *evaluator) strs(n *yaml.Node) ([]string, error) {
	nodes, err := e.items(n)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(nodes))
	for _, c := range nodes {
		s, err := e.str(c)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// field evaluates n to a mapping and returns the evaluated value of key, nil
// when it is absent.
func (e *evaluator) field(n *yaml.Node, key string) (*yaml.Node, error) {
	v, err := e.eval(n)
	if err != nil || absent(v) {
		return nil, err
	}
	if v.Kind != yaml.MappingNode {
		return nil, e.errorf(v, "a mapping with %s is expected here, not %s", key, kind(v))
	}
	out, err := e.eval(child(v, key))
	if err != nil || absent(out) {
		return nil, err
	}
	return out, nil
}

// path is field for a path of keys.
func (e *evaluator) path(n *yaml.Node, keys ...string) (*yaml.Node, error) {
	for _, key := range keys {
		var err error
		if n, err = e.field(n, key); n == nil || err != nil {
			return nil, err
		}
	}
	return n, nil
}

// number reads an evaluated scalar as a whole number.
func (e *evaluator) number(n *yaml.Node, name string) (int, error) {
	s, err := e.str(n)
	if err != nil {
		return 0, err
	}
	v, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		return 0, e.errorf(n, "%s is %q; it must be a whole number", name, s)
	}
	return v, nil
}

// truth reads an evaluated scalar as true or false.
func (e *evaluator) truth(n *yaml.Node, name string) (bool, error) {
	s, err := e.str(n)
	if err != nil {
		return false, err
	}
	v, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(s)))
	if err != nil {
		return false, e.errorf(n, "%s is %q; it must be true or false", name, s)
	}
	return v, nil
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return fmt.Sprintf("%q", n.Value)
	}
}
