package template

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
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
	// region and account are as they were given, "" if they were not.
	region, account string
	// lenient says that a value that is not known counts as absent, and a name that is
	// not known is the logical id. See Survey.
	lenient bool
	left    []Finding // resources whose condition is not known
	all     []Resource
	byID    map[string]int // indexes of all
}

// leave notes, once, that a resource is left out.
func (st *Stack) leave(r Resource, reason error, format string, args ...any) {
	f := Finding{Pos: r.Pos, Message: fmt.Sprintf(format, args...), Parameter: Parameter(reason)}
	if reason != nil {
		f.Message += ": " + Reason(r.Pos, reason)
	}
	if !slices.Contains(st.left, f) {
		st.left = append(st.left, f)
	}
}

// Unsure reports whether there may be more resources of the given types than Resources
// lists: their condition is not known, or a macro makes them.
func (st *Stack) Unsure(types ...string) bool {
	return slices.ContainsFunc(st.All(), func(r Resource) bool {
		if !slices.Contains(types, r.Type) {
			return r.Type == ""
		}
		_, err := st.exists(r.value.node)
		return err != nil
	})
}

// Stack gives the template's parameters their values. It returns an error for a
// parameter that the template does not have. Of the options, those that choose a
// function or a queue are ignored.
func (t *Template) Stack(o Options) (*Stack, error) {
	st := &Stack{Template: t, o: o, region: o.Region, account: o.AccountID}
	st.o.Region = cmp.Or(o.Region, "us-east-1")
	st.o.AccountID = cmp.Or(o.AccountID, "000000000000")
	st.o.Endpoint = cmp.Or(o.Endpoint, "https://sqs."+st.o.Region+".amazonaws.com")
	for _, name := range slices.Sorted(maps.Keys(o.Parameters)) {
		if !t.HasParameter(name) {
			return nil, st.errorf(nil, "the template has no parameter %s", name)
		}
	}
	return st, nil
}

// Exhausted reports whether the bound on steps of evaluation was reached: values are not known
// since then.
func (st *Stack) Exhausted() bool { return st.steps > st.limit() }

// Where returns the region and the account that the options give, "" for one that they do not
// give.
func (st *Stack) Where() (region, account string) { return st.region, st.account }

// Allowed returns the AllowedValues of a parameter, none if there are none.
func (st *Stack) Allowed(parameter string) []string {
	values, _ := st.value(child(st.root, "Parameters")).Get(parameter, "AllowedValues").Strs()
	return values
}

// EveryContainer reports whether the options say that all containers poll.
func (st *Stack) EveryContainer() bool { return st.o.EveryContainer }

// With returns the stack with another value of a parameter.
func (st *Stack) With(parameter, value string) *Stack {
	o := st.o
	o.Parameters = maps.Clone(o.Parameters)
	if o.Parameters == nil {
		o.Parameters = map[string]string{}
	}
	o.Parameters[parameter] = value
	return &Stack{Template: st.Template, o: o, region: st.region, account: st.account, lenient: st.lenient}
}

// Metadata returns what the template says about itself under a name.
func (st *Stack) Metadata(name string) Value { return st.value(st.root).Get("Metadata", name) }

// Metadata returns what a resource says about itself under a name.
func (r Resource) Metadata(name string) Value { return r.value.Get("Metadata", name) }

// All lists the resources of all types, whatever their conditions say. The caller must not
// change the list.
func (st *Stack) All() []Resource {
	if st.all == nil {
		st.all, st.byID = []Resource{}, map[string]int{}
		entries := child(st.root, "Resources").Content
		for i := 0; i+1 < len(entries); i += 2 {
			r := st.resource(entries[i], entries[i+1])
			st.byID[r.ID] = len(st.all)
			st.all = append(st.all, r)
		}
	}
	return st.all
}

// Around returns the logical id of the resource around a place, "" outside of Resources.
func (st *Stack) Around(at Pos) string {
	if keyBefore(st.root, at) != "Resources" {
		return ""
	}
	return keyBefore(child(st.root, "Resources"), at)
}

// keyBefore is the name of the last entry of a mapping that begins at a place or before it.
func keyBefore(n *yaml.Node, at Pos) string {
	i := sort.Search(len(n.Content)/2, func(i int) bool {
		k := n.Content[2*i]
		return k.Line > at.Line || k.Line == at.Line && k.Column > at.Col
	}) - 1
	if i < 0 {
		return ""
	}
	return n.Content[2*i].Value
}

// A Resource is an entry of Resources.
type Resource struct {
	ID, Type string
	Pos      Pos // of its logical id

	value Value // the entry
}

// Resource returns the resource of a logical id, whatever its condition says.
func (st *Stack) Resource(id string) (Resource, bool) {
	all := st.All()
	if i, ok := st.byID[id]; ok {
		return all[i], true
	}
	return Resource{}, false
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
	for _, r := range st.All() {
		if !slices.Contains(types, r.Type) {
			continue
		}
		ok, err := st.exists(r.value.node)
		switch {
		case err != nil && !st.lenient:
			return nil, err
		case err != nil:
			st.leave(r, err, "%s is not checked, since it is not known whether it is created", r.ID)
		case ok:
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
	return r.named(v, r.ID)
}

// named is a name, or the given one if it is not known and that is no error.
func (r Resource) named(v Value, otherwise string) (string, error) {
	name, err := v.Str()
	if err != nil && r.value.st.lenient {
		return otherwise, nil
	}
	return name, err
}

func (st *Stack) functionARN(name string) string {
	return "arn:" + endpoint.PartitionOf(st.o.Region) + ":lambda:" + st.o.Region + ":" + st.o.AccountID + ":function:" + name
}

// queueName is QueueName, or the logical id made into a name that SQS takes.
func (r Resource) queueName() (string, error) {
	otherwise := r.ID
	fifo, err := r.Get("FifoQueue").Bool(false)
	if fifo {
		otherwise += ".fifo"
	}
	if v := r.Get("QueueName"); !v.Absent() {
		return r.named(v, otherwise)
	}
	if r.value.st.lenient {
		err = nil
	}
	return otherwise, err
}

// queueARN is a queue's ARN here, whatever region and account it is in.
func (st *Stack) queueARN(name string) string {
	return "arn:" + endpoint.PartitionOf(st.o.Region) + ":sqs:" + st.o.Region + ":" + st.o.AccountID + ":" + name
}

func (st *Stack) queueURL(name string) string {
	return strings.TrimSuffix(st.o.Endpoint, "/") + "/" + st.o.AccountID + "/" + name
}

func isQueueARN(s string) bool {
	_, err := endpoint.ParseARN(s)
	return err == nil
}
