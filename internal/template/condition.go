package template

import (
	"go.yaml.in/yaml/v3"
)

// namedCondition evaluates a condition of the template's Conditions.
func (st *Stack) namedCondition(n *yaml.Node, name string) bool {
	c := child(child(st.root, "Conditions"), name)
	if c == nil {
		st.fail(n, "Conditions has no %s", name)
	}
	return st.condition(c)
}

// condition evaluates a condition function.
func (st *Stack) condition(n *yaml.Node) bool {
	st.enter(n)
	defer func() { st.depth-- }()
	if n.Kind == yaml.AliasNode {
		return st.condition(n.Alias)
	}
	name, arg := intrinsic(n)
	if name == "" && n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "Condition" {
		name, arg = "Condition", n.Content[1]
	}
	switch name {
	case "Condition":
		return st.namedCondition(n, st.str(arg))
	case "Fn::Equals":
		args := st.args(n, arg, 2, 2, "Fn::Equals: [value, value]")
		return st.str(args[0]) == st.str(args[1])
	case "Fn::Not":
		return !st.condition(st.args(n, arg, 1, 1, "Fn::Not: [condition]")[0])
	case "Fn::And", "Fn::Or":
		for _, a := range st.args(n, arg, 2, 10, name+": [condition, condition, …]") {
			if v := st.condition(a); v == (name == "Fn::Or") {
				return v
			}
		}
		return name == "Fn::And"
	default:
		v := st.value(n).called("the condition")
		if v.Absent() {
			st.fail(n, "the condition is absent; it must be true or false")
		}
		return must(v.Bool(false))
	}
}

// exists says whether the resource's own Condition holds.
func (st *Stack) exists(resource *yaml.Node) (bool, error) {
	c := child(resource, "Condition")
	if c == nil {
		return true, nil
	}
	return try(func() bool { return st.namedCondition(c, st.str(c)) })
}
