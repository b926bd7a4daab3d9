package template

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/internal/endpoint"
)

// Types of resources that this package knows.
const (
	SAMFunction        = "AWS::Serverless::Function"
	LambdaFunction     = "AWS::Lambda::Function"
	EventSourceMapping = "AWS::Lambda::EventSourceMapping"
	SQSQueue           = "AWS::SQS::Queue"
)

// A Stack is a template with values for its parameters: what it says of any
// resource can be asked of it. A Stack is not for concurrent use.
type Stack struct {
	*Template
	o     Options
	depth int
	steps int
}

// Stack gives the template's parameters their values. It returns an error for a
// parameter that the template does not have. Of the options, those that choose a
// function or a queue are ignored.
func (t *Template) Stack(o Options) (*Stack, error) {
	st := &Stack{Template: t, o: o.withDefaults()}
	for _, name := range slices.Sorted(maps.Keys(o.Parameters)) {
		if child(child(t.root, "Parameters"), name) == nil {
			return nil, st.errorf(nil, "the template has no parameter %s", name)
		}
	}
	return st, nil
}

// A Resource is an entry of Resources.
type Resource struct {
	ID, Type string
	Pos      Pos // of its logical id

	value Value // the entry
}

// Resource returns the resource of a logical id, whatever its condition says.
func (st *Stack) Resource(id string) (Resource, bool) {
	key, node := entry(child(st.root, "Resources"), id)
	if node == nil {
		return Resource{}, false
	}
	return st.resource(key, node), true
}

func (st *Stack) resource(key, node *yaml.Node) Resource {
	r := Resource{ID: key.Value, Pos: st.at(key), value: Value{Pos: st.at(key), st: st, node: node}}
	if t := child(node, "Type"); t != nil {
		r.Type = t.Value
	}
	return r
}

// Resources lists the resources of the given types whose conditions hold, in the
// file's order. It returns an error when a condition is not known.
func (st *Stack) Resources(types ...string) ([]Resource, error) {
	var out []Resource
	all := child(st.root, "Resources")
	for i := 0; i+1 < len(all.Content); i += 2 {
		r := st.resource(all.Content[i], all.Content[i+1])
		if !slices.Contains(types, r.Type) {
			continue
		}
		ok, err := st.exists(r.value.node)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// Get returns a property, of a function of SAM's that of Globals if it has none.
func (r Resource) Get(path ...string) Value {
	v := r.value.Get("Properties").Get(path...)
	if v.Absent() && r.Type == SAMFunction {
		if global := r.global().Get(path...); !global.Absent() {
			return global
		}
	}
	return v
}

// global is what Globals says of all functions.
func (r Resource) global() Value { return r.value.st.value(r.value.st.root).Get("Globals", "Function") }

// functionName is FunctionName, or the logical id.
func (r Resource) functionName() (string, error) {
	v := r.Get("FunctionName")
	if v.Absent() {
		return r.ID, nil
	}
	return v.Str()
}

func (st *Stack) functionARN(name string) string {
	return "arn:aws:lambda:" + st.o.Region + ":" + st.o.AccountID + ":function:" + name
}

// queueName is QueueName, or the logical id made into a name that SQS takes.
func (r Resource) queueName() (string, error) {
	if v := r.Get("QueueName"); !v.Absent() {
		return v.Str()
	}
	fifo, err := r.Get("FifoQueue").Bool(false)
	if fifo {
		return r.ID + ".fifo", err
	}
	return r.ID, err
}

// queueARN is a queue's ARN here, whatever region and account it is in.
func (st *Stack) queueARN(name string) string {
	return "arn:aws:sqs:" + st.o.Region + ":" + st.o.AccountID + ":" + name
}

func (st *Stack) queueURL(name string) string {
	return strings.TrimSuffix(st.o.Endpoint, "/") + "/" + st.o.AccountID + "/" + name
}

func isQueueARN(s string) bool {
	_, err := endpoint.ParseARN(s)
	return err == nil
}
