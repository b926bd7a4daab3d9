package template

import (
	"encoding/base64"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// call evaluates one intrinsic function. Names and arguments are those of
// CloudFormation's "Intrinsic function reference".
func (e *evaluator) call(name string, n, arg *yaml.Node) (*yaml.Node, error) {
	switch name {
	case "Ref":
		s, err := e.str(arg)
		if err != nil {
			return nil, err
		}
		return e.ref(n, s)
	case "Fn::GetAtt":
		return e.getAtt(n, arg)
	case "Fn::Sub":
		return e.sub(n, arg)
	case "Fn::If":
		return e.ifElse(n, arg)
	case "Fn::FindInMap":
		return e.findInMap(n, arg)
	case "Fn::Join":
		return e.join(n, arg)
	case "Fn::Select":
		return e.selectItem(n, arg)
	case "Fn::Split":
		return e.split(n, arg)
	case "Fn::Base64":
		s, err := e.str(arg)
		if err != nil {
			return nil, err
		}
		return e.bounded(n, base64.StdEncoding.EncodeToString([]byte(s)))
	case "Condition", "Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not":
		v, err := e.condition(n)
		if err != nil {
			return nil, err
		}
		return text(n, strconv.FormatBool(v)), nil
	default:
		return nil, e.errorf(n, "%s has no value outside an AWS account; give the value by a parameter, or leave it out locally with a condition", name)
	}
}

// args evaluates arg to a list of at least min and at most max elements.
func (e *evaluator) args(n, arg *yaml.Node, min, max int, usage string) ([]*yaml.Node, error) {
	v, err := e.eval(arg)
	if err != nil {
		return nil, err
	}
	if v == nil || v.Kind != yaml.SequenceNode || len(v.Content) < min || len(v.Content) > max {
		return nil, e.errorf(n, "it must be written as %s", usage)
	}
	return v.Content, nil
}

func (e *evaluator) bounded(n *yaml.Node, s string) (*yaml.Node, error) {
	if len(s) > maxText {
		return nil, e.errorf(n, "the value grows beyond %d bytes", maxText)
	}
	return text(n, s), nil
}

func (e *evaluator) ifElse(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := e.args(n, arg, 3, 3, "Fn::If: [condition, value if true, value if false]")
	if err != nil {
		return nil, err
	}
	name, err := e.str(args[0])
	if err != nil {
		return nil, err
	}
	yes, err := e.namedCondition(args[0], name)
	if err != nil {
		return nil, err
	}
	if yes {
		return args[1], nil
	}
	return args[2], nil
}

func (e *evaluator) findInMap(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := e.args(n, arg, 3, 4, "Fn::FindInMap: [map, top key, second key]")
	if err != nil {
		return nil, err
	}
	var keys [3]string
	for i := range keys {
		if keys[i], err = e.str(args[i]); err != nil {
			return nil, err
		}
	}
	v, err := e.path(child(e.t.root, "Mappings"), keys[:]...)
	if err != nil {
		return nil, err
	}
	if v == nil && len(args) == 4 {
		if v, err = e.field(args[3], "DefaultValue"); err != nil {
			return nil, err
		}
	}
	if v == nil {
		return nil, e.errorf(n, "Mappings has no %s", strings.Join(keys[:], "."))
	}
	return v, nil
}

func (e *evaluator) join(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := e.args(n, arg, 2, 2, "Fn::Join: [delimiter, [value, …]]")
	if err != nil {
		return nil, err
	}
	delimiter, err := e.str(args[0])
	if err != nil {
		return nil, err
	}
	parts, err := e.strs(args[1])
	if err != nil {
		return nil, err
	}
	size := len(delimiter) * len(parts)
	for _, p := range parts {
		size += len(p)
	}
	if size > maxText {
		return nil, e.errorf(n, "the value grows beyond %d bytes", maxText)
	}
	return text(n, strings.Join(parts, delimiter)), nil
}

func (e *evaluator) selectItem(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := e.args(n, arg, 2, 2, "Fn::Select: [index, [value, …]]")
	if err != nil {
		return nil, err
	}
	index, err := e.number(args[0], "the index of Fn::Select")
	if err != nil {
		return nil, err
	}
	items, err := e.items(args[1])
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(items) {
		return nil, e.errorf(n, "Fn::Select asks for element %d of a list of %d", index, len(items))
	}
	return items[index], nil
}

func (e *evaluator) split(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := e.args(n, arg, 2, 2, "Fn::Split: [delimiter, string]")
	if err != nil {
		return nil, err
	}
	delimiter, err := e.str(args[0])
	if err != nil {
		return nil, err
	}
	if delimiter == "" {
		return nil, e.errorf(n, "the delimiter of Fn::Split is empty")
	}
	s, err := e.str(args[1])
	if err != nil {
		return nil, err
	}
	return list(n, strings.Split(s, delimiter)), nil
}

// sub evaluates Fn::Sub: a string, or a list of a string and a mapping of
// variables.
func (e *evaluator) sub(n, arg *yaml.Node) (*yaml.Node, error) {
	v, err := e.eval(arg)
	if err != nil {
		return nil, err
	}
	var vars *yaml.Node
	if v != nil && v.Kind == yaml.SequenceNode {
		args, err := e.args(n, v, 2, 2, "Fn::Sub: a string, or [string, {variable: value}]")
		if err != nil {
			return nil, err
		}
		v, vars = args[0], args[1]
	}
	in, err := e.str(v)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(in, "${")
		out.WriteString(before)
		if !found {
			return e.bounded(n, out.String())
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, e.errorf(n, "${ without } in Fn::Sub")
		}
		in = after
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			out.WriteString("${" + literal + "}")
			continue
		}
		s, err := e.variable(n, strings.TrimSpace(name), vars)
		if err != nil {
			return nil, err
		}
		if out.WriteString(s); out.Len() > maxText {
			return nil, e.errorf(n, "the value grows beyond %d bytes", maxText)
		}
	}
}

// variable gives a ${name} of Fn::Sub: a variable of its own, Resource.Attribute
// or what Ref gives.
func (e *evaluator) variable(n *yaml.Node, name string, vars *yaml.Node) (string, error) {
	if vars != nil {
		if v, err := e.field(vars, name); v != nil || err != nil {
			if err != nil {
				return "", err
			}
			return e.str(v)
		}
	}
	if resource, attribute, ok := strings.Cut(name, "."); ok {
		v, err := e.attribute(n, resource, attribute)
		if err != nil {
			return "", err
		}
		return e.str(v)
	}
	v, err := e.ref(n, name)
	if err != nil {
		return "", err
	}
	return e.str(v)
}
