package template

import (
	"go.yaml.in/yaml/v3"
)

// namedCondition evaluates a condition of the template's Conditions.
func (e *evaluator) namedCondition(n *yaml.Node, name string) (bool, error) {
	c := child(child(e.t.root, "Conditions"), name)
	if c == nil {
		return false, e.errorf(n, "Conditions has no %s", name)
	}
	return e.condition(c)
}

// condition evaluates a condition function.
func (e *evaluator) condition(n *yaml.Node) (bool, error) {
	if err := e.enter(n); err != nil {
		return false, err
	}
	defer func() { e.depth-- }()
	if n.Kind == yaml.AliasNode {
		return e.condition(n.Alias)
	}
	name, arg := intrinsic(n)
	if name == "" && n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Value == "Condition" {
		name, arg = "Condition", n.Content[1]
	}
	switch name {
	case "Condition":
		s, err := e.str(arg)
		if err != nil {
			return false, err
		}
		return e.namedCondition(n, s)
	case "Fn::Equals":
		args, err := e.args(n, arg, 2, 2, "Fn::Equals: [value, value]")
		if err != nil {
			return false, err
		}
		a, err := e.str(args[0])
		if err != nil {
			return false, err
		}
		b, err := e.str(args[1])
		return a == b, err
	case "Fn::Not":
		args, err := e.args(n, arg, 1, 1, "Fn::Not: [condition]")
		if err != nil {
			return false, err
		}
		v, err := e.condition(args[0])
		return !v, err
	case "Fn::And", "Fn::Or":
		args, err := e.args(n, arg, 2, 10, name+": [condition, condition, …]")
		if err != nil {
			return false, err
		}
		for _, a := range args {
			v, err := e.condition(a)
			if err != nil {
				return false, err
			}
			if v == (name == "Fn::Or") {
				return v, nil
			}
		}
		return name == "Fn::And", nil
	default:
		return e.truth(n, "the condition")
	}
}

// exists says whether the resource's own Condition holds.
func (e *evaluator) exists(resource *yaml.Node) (bool, error) {
	c := child(resource, "Condition")
	if c == nil {
		return true, nil
	}
	name, err := e.str(c)
	if err != nil {
		return false, err
	}
	return e.namedCondition(c, name)
}
