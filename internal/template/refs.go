package template

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ref gives what Ref gives: a parameter's value, or a resource's physical id.
func (st *Stack) ref(n *yaml.Node, name string) *yaml.Node {
	switch name {
	case "AWS::NoValue":
		return noValue
	case "AWS::Region":
		return text(n, st.o.Region)
	case "AWS::AccountId":
		return text(n, st.o.AccountID)
	case "AWS::Partition":
		return text(n, "aws")
	case "AWS::URLSuffix":
		return text(n, "amazonaws.com")
	case "AWS::StackName":
		return text(n, st.o.StackName)
	case "AWS::StackId":
		return text(n, "arn:aws:cloudformation:"+st.o.Region+":"+st.o.AccountID+":stack/"+st.o.StackName+"/local")
	case "AWS::NotificationARNs":
		return list(n, nil)
	}
	if p := child(child(st.root, "Parameters"), name); p != nil {
		return st.parameter(n, name, p)
	}
	r, ok := st.Resource(name)
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
	}
	name := resource + "." + attribute
	panic(failure{&Error{Pos: st.at(n), Message: name + " is known only once the stack is deployed", Attribute: name}})
}

// parameter gives the value of a parameter: the override, else the default.
func (st *Stack) parameter(n *yaml.Node, name string, p *yaml.Node) *yaml.Node {
	kind := st.str(child(p, "Type"))
	value, given := st.o.Parameters[name]
	if !given {
		def := child(p, "Default")
		if def == nil {
			st.fail(n, "parameter %s has no default; give it a value: --parameter-overrides %s=VALUE", name, name)
		}
		if strings.HasPrefix(kind, "AWS::SSM::Parameter::Value") {
			st.fail(n, "parameter %s is read from SSM when the stack is deployed; give it a value here: --parameter-overrides %s=VALUE", name, name)
		}
		value = st.str(def)
	} else if allowed := st.strs(child(p, "AllowedValues")); len(allowed) > 0 && !slices.Contains(allowed, value) {
		st.fail(p, "parameter %s is %q; the template allows %s", name, value, strings.Join(allowed, ", "))
	}
	if kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<") {
		items := strings.Split(value, ",")
		for i := range items {
			items[i] = strings.TrimSpace(items[i])
		}
		return list(n, items)
	}
	return text(n, value)
}
