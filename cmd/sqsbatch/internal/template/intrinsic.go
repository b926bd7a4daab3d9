package template

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// UnknownFunction is a function of a template that was made of something else, for a value
// that is not known. Its argument is the reason.
const UnknownFunction = "Fn::Unknown"

// call evaluates one function of CloudFormation's "Intrinsic function reference".
func (st *Stack) call(name string, n, arg *yaml.Node) *yaml.Node {
	switch name {
	case "Ref":
		return st.ref(n, st.str(arg))
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
		return st.bounded(n, base64.StdEncoding.EncodeToString([]byte(st.str(arg))))
	case "Condition", "Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not":
		return text(n, strconv.FormatBool(st.condition(n)))
	}
	if name == UnknownFunction {
		st.fail(n, "%s", st.str(arg))
	}
	st.fail(n, "%s has no value outside an AWS account; give the value by a parameter, or leave it out locally with a condition", name)
	return nil
}

// args evaluates arg to a list of at least min and at most max elements.
func (st *Stack) args(n, arg *yaml.Node, min, max int, usage string) []*yaml.Node {
	v := st.eval(arg)
	if v == nil || v.Kind != yaml.SequenceNode || len(v.Content) < min || len(v.Content) > max {
		st.fail(n, "it must be written as %s", usage)
	}
	return v.Content
}

// bounded makes a string node at n's place, of a text that is not too large.
func (st *Stack) bounded(n *yaml.Node, s string) *yaml.Node {
	st.bound(n, len(s))
	return text(n, s)
}

// bound refuses a text that grows too large.
func (st *Stack) bound(n *yaml.Node, size int) {
	if size > maxText {
		st.fail(n, "the value grows beyond %d bytes", maxText)
	}
}

func (st *Stack) ifElse(n, arg *yaml.Node) *yaml.Node {
	args := st.args(n, arg, 3, 3, "Fn::If: [condition, value if true, value if false]")
	if st.namedCondition(args[0], st.str(args[0])) {
		return args[1]
	}
	return args[2]
}

func (st *Stack) findInMap(n, arg *yaml.Node) *yaml.Node {
	args := st.args(n, arg, 3, 4, "Fn::FindInMap: [map, top key, second key]")
	var keys [3]string
	for i := range keys {
		keys[i] = st.str(args[i])
	}
	v := st.value(child(st.root, "Mappings")).Get(keys[:]...)
	if v.Absent() && len(args) == 4 {
		v = st.value(args[3]).Get("DefaultValue")
	}
	if v.Absent() {
		st.fail(n, "Mappings has no %s", strings.Join(keys[:], "."))
	}
	return must(v.node, v.Err)
}

func (st *Stack) join(n, arg *yaml.Node) *yaml.Node {
	args := st.args(n, arg, 2, 2, "Fn::Join: [delimiter, [value, …]]")
	delimiter, parts := st.str(args[0]), st.strs(args[1])
	size := len(delimiter) * len(parts)
	for _, p := range parts {
		size += len(p)
	}
	st.bound(n, size)
	return text(n, strings.Join(parts, delimiter))
}

func (st *Stack) selectItem(n, arg *yaml.Node) *yaml.Node {
	args := st.args(n, arg, 2, 2, "Fn::Select: [index, [value, …]]")
	index := must(st.value(args[0]).called("the index of Fn::Select").Int(-1))
	items := st.items(args[1])
	if index < 0 || index >= len(items) {
		st.fail(n, "Fn::Select asks for element %d of a list of %d", index, len(items))
	}
	return items[index]
}

func (st *Stack) split(n, arg *yaml.Node) *yaml.Node {
	args := st.args(n, arg, 2, 2, "Fn::Split: [delimiter, string]")
	delimiter := st.str(args[0])
	if delimiter == "" {
		st.fail(n, "the delimiter of Fn::Split is empty")
	}
	return list(n, strings.Split(st.str(args[1]), delimiter))
}

// sub evaluates Fn::Sub: a string, or [string, {variable: value}].
func (st *Stack) sub(n, arg *yaml.Node) *yaml.Node {
	v := st.eval(arg)
	var vars *yaml.Node
	if v != nil && v.Kind == yaml.SequenceNode {
		args := st.args(n, v, 2, 2, "Fn::Sub: a string, or [string, {variable: value}]")
		v, vars = args[0], args[1]
	}
	in := st.str(v)
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(in, "${")
		out.WriteString(before)
		if !found {
			return st.bounded(n, out.String())
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			st.fail(n, "${ without } in Fn::Sub")
		}
		in = after
		if literal, ok := strings.CutPrefix(name, "!"); ok {
			out.WriteString("${" + literal + "}")
			continue
		}
		out.WriteString(st.variable(n, strings.TrimSpace(name), vars))
		st.bound(n, out.Len())
	}
}

// variable gives ${name}: a variable of Fn::Sub, Resource.Attribute, or a Ref.
func (st *Stack) variable(n *yaml.Node, name string, vars *yaml.Node) string {
	if vars != nil {
		if v := st.value(vars).Get(name); !v.Absent() {
			return must(v.Str())
		}
	}
	if resource, attribute, ok := strings.Cut(name, "."); ok {
		return st.str(st.attribute(n, resource, attribute))
	}
	return st.str(st.ref(n, name))
}

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

// ref gives what Ref gives: a parameter's value, or a resource's physical id.
func (st *Stack) ref(n *yaml.Node, name string) *yaml.Node {
	switch name {
	case "AWS::NoValue":
		return noValue
	case "AWS::NotificationARNs":
		return list(n, nil)
	}
	pseudo := map[string]string{
		"AWS::Region": st.o.Region, "AWS::AccountId": st.o.AccountID, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
		"AWS::StackName": "local", "AWS::StackId": "arn:aws:cloudformation:" + st.o.Region + ":" + st.o.AccountID + ":stack/local/local",
	}
	if value, ok := pseudo[name]; ok {
		return text(n, value)
	}
	if p := child(child(st.root, "Parameters"), name); p != nil {
		return st.parameter(n, name, p)
	}
	r, ok := st.Resource(name)
	if function, generated, dotted := strings.Cut(name, "."); dotted && !ok && (generated == "Alias" || generated == "Version") {
		return st.attribute(n, function, generated)
	}
	if !ok {
		st.fail(n, "%s is neither a parameter nor a resource of the template", name)
	}
	switch r.Type {
	case SQSQueue:
		return text(n, st.queueURL(must(r.queueName())))
	case SAMFunction, LambdaFunction:
		return text(n, must(r.functionName()))
	default:
		return text(n, name)
	}
}

func (st *Stack) getAtt(n, arg *yaml.Node) *yaml.Node {
	var parts []string
	if v := st.eval(arg); v != nil && v.Kind == yaml.SequenceNode {
		parts = st.strs(v)
	} else {
		parts = strings.SplitN(st.str(v), ".", 2)
	}
	if len(parts) != 2 {
		st.fail(n, "it must be written as Fn::GetAtt: [resource, attribute]")
	}
	return st.attribute(n, parts[0], parts[1])
}

// attribute gives what Fn::GetAtt gives, for queues and functions.
func (st *Stack) attribute(n *yaml.Node, resource, attribute string) *yaml.Node {
	r, ok := st.Resource(resource)
	if !ok {
		st.fail(n, "%s is not a resource of the template", resource)
	}
	switch r.Type {
	case SQSQueue:
		name := must(r.queueName())
		switch attribute {
		case "Arn":
			return text(n, st.queueARN(name))
		case "QueueName":
			return text(n, name)
		case "QueueUrl":
			return text(n, st.queueURL(name))
		}
	case SAMFunction, LambdaFunction:
		if attribute == "Arn" {
			return text(n, st.functionARN(must(r.functionName())))
		}
		// SAM makes them for AutoPublishAlias, and Ref of them is an ARN ("Generated AWS
		// CloudFormation resources for AWS SAM"). The version's number is known afterwards.
		if alias := r.Get("AutoPublishAlias"); attribute == "Alias" && !alias.Absent() {
			return text(n, st.functionARN(must(r.functionName()))+":"+must(alias.Str()))
		}
	}
	name := resource + "." + attribute
	panic(failure{&Error{Pos: st.at(n), Message: name + " is known only once the stack is deployed", Attribute: name}})
}

// parameter gives the value of a parameter: the override, else the default.
func (st *Stack) parameter(n *yaml.Node, name string, p *yaml.Node) *yaml.Node {
	kind := st.str(child(p, "Type"))
	value, given := st.o.Parameters[name]
	if !given {
		without := func(why string) {
			panic(failure{&Error{Pos: st.at(n), Parameter: name, Message: fmt.Sprintf("parameter %s %s: --parameter-overrides %s=VALUE", name, why, name)}})
		}
		def := child(p, "Default")
		if def == nil {
			without("has no default; give it a value")
		}
		if strings.HasPrefix(kind, "AWS::SSM::Parameter::Value") {
			without("is read from SSM when the stack is deployed; give it a value here")
		}
		value = st.str(def)
	} else if allowed := st.strs(child(p, "AllowedValues")); len(allowed) > 0 && !slices.Contains(allowed, value) {
		st.fail(p, "parameter %s is %q; the template allows %s", name, value, strings.Join(allowed, ", "))
	}
	if kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<") {
		var items []string
		for item := range strings.SplitSeq(value, ",") {
			items = append(items, strings.TrimSpace(item))
		}
		return list(n, items)
	}
	return text(n, value)
}
