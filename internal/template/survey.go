package template

import "github.com/sqsbatch/sqsbatch/batch"

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
			own.leave(r, "%s is not checked: it has no Type, or is expanded when the stack is deployed", r.ID)
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
