package template

import (
	"go.yaml.in/yaml/v3"
)

// namedCondition evaluates a condition of the template's Conditions.
func (st *Stack) namedCondition(n *yaml.Node, name string) (bool, error) {
	c := child(child(st.root, "Conditions"), name)
	if c == nil {
		return false, st.errorf(n, "Conditions has no %s", name)
	}
	return st.condition(c)
}

// condition evaluates a condition function.
func (st *Stack) condition(n *yaml.Node) (bool, error) {
	if err := st.enter(n); err != nil {
		return false, err
	}
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
		s, err := st.str(arg)
		if err != nil {
			return false, err
		}
		return st.namedCondition(n, s)
	case "Fn::Equals":
		args, err := st.args(n, arg, 2, 2, "Fn::Equals: [value, value]")
		if err != nil {
			return false, err
		}
		a, err := st.str(args[0])
		if err != nil {
			return false, err
		}
		b, err := st.str(args[1])
		return a == b, err
	case "Fn::Not":
		args, err := st.args(n, arg, 1, 1, "Fn::Not: [condition]")
		if err != nil {
			return false, err
		}
		v, err := st.condition(args[0])
		return !v, err
	case "Fn::And", "Fn::Or":
		args, err := st.args(n, arg, 2, 10, name+": [condition, condition, …]")
		if err != nil {
			return false, err
		}
		for _, a := range args {
			v, err := st.condition(a)
			if err != nil {
				return false, err
			}
			if v == (name == "Fn::Or") {
				return v, nil
			}
		}
		return name == "Fn::And", nil
	default:
		v := st.value(n).called("the condition")
		if v.Absent() {
			return false, st.errorf(n, "the condition is absent; it must be true or false")
		}
		return v.Bool(false)
	}
}

// exists says whether the resource's own Condition holds.
func (st *Stack) exists(resource *yaml.Node) (bool, error) {
	c := child(resource, "Condition")
	if c == nil {
		return true, nil
	}
	name, err := st.str(c)
	if err != nil {
		return false, err
	}
	return st.namedCondition(c, name)
}
