package template

import (
	"encoding/base64"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// call evaluates one intrinsic function. Names and arguments are those of
// CloudFormation's "Intrinsic function reference".
func (st *Stack) call(name string, n, arg *yaml.Node) (*yaml.Node, error) {
	switch name {
	case "Ref":
		s, err := st.str(arg)
		if err != nil {
			return nil, err
		}
		return st.ref(n, s)
	case "Fn::GetAtt":
		return st.getAtt(n, arg)
	case "Fn::Sub":
		return st.sub(n, arg)
	case "Fn::If":
		return st.ifElse(n, arg)
	case "Fn::FindInMap":
		return st.findInMap(n, arg)
	case "Fn::Join":
		return st.join(n, arg)
	case "Fn::Select":
		return st.selectItem(n, arg)
	case "Fn::Split":
		return st.split(n, arg)
	case "Fn::Base64":
		s, err := st.str(arg)
		if err != nil {
			return nil, err
		}
		return st.bounded(n, base64.StdEncoding.EncodeToString([]byte(s)))
	case "Condition", "Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not":
		v, err := st.condition(n)
		if err != nil {
			return nil, err
		}
		return text(n, strconv.FormatBool(v)), nil
	default:
		return nil, st.errorf(n, "%s has no value outside an AWS account; give the value by a parameter, or leave it out locally with a condition", name)
	}
}

// args evaluates arg to a list of at least min and at most max elements.
func (st *Stack) args(n, arg *yaml.Node, min, max int, usage string) ([]*yaml.Node, error) {
	v, err := st.eval(arg)
	if err != nil {
		return nil, err
	}
	if v == nil || v.Kind != yaml.SequenceNode || len(v.Content) < min || len(v.Content) > max {
		return nil, st.errorf(n, "it must be written as %s", usage)
	}
	return v.Content, nil
}

func (st *Stack) bounded(n *yaml.Node, s string) (*yaml.Node, error) {
	if len(s) > maxText {
		return nil, st.errorf(n, "the value grows beyond %d bytes", maxText)
	}
	return text(n, s), nil
}

func (st *Stack) ifElse(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := st.args(n, arg, 3, 3, "Fn::If: [condition, value if true, value if false]")
	if err != nil {
		return nil, err
	}
	name, err := st.str(args[0])
	if err != nil {
		return nil, err
	}
	yes, err := st.namedCondition(args[0], name)
	if err != nil {
		return nil, err
	}
	if yes {
		return args[1], nil
	}
	return args[2], nil
}

func (st *Stack) findInMap(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := st.args(n, arg, 3, 4, "Fn::FindInMap: [map, top key, second key]")
	if err != nil {
		return nil, err
	}
	var keys [3]string
	for i := range keys {
		if keys[i], err = st.str(args[i]); err != nil {
			return nil, err
		}
	}
	v := st.value(child(st.root, "Mappings")).Get(keys[:]...)
	if v.Absent() && len(args) == 4 {
		v = st.value(args[3]).Get("DefaultValue")
	}
	if v.Absent() {
		return nil, st.errorf(n, "Mappings has no %s", strings.Join(keys[:], "."))
	}
	return v.node, v.Err
}

func (st *Stack) join(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := st.args(n, arg, 2, 2, "Fn::Join: [delimiter, [value, …]]")
	if err != nil {
		return nil, err
	}
	delimiter, err := st.str(args[0])
	if err != nil {
		return nil, err
	}
	parts, err := st.strs(args[1])
	if err != nil {
		return nil, err
	}
	size := len(delimiter) * len(parts)
	for _, p := range parts {
		size += len(p)
	}
	if size > maxText {
		return nil, st.errorf(n, "the value grows beyond %d bytes", maxText)
	}
	return text(n, strings.Join(parts, delimiter)), nil
}

func (st *Stack) selectItem(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := st.args(n, arg, 2, 2, "Fn::Select: [index, [value, …]]")
	if err != nil {
		return nil, err
	}
	index, err := st.value(args[0]).called("the index of Fn::Select").Int(-1)
	if err != nil {
		return nil, err
	}
	items, err := st.items(args[1])
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(items) {
		return nil, st.errorf(n, "Fn::Select asks for element %d of a list of %d", index, len(items))
	}
	return items[index], nil
}

func (st *Stack) split(n, arg *yaml.Node) (*yaml.Node, error) {
	args, err := st.args(n, arg, 2, 2, "Fn::Split: [delimiter, string]")
	if err != nil {
		return nil, err
	}
	delimiter, err := st.str(args[0])
	if err != nil {
		return nil, err
	}
	if delimiter == "" {
		return nil, st.errorf(n, "the delimiter of Fn::Split is empty")
	}
	s, err := st.str(args[1])
	if err != nil {
		return nil, err
	}
	return list(n, strings.Split(s, delimiter)), nil
}

// sub evaluates Fn::Sub: a string, or a list of a string and a mapping of
// variables.
func (st *Stack) sub(n, arg *yaml.Node) (*yaml.Node, error) {
	v, err := st.eval(arg)
	if err != nil {
		return nil, err
	}
	var vars *yaml.Node
	if v != nil && v.Kind == yaml.SequenceNode {
		args, err := st.args(n, v, 2, 2, "Fn::Sub: a string, or [string, {variable: value}]")
		if err != nil {
			return nil, err
		}
		v, vars = args[0], args[1]
	}
	in, err := st.str(v)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(in, "${")
		out.WriteString(before)
		if !found {
			return st.bounded(n, out.String())
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, st.errorf(n, "${ without } in Fn::Sub")
		}
		in = after
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			out.WriteString("${" + literal + "}")
			continue
		}
		s, err := st.variable(n, strings.TrimSpace(name), vars)
		if err != nil {
			return nil, err
		}
		if out.WriteString(s); out.Len() > maxText {
			return nil, st.errorf(n, "the value grows beyond %d bytes", maxText)
		}
	}
}

// variable gives a ${name} of Fn::Sub: a variable of its own, Resource.Attribute
// or what Ref gives.
func (st *Stack) variable(n *yaml.Node, name string, vars *yaml.Node) (string, error) {
	if vars != nil {
		if v := st.value(vars).Get(name); !v.Absent() {
			return v.Str()
		}
	}
	if resource, attribute, ok := strings.Cut(name, "."); ok {
		v, err := st.attribute(n, resource, attribute)
		if err != nil {
			return "", err
		}
		return st.str(v)
	}
	v, err := st.ref(n, name)
	if err != nil {
		return "", err
	}
	return st.str(v)
}
