package template

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	typeSAMFunction = "AWS::Serverless::Function"
	typeFunction    = "AWS::Lambda::Function"
	typeMapping     = "AWS::Lambda::EventSourceMapping"
	typeQueue       = "AWS::SQS::Queue"
)

// A resource is one entry of Resources whose condition holds.
type resource struct {
	id   string
	node *yaml.Node
}

func resourceType(r *yaml.Node) string {
	if t := child(r, "Type"); t != nil {
		return t.Value
	}
	return ""
}

// resources lists the existing resources of the given types, in the file's
// order.
func (e *evaluator) resources(types ...string) ([]resource, error) {
	var out []resource
	all := child(e.t.root, "Resources")
	for i := 0; i+1 < len(all.Content); i += 2 {
		r := resource{id: all.Content[i].Value, node: all.Content[i+1]}
		for _, t := range types {
			if resourceType(r.node) != t {
				continue
			}
			ok, err := e.exists(r.node)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

func (e *evaluator) functionName(id string, r *yaml.Node) (string, error) {
	v, err := e.path(r, "Properties", "FunctionName")
	if v == nil || err != nil {
		return id, err
	}
	return e.str(v)
}

func (e *evaluator) functionARN(name string) string {
	return "arn:aws:lambda:" + e.o.Region + ":" + e.o.AccountID + ":function:" + name
}

// queueName is QueueName, or the logical id made into a name that SQS takes.
func (e *evaluator) queueName(id string, r *yaml.Node) (string, error) {
	v, err := e.path(r, "Properties", "QueueName")
	if err != nil {
		return "", err
	}
	if v != nil {
		return e.str(v)
	}
	fifo, err := e.queueFIFO(r)
	if fifo {
		id += ".fifo"
	}
	return id, err
}

func (e *evaluator) queueFIFO(r *yaml.Node) (bool, error) {
	v, err := e.path(r, "Properties", "FifoQueue")
	if v == nil || err != nil {
		return false, err
	}
	return e.truth(v, "FifoQueue")
}

func (e *evaluator) queueARN(name string) string {
	return "arn:aws:sqs:" + e.o.Region + ":" + e.o.AccountID + ":" + name
}

func (e *evaluator) queueURL(name string) string {
	return strings.TrimSuffix(e.o.Endpoint, "/") + "/" + e.o.AccountID + "/" + name
}

// A layer is a mapping in which a property may stand: the function's own
// Properties first, Globals after it.
type layers []*yaml.Node

// get returns the evaluated value at keys in the first layer that has it.
func (e *evaluator) get(in layers, keys ...string) (*yaml.Node, error) {
	for _, layer := range in {
		if v, err := e.path(layer, keys...); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

func (e *evaluator) getString(in layers, keys ...string) (string, error) {
	v, err := e.get(in, keys...)
	if v == nil || err != nil {
		return "", err
	}
	return e.str(v)
}

func (e *evaluator) getNumber(in layers, def int, keys ...string) (int, error) {
	v, err := e.get(in, keys...)
	if v == nil || err != nil {
		return def, err
	}
	return e.number(v, keys[len(keys)-1])
}
