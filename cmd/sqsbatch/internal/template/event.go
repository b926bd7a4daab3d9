package template

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// A source is one event source mapping from a queue to a function.
type source struct {
	function resource
	name     string
	node     *yaml.Node // the mapping's properties
}

// sources lists the mappings of all functions in the file's order: SAM events
// of type SQS, and mapping resources whose source is an SQS queue.
func (e *evaluator) sources() ([]source, error) {
	functions, err := e.resources(typeSAMFunction, typeFunction)
	if err != nil {
		return nil, err
	}
	var out []source
	for _, f := range functions {
		if resourceType(f.node) != typeSAMFunction {
			continue
		}
		events, err := e.path(f.node, "Properties", "Events")
		if err != nil {
			return nil, err
		}
		if events == nil || events.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i+1 < len(events.Content); i += 2 {
			event, err := e.eval(events.Content[i+1])
			if err != nil {
				return nil, err
			}
			if t := child(event, "Type"); t != nil && t.Value == "SQS" {
				out = append(out, source{f, events.Content[i].Value, child(event, "Properties")})
			}
		}
	}
	mappings, err := e.resources(typeMapping)
	if err != nil {
		return nil, err
	}
	for _, m := range mappings {
		s, err := e.mappingSource(m, functions)
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
func (e *evaluator) mappingSource(m resource, functions []resource) (*source, error) {
	props := child(m.node, "Properties")
	queue, err := e.field(props, "EventSourceArn")
	if queue == nil || err != nil || !isQueueARN(queue.Value) {
		return nil, nil // its source is not known here, or not a queue
	}
	want, err := e.getString(layers{props}, "FunctionName")
	if err != nil {
		return nil, err
	}
	for _, f := range functions {
		name, err := e.functionName(f.id, f.node)
		if err != nil {
			return nil, err
		}
		if want == name || want == e.functionARN(name) {
			return &source{f, m.id, props}, nil
		}
	}
	return nil, nil
}

// event reads a mapping's properties; SAM's and CloudFormation's names differ
// only in the queue's.
func (e *evaluator) event(s source) (Event, []string, error) {
	out := Event{Name: s.name, Enabled: true}
	in := layers{s.node}
	queue, err := e.get(in, "Queue")
	if queue == nil && err == nil {
		queue, err = e.get(in, "EventSourceArn")
	}
	if err != nil {
		return out, nil, err
	}
	if queue == nil {
		return out, nil, e.errorf(s.node, "event %s of %s has no Queue", s.name, s.function.id)
	}
	if out.QueueARN, err = e.str(queue); err != nil {
		return out, nil, err
	}
	if !isQueueARN(out.QueueARN) {
		return out, nil, e.errorf(queue, "Queue of event %s is %q; it must be the ARN of an SQS queue, such as !GetAtt Queue.Arn", s.name, out.QueueARN)
	}
	out.QueueARN = e.queueARN(queueOf(out.QueueARN))
	if out.BatchSize, err = e.getNumber(in, 10, "BatchSize"); err != nil {
		return out, nil, err
	}
	window, err := e.getNumber(in, 0, "MaximumBatchingWindowInSeconds")
	if err != nil {
		return out, nil, err
	}
	out.Window = time.Duration(window) * time.Second
	if out.MaximumConcurrency, err = e.getNumber(in, 0, "ScalingConfig", "MaximumConcurrency"); err != nil {
		return out, nil, err
	}
	if v, err := e.get(in, "FunctionResponseTypes"); err != nil {
		return out, nil, err
	} else if types, err := e.strs(v); err != nil {
		return out, nil, err
	} else {
		out.ReportBatchItemFailures = slices.Contains(types, "ReportBatchItemFailures")
	}
	if v, err := e.get(in, "Enabled"); err != nil {
		return out, nil, err
	} else if v != nil {
		if out.Enabled, err = e.truth(v, "Enabled"); err != nil {
			return out, nil, err
		}
	}
	var warnings []string
	out.Filters, warnings, err = e.filters(s)
	return out, warnings, err
}
