package template

import (
	"slices"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// A source is one event source mapping from a queue to a function.
type source struct {
	function Resource
	name     string
	pos      Pos
	in       Value // the mapping's properties
}

// sources lists the mappings of all functions in the file's order: SAM events
// of type SQS, and mapping resources whose source is an SQS queue.
func (st *Stack) sources() ([]source, error) {
	functions, err := st.Resources(SAMFunction, LambdaFunction)
	if err != nil {
		return nil, err
	}
	var out []source
	for _, f := range functions {
		if f.Type != SAMFunction {
			continue
		}
		events := f.Get("Events")
		if events.Err != nil {
			return nil, events.Err
		}
		for name, event := range events.Entries() {
			if event.Err != nil {
				return nil, event.Err
			}
			if kind, err := event.Get("Type").Str(); err == nil && kind == "SQS" {
				out = append(out, source{f, name, event.Pos, event.Get("Properties")})
			}
		}
	}
	mappings, err := st.Resources(EventSourceMapping)
	if err != nil {
		return nil, err
	}
	for _, m := range mappings {
		s, err := st.mappingSource(m, functions)
		if err != nil {
			return nil, err
		}
		if s != nil {
			out = append(out, *s)
		}
	}
	return out, nil
}

// mappingSource finds the function of an AWS::Lambda::EventSourceMapping. A
// mapping of another kind of source, or to a function elsewhere, is nil.
func (st *Stack) mappingSource(m Resource, functions []Resource) (*source, error) {
	if queue, err := m.Get("EventSourceArn").Str(); err != nil || !isQueueARN(queue) {
		return nil, nil // its source is not known here, or not a queue
	}
	want, err := m.Get("FunctionName").Str()
	if err != nil {
		return nil, err
	}
	for _, f := range functions {
		name, err := f.functionName()
		if err != nil {
			return nil, err
		}
		if want == name || want == st.functionARN(name) {
			return &source{f, m.ID, m.Pos, m.Get()}, nil
		}
	}
	return nil, nil
}

// polledARN is the ARN of a mapping's queue: here, whatever region and account it is in.
func (st *Stack) polledARN(s source) (string, error) {
	queue := s.in.Get("Queue")
	if queue.Absent() {
		queue = s.in.Get("EventSourceArn")
	}
	if queue.Absent() {
		return "", &Error{Pos: s.pos, Message: "event " + s.name + " of " + s.function.ID + " has no Queue"}
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
