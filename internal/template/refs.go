package template

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ref gives what Ref gives: a pseudo parameter, a parameter's value, or a
// resource's physical id.
func (st *Stack) ref(n *yaml.Node, name string) (*yaml.Node, error) {
	switch name {
	case "AWS::NoValue":
		return noValue, nil
	case "AWS::Region":
		return text(n, st.o.Region), nil
	case "AWS::AccountId":
		return text(n, st.o.AccountID), nil
	case "AWS::Partition":
		return text(n, "aws"), nil
	case "AWS::URLSuffix":
		return text(n, "amazonaws.com"), nil
	case "AWS::StackName":
		return text(n, st.o.StackName), nil
	case "AWS::StackId":
		return text(n, "arn:aws:cloudformation:"+st.o.Region+":"+st.o.AccountID+":stack/"+st.o.StackName+"/local"), nil
	case "AWS::NotificationARNs":
		return list(n, nil), nil
	}
	if p := child(child(st.root, "Parameters"), name); p != nil {
		return st.parameter(n, name, p)
	}
	r, ok := st.Resource(name)
	if !ok {
		return nil, st.errorf(n, "%s is neither a parameter nor a resource of the template", name)
	}
	switch r.Type {
	case SQSQueue:
		q, err := r.queueName()
		return text(n, st.queueURL(q)), err
	case SAMFunction, LambdaFunction:
		s, err := r.functionName()
		return text(n, s), err
	default:
		return text(n, name), nil
	}
}

func (st *Stack) getAtt(n, arg *yaml.Node) (*yaml.Node, error) {
	v, err := st.eval(arg)
	if err != nil {
		return nil, err
	}
	if v != nil && v.Kind == yaml.SequenceNode {
		parts, err := st.strs(v)
		if err != nil {
			return nil, err
		}
		if len(parts) == 2 {
			return st.attribute(n, parts[0], parts[1])
		}
	} else if s, err := st.str(v); err != nil {
		return nil, err
	} else if resource, attribute, ok := strings.Cut(s, "."); ok {
		return st.attribute(n, resource, attribute)
	}
	return nil, st.errorf(n, "it must be written as Fn::GetAtt: [resource, attribute]")
}

// attribute gives what Fn::GetAtt gives, for queues and functions.
func (st *Stack) attribute(n *yaml.Node, resource, attribute string) (*yaml.Node, error) {
	r, ok := st.Resource(resource)
	if !ok {
		return nil, st.errorf(n, "%s is not a resource of the template", resource)
	}
	switch r.Type {
	case SQSQueue:
		name, err := r.queueName()
		if err != nil {
			return nil, err
		}
		switch attribute {
		case "Arn":
			return text(n, st.queueARN(name)), nil
		case "QueueName":
			return text(n, name), nil
		case "QueueUrl":
			return text(n, st.queueURL(name)), nil
		}
	case SAMFunction, LambdaFunction:
		if attribute == "Arn" {
			name, err := r.functionName()
			return text(n, st.functionARN(name)), err
		}
	}
	name := resource + "." + attribute
	return nil, &Error{Pos: st.at(n), Message: name + " is known only once the stack is deployed", Attribute: name}
}

// parameter gives the value of a parameter: the override, else the default.
func (st *Stack) parameter(n *yaml.Node, name string, p *yaml.Node) (*yaml.Node, error) {
	kind, err := st.str(child(p, "Type"))
	if err != nil {
		return nil, err
	}
	value, given := st.o.Parameters[name]
	if !given {
		def := child(p, "Default")
		if def == nil {
			return nil, st.errorf(n, "parameter %s has no default; give it a value: --parameter-overrides %s=VALUE", name, name)
		}
		if strings.HasPrefix(kind, "AWS::SSM::Parameter::Value") {
			return nil, st.errorf(n, "parameter %s is read from SSM when the stack is deployed; give it a value here: --parameter-overrides %s=VALUE", name, name)
		}
		if value, err = st.str(def); err != nil {
			return nil, err
		}
	} else if allowed, err := st.strs(child(p, "AllowedValues")); err != nil {
		return nil, err
	} else if len(allowed) > 0 && !slices.Contains(allowed, value) {
		return nil, st.errorf(p, "parameter %s is %q; the template allows %s", name, value, strings.Join(allowed, ", "))
	}
	if kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<") {
		items := strings.Split(value, ",")
		for i := range items {
			items[i] = strings.TrimSpace(items[i])
		}
		return list(n, items), nil
	}
	return text(n, value), nil
}
