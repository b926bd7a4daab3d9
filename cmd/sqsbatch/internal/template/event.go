package template

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/batch"
)

// A source is one event source mapping from a queue to a function.
type source struct {
	function Resource // the zero Resource if it is not in the template
	name     string
	pos      Pos
	in       Value // the mapping's properties
}

// sources lists the mappings of all functions in the file's order: SAM events of type SQS, and
// mapping resources whose source is an SQS queue. A lenient stack has no errors, and mappings to
// functions that are not in the template.
func (st *Stack) sources() (list []source, err error) {
	functions, err := st.Resources(SAMFunction, LambdaFunction)
	if err != nil {
		return nil, err
	}
	byName := map[string]Resource{}
	for _, f := range slices.Backward(functions) {
		if name, err := f.functionName(); err == nil {
			byName[name] = f
		}
	}
	r := st.reader()
	for _, f := range functions {
		if f.Type != SAMFunction {
			continue
		}
		events := f.Get("Events")
		read(&r, events, events.Err)
		for name, event := range events.Entries() {
			read(&r, event, event.Err)
			if kind, err := event.Get("Type").Str(); err == nil && kind == "SQS" {
				list = append(list, source{f, name, event.Pos, event.Get("Properties")})
			}
		}
	}
	mappings, err := st.Resources(EventSourceMapping)
	read(&r, mappings, err)
	for _, m := range mappings {
		if !st.fromQueue(m) {
			continue
		}
		f, err := st.target(m, byName)
		if read(&r, f, err); f.ID != "" || st.lenient {
			list = append(list, source{f, m.ID, m.Pos, m.Get()})
		}
	}
	return list, r.err
}

// fromQueue reports whether a mapping's source is a queue. If that is not known, the
// mapping is left out.
func (st *Stack) fromQueue(m Resource) bool {
	arn, err := m.Get("EventSourceArn").Str()
	if err != nil && Attribute(err) == "" { // else a stream or the like: the attributes of queues are known
		st.leave(m, err, "mapping %s is not checked, since its source is not known", m.ID)
	}
	return err == nil && isQueueARN(arn)
}

// target finds the function of a mapping, by its name, its ARN, or those of a version or an
// alias. The zero Resource is one that is not in the template.
func (st *Stack) target(m Resource, functions map[string]Resource) (Resource, error) {
	for range 3 { // an alias of a version of a function
		name, err := m.Get("FunctionName").Str()
		if attribute := Attribute(err); attribute != "" {
			name, _, _ = strings.Cut(attribute, ".")
			if f, ok := st.Resource(name); ok { // F.Version, or an attribute that is not known
				if own, err := f.functionName(); err == nil && functions[own].ID == f.ID {
					return f, nil
				}
			}
		}
		name, _, _ = strings.Cut(strings.TrimPrefix(name, st.functionARN("")), ":")
		if f, ok := functions[name]; ok {
			return f, nil
		}
		r, ok := st.Resource(name)
		if !ok || r.Type != "AWS::Lambda::Alias" && r.Type != "AWS::Lambda::Version" {
			return Resource{}, err
		}
		m = r
	}
	return Resource{}, nil
}

// polledARN is the ARN of a mapping's queue: here, whatever region and account it is in.
func (st *Stack) polledARN(s source) (string, error) {
	queue := s.in.Get("Queue")
	if queue.Absent() {
		queue = s.in.Get("EventSourceArn")
	}
	if queue.Absent() {
		return "", s.pos.errorf("event %s of %s has no Queue", s.name, s.function.ID)
	}
	arn, err := queue.Str()
	if err == nil && !isQueueARN(arn) {
		err = st.errorf(queue.node, "Queue of event %s is %q; it must be the ARN of an SQS queue, such as !GetAtt Queue.Arn", s.name, arn)
	}
	if err != nil {
		return "", err
	}
	return st.queueARN(batch.QueueName(arn)), nil
}

// event reads a mapping: SAM's and CloudFormation's differ in the queue's name.
func (st *Stack) event(s source) (Event, error) {
	r := st.reader()
	arn, err := st.polledARN(s)
	e := Event{
		Name:               s.name,
		Pos:                s.pos,
		Properties:         s.in,
		QueueARN:           read(&r, arn, err),
		BatchSize:          r.number(s.in.Get("BatchSize"), 10),
		Window:             time.Duration(r.number(s.in.Get("MaximumBatchingWindowInSeconds"), 0)) * time.Second,
		MaximumConcurrency: r.number(s.in.Get("ScalingConfig", "MaximumConcurrency"), 0),
		Enabled:            r.truth(s.in.Get("Enabled"), true),
	}
	types, err := s.in.Get("FunctionResponseTypes").Strs()
	e.ReportBatchItemFailures = slices.Contains(read(&r, types, err), "ReportBatchItemFailures")
	filters, err := s.filters()
	e.Filters = read(&r, filters, err)
	return e, r.err
}

// A Filter is one of an event's FilterCriteria.
type Filter struct {
	Pattern string // JSON as written; whether it is a pattern is not checked here
	Pos     Pos    // where it stands in the template
}

// filters reads FilterCriteria, {Filters: [{Pattern: JSON}]}.
func (s source) filters() ([]Filter, error) {
	items, err := s.in.Get("FilterCriteria", "Filters").List()
	if err != nil {
		return nil, err
	}
	var out []Filter
	for i, item := range items {
		f, err := item.filter(fmt.Sprintf("filter %d of event %s of %s", i+1, s.name, s.function.ID))
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (v Value) filter(name string) (Filter, error) {
	pattern := v.Get("Pattern")
	switch {
	case pattern.Err != nil:
		return Filter{}, pattern.Err
	case pattern.Absent():
		return Filter{}, v.Pos.errorf(`%s has no Pattern; give one, as in Pattern: '{"body": {"status": ["paid"]}}'`, name)
	case pattern.node.Kind != yaml.ScalarNode:
		return Filter{}, v.st.errorf(pattern.node, `the Pattern of %s is %s; it must be a string of JSON, as in Pattern: '{"body": {"status": ["paid"]}}'`, name, kind(pattern.node))
	}
	return Filter{Pattern: pattern.node.Value, Pos: v.st.at(pattern.node)}, nil
}

// A Survey is what a template has of functions, mappings and queues, read as far as it is
// known: a value that is not known counts as absent, and [Value] says so where it is asked
// for. A queue or a function whose name is not known has its logical id as name.
type Survey struct {
	// Stack is the template's, with values that are read in that way. Its lists of
	// resources leave out those whose condition is not known.
	Stack    *Stack
	Mappings []Mapping
	Queues   []Queue
}

// Left lists the resources that were left out of any list, because it is not known whether
// they are created, or whether a mapping's source is a queue.
func (s *Survey) Left() []Finding { return s.Stack.left }

// Survey reads the template as far as its values are known.
func (st *Stack) Survey() *Survey {
	own := &Stack{Template: st.Template, o: st.o, region: st.region, account: st.account, lenient: true}
	s := &Survey{Stack: own}
	for _, r := range own.All() {
		if r.Type == "" { // Fn::ForEach and the like
			own.leave(r, nil, "%s is not checked: it has no Type, or is expanded when the stack is deployed", r.ID)
		}
	}
	queues, _ := own.Resources(SQSQueue) // a lenient stack has no errors
	known := map[string]Queue{}
	for _, r := range queues {
		q, _ := own.queue(r)
		s.Queues = append(s.Queues, q)
		known[q.ARN] = q
	}
	sources, _ := own.sources()
	for _, from := range sources {
		var d Deployment
		if from.function.ID != "" {
			_ = own.function(&d, from.function)
		}
		event, _ := own.event(from)
		queue, ok := known[event.QueueARN]
		if !ok && event.QueueARN != "" {
			queue = own.literalQueue(batch.QueueName(event.QueueARN))
		}
		s.Mappings = append(s.Mappings, Mapping{d.Function, event, queue})
	}
	return s
}

// Connected reports whether connectors of SAM's are written in the resource.
func (r Resource) Connected() bool { return !r.value.Get("Connectors").Absent() }
