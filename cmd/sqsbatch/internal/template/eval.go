package template

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds on evaluation. Real templates stay far below them (CloudFormation takes 1 MB and 500
// resources); a file with aliases or Refs that multiply or turn in a circle ends in an error.
const (
	maxDepth = 200
	maxSteps = 1_000_000
	maxText  = 1 << 20
)

// noValue is AWS::NoValue: the property that has it counts as absent.
var noValue = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}

// errorf makes an error at the place of n.
func (st *Stack) errorf(n *yaml.Node, format string, args ...any) error {
	return st.at(n).errorf(format, args...)
}

// failure is what an evaluation panics with: its error ends all of it, up to try.
type failure struct{ err error }

// try evaluates, and returns the error that ended the evaluation.
func try[T any](evaluate func() T) (v T, err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			err = f.err
		default:
			panic(f)
		}
	}()
	return evaluate(), nil
}

// must ends the evaluation with an error, if there is one.
func must[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

// fail ends the evaluation with an error at the place of n.
func (st *Stack) fail(n *yaml.Node, format string, args ...any) {
	panic(failure{st.errorf(n, format, args...)})
}

// limit is the number of steps after which values are not known. A large template may take more.
func (st *Stack) limit() int {
	resources := child(st.root, "Resources")
	if resources == nil {
		return maxSteps
	}
	return min(maxSteps+1000*len(resources.Content), 20*maxSteps)
}

// enter counts one step of evaluation; the caller must decrement depth.
func (st *Stack) enter(n *yaml.Node) {
	st.depth++
	st.steps++
	if st.depth > maxDepth || st.steps > st.limit() {
		st.depth--
		st.fail(n, "the expression is too deep: does something in it refer to itself?")
	}
}

// eval replaces intrinsic functions at the head of n, which may be nil.
func (st *Stack) eval(n *yaml.Node) *yaml.Node {
	if n == nil || n == noValue {
		return n
	}
	st.enter(n)
	defer func() { st.depth-- }()
	if n.Kind == yaml.AliasNode {
		return st.eval(n.Alias)
	}
	name, arg := intrinsic(n)
	if name == "" {
		return n
	}
	return st.eval(st.call(name, n, arg))
}

// intrinsic returns an intrinsic function's long name and argument, or "".
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
func (st *Stack) str(n *yaml.Node) string {
	v := st.eval(n)
	if absent(v) {
		return ""
	}
	if v.Kind != yaml.ScalarNode {
		st.fail(n, "a string is expected here, not %s", kind(v))
	}
	return v.Value
}

// items returns the elements of a sequence, those of AWS::NoValue left out.
func (st *Stack) items(n *yaml.Node) []*yaml.Node {
	v := st.eval(n)
	if absent(v) {
		return nil
	}
	if v.Kind != yaml.SequenceNode {
		st.fail(n, "a list is expected here, not %s", kind(v))
	}
	out := make([]*yaml.Node, 0, len(v.Content))
	for _, c := range v.Content {
		switch element, err := try(func() *yaml.Node { return st.eval(c) }); {
		case err != nil:
			out = append(out, c) // an error where it is used, and only there
		case element != noValue:
			out = append(out, element)
		}
	}
	return out
}

// strs evaluates n to a list of strings.
func (st *Stack) strs(n *yaml.Node) []string {
	var out []string
	for _, c := range st.items(n) {
		out = append(out, st.str(c))
	}
	return out
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
