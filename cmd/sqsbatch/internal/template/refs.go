package template

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ref gives what Ref gives: a pseudo parameter, a parameter's value, or a
// resource's physical id.
func (e *evaluator) ref(n *yaml.Node, name string) (*yaml.Node, error) {
	switch name {
	case "AWS::NoValue":
		return noValue, nil
	case "AWS::Region":
		return text(n, e.o.Region), nil
	case "AWS::AccountId":
		return text(n, e.o.AccountID), nil
	case "AWS::Partition":
		return text(n, "aws"), nil
	case "AWS::URLSuffix":
		return text(n, "amazonaws.com"), nil
	case "AWS::StackName":
		return text(n, e.o.StackName), nil
	case "AWS::StackId":
		return text(n, "arn:aws:cloudformation:"+e.o.Region+":"+e.o.AccountID+":stack/"+e.o.StackName+"/local"), nil
	case "AWS::NotificationARNs":
		return list(n, nil), nil
	}
	if p := child(child(e.t.root, "Parameters"), name); p != nil {
		return e.parameter(n, name, p)
	}
	r := child(child(e.t.root, "Resources"), name)
	if r == nil {
		return nil, e.errorf(n, "%s is neither a parameter nor a resource of the template", name)
	}
	switch resourceType(r) {
	case typeQueue:
		q, err := e.queueName(name, r)
		return text(n, e.queueURL(q)), err
	case typeSAMFunction, typeFunction:
		s, err := e.functionName(name, r)
		return text(n, s), err
	default:
		return text(n, name), nil
	}
}

func (e *evaluator) getAtt(n, arg *yaml.Node) (*yaml.Node, error) {
	v, err := e.eval(arg)
	if err != nil {
		return nil, err
	}
	if v != nil && v.Kind == yaml.SequenceNode {
		parts, err := e.strs(v)
		if err != nil {
			return nil, err
		}
		if len(parts) == 2 {
			return e.attribute(n, parts[0], parts[1])
		}
	} else if s, err := e.str(v); err != nil {
		return nil, err
	} else if resource, attribute, ok := strings.Cut(s, "."); ok {
		return e.attribute(n, resource, attribute)
	}
	return nil, e.errorf(n, "it must be written as Fn::GetAtt: [resource, attribute]")
}

// attribute gives what Fn::GetAtt gives, for queues and functions.
func (e *evaluator) attribute(n *yaml.Node, resource, attribute string) (*yaml.Node, error) {
	r := child(child(e.t.root, "Resources"), resource)
	if r == nil {
		return nil, e.errorf(n, "%s is not a resource of the template", resource)
	}
	switch resourceType(r) {
	case typeQueue:
		name, err := e.queueName(resource, r)
		if err != nil {
			return nil, err
		}
		switch attribute {
		case "Arn":
			return text(n, e.queueARN(name)), nil
		case "QueueName":
			return text(n, name), nil
		case "QueueUrl":
			return text(n, e.queueURL(name)), nil
		}
	case typeSAMFunction, typeFunction:
		if attribute == "Arn" {
			name, err := e.functionName(resource, r)
			return text(n, e.functionARN(name)), err
		}
	}
	return nil, e.errorf(n, "%s.%s is known only once the stack is deployed", resource, attribute)
}

// parameter gives the value of a parameter: the override, else the default.
func (e *evaluator) parameter(n *yaml.Node, name string, p *yaml.Node) (*yaml.Node, error) {
	kind, err := e.str(child(p, "Type"))
	if err != nil {
		return nil, err
	}
	value, given := e.o.Parameters[name]
	if !given {
		def := child(p, "Default")
		if def == nil {
			return nil, e.errorf(n, "parameter %s has no default; give it a value: --parameter-overrides %s=VALUE", name, name)
		}
		if strings.HasPrefix(kind, "AWS::SSM::Parameter::Value") {
			return nil, e.errorf(n, "parameter %s is read from SSM when the stack is deployed; give it a value here: --parameter-overrides %s=VALUE", name, name)
		}
		if value, err = e.str(def); err != nil {
			return nil, err
		}
	} else if allowed, err := e.strs(child(p, "AllowedValues")); err != nil {
		return nil, err
	} else if len(allowed) > 0 && !slices.Contains(allowed, value) {
		return nil, e.errorf(p, "parameter %s is %q; the template allows %s", name, value, strings.Join(allowed, ", "))
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
