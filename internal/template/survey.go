package template

import (
	"errors"
	"slices"
	"strings"
)

// A Survey is what a template has of functions, mappings and queues, read as far as it is
// known: a value that is not known counts as absent, and [Value] says so where it is asked
// for. A queue or a function whose name is not known has its logical id as name.
type Survey struct {
	// Stack is the template's, with values that are read in that way. Its lists of
	// resources leave out those whose condition is not known.
	Stack    *Stack
	Mappings []Attachment
	Queues   []Queue
}

// Left lists the resources that were left out of any list, because it is not known whether
// they are created, or whether a mapping's source is a queue.
func (s *Survey) Left() []Finding { return s.Stack.left }

// An Attachment is an event source mapping from an SQS queue to a function.
type Attachment struct {
	// Function has no LogicalID if it is not in the template.
	Function Function
	Event    Event
	// Queue has no LogicalID if it is not in the template, and no ARN if it is not known.
	Queue Queue
}

// Survey reads the template as far as its values are known.
func (st *Stack) Survey() *Survey {
	own := &Stack{Template: st.Template, o: st.o, region: st.region, account: st.account, lenient: true}
	s := &Survey{Stack: own}
	own.macros()
	queues, _ := own.Resources(SQSQueue) // a lenient stack has no errors
	known := map[string]Queue{}
	for _, r := range queues {
		q, _ := own.queue(r)
		s.Queues = append(s.Queues, q)
		known[q.ARN] = q
	}
	functions, _ := own.Resources(SAMFunction, LambdaFunction)
	for _, f := range functions {
		for name, event := range f.samEvents() {
			s.attach(source{f, name, event.Pos, event.Get("Properties")}, known)
		}
	}
	byName := map[string]Resource{}
	for _, f := range slices.Backward(functions) {
		name, _ := f.functionName()
		byName[name] = f
	}
	mappings, _ := own.Resources(EventSourceMapping)
	for _, m := range mappings {
		if own.fromQueue(m) {
			s.attach(source{own.target(m, byName), m.ID, m.Pos, m.Get()}, known)
		}
	}
	return s
}

// samEvents are the SQS events of a function of SAM's.
func (r Resource) samEvents() func(yield func(string, Value) bool) {
	return func(yield func(string, Value) bool) {
		if r.Type != SAMFunction {
			return
		}
		for name, event := range r.Get("Events").Entries() {
			if kind, err := event.Get("Type").Str(); err == nil && kind == "SQS" && !yield(name, event) {
				return
			}
		}
	}
}

func (s *Survey) attach(from source, queues map[string]Queue) {
	var d Deployment
	if from.function.ID != "" {
		_ = s.Stack.function(&d, from.function)
	}
	event, _ := s.Stack.event(from)
	queue, ok := queues[event.QueueARN]
	if !ok && event.QueueARN != "" {
		queue = s.Stack.literalQueue(event.QueueARN[strings.LastIndex(event.QueueARN, ":")+1:])
	}
	s.Mappings = append(s.Mappings, Attachment{d.Function, event, queue})
}

// fromQueue reports whether a mapping's source is a queue. If that is not known, the
// mapping is left out.
func (st *Stack) fromQueue(m Resource) bool {
	from := m.Get("EventSourceArn")
	arn, err := from.Str()
	if e, ok := errors.AsType[*Error](err); ok && e.Attribute != "" {
		return false // a stream or the like: the attributes of queues are known
	}
	if err != nil {
		st.left = append(st.left, Finding{Pos: m.Pos, Message: "mapping " + m.ID + " is not checked, since its source is not known: " + Reason(m.Pos, err)})
		return false
	}
	return isQueueARN(arn)
}

// target finds the function of a mapping, by its name, its ARN, or those of a version or an
// alias. The zero Resource is one that is not in the template.
func (st *Stack) target(m Resource, functions map[string]Resource) Resource {
	for range 3 { // an alias of a version of a function
		name, err := m.Get("FunctionName").Str()
		if e, ok := errors.AsType[*Error](err); ok && e.Attribute != "" {
			name, _, _ = strings.Cut(e.Attribute, ".")
		}
		name = strings.TrimPrefix(name, st.functionARN(""))
		name, _, _ = strings.Cut(name, ":")
		if f, ok := functions[name]; ok {
			return f
		}
		r, ok := st.Resource(name)
		if !ok || r.Type != "AWS::Lambda::Alias" && r.Type != "AWS::Lambda::Version" {
			break
		}
		m = r
	}
	return Resource{}
}

// macros notes what is made of entries that are no resources: Fn::ForEach and the like.
func (st *Stack) macros() {
	for _, r := range st.All() {
		if r.Type == "" {
			st.left = append(st.left, Finding{Pos: r.Pos, Message: r.ID + " is not checked: it has no Type, or is expanded when the stack is deployed"})
		}
	}
}

// Connected reports whether connectors of SAM's are written in the resource.
func (r Resource) Connected() bool { return !r.value.Get("Connectors").Absent() }
