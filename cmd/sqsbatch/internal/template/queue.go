package template

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/batch"
)

// plainAttributes are properties of AWS::SQS::Queue and attributes of that name.
var plainAttributes = []string{
	"ContentBasedDeduplication", "DeduplicationScope", "DelaySeconds", "FifoQueue",
	"FifoThroughputLimit", "MaximumMessageSize", "MessageRetentionPeriod",
	"ReceiveMessageWaitTimeSeconds", "VisibilityTimeout",
}

// queue reads a queue resource.
func (st *Stack) queue(resource Resource) (Queue, error) {
	name, err := resource.queueName()
	if err != nil {
		return Queue{}, err
	}
	q := st.literalQueue(name)
	q.Resource, q.LogicalID = resource, resource.ID
	r := st.reader()
	for _, a := range plainAttributes {
		if v := resource.Get(a); !v.Absent() {
			if s, err := v.Str(); read(&r, err == nil, err) {
				q.Attributes[a] = s
			}
		}
	}
	q.FIFO = r.truth(resource.Get("FifoQueue"), false)
	delete(q.Attributes, "FifoQueue") // SQS takes no "false"
	if q.FIFO {
		q.Attributes["FifoQueue"] = "true"
	}
	read(&r, true, st.redrive(&q))
	allow, err := resource.Get("RedriveAllowPolicy").document()
	if read(&r, allow, err) != nil {
		encoded, err := json.Marshal(allow)
		q.Attributes["RedriveAllowPolicy"] = read(&r, string(encoded), err)
	}
	return q, r.err
}

// literalQueue is a queue of which only the name is known.
func (st *Stack) literalQueue(name string) Queue {
	q := Queue{Name: name, ARN: st.queueARN(name), URL: st.queueURL(name), FIFO: strings.HasSuffix(name, ".fifo"), Attributes: map[string]string{}}
	if q.FIFO {
		q.Attributes["FifoQueue"] = "true"
	}
	return q
}

func (st *Stack) redrive(q *Queue) error {
	in := q.Resource.Get("RedrivePolicy")
	policy, err := in.document()
	if policy == nil {
		return err
	}
	target, _ := policy["deadLetterTargetArn"].(string)
	count, bad := strconv.Atoi(fmt.Sprint(policy["maxReceiveCount"]))
	if st.lenient && bad == nil {
		q.MaxReceiveCount = count // even if the target is not known
	}
	if !isQueueARN(target) {
		return in.Pos.errorf("RedrivePolicy of %s has the deadLetterTargetArn %q; it must be the ARN of an SQS queue", q.LogicalID, target)
	}
	if !st.lenient && (bad != nil || count < 1 || count > 1000) {
		return in.Pos.errorf("RedrivePolicy of %s has the maxReceiveCount %v; it must be a number from 1 to 1000", q.LogicalID, policy["maxReceiveCount"])
	}
	target = st.queueARN(batch.QueueName(target)) // a queue of another account is played here
	q.DeadLetterARN, q.MaxReceiveCount = target, count
	encoded, err := json.Marshal(map[string]string{
		"deadLetterTargetArn": target,
		"maxReceiveCount":     strconv.Itoa(count),
	})
	q.Attributes["RedrivePolicy"] = string(encoded)
	return err
}

// Visibility returns the queue's visibility timeout.
func (q *Queue) Visibility() time.Duration { return q.seconds("VisibilityTimeout", 30) }

// Delay returns how long the queue hides a new message.
func (q *Queue) Delay() time.Duration { return q.seconds("DelaySeconds", 0) }

// Retention returns how long the queue keeps a message.
func (q *Queue) Retention() time.Duration { return q.seconds("MessageRetentionPeriod", 345600) }

// seconds is an attribute, or SQS's default for it.
func (q *Queue) seconds(attribute string, otherwise int) time.Duration {
	if n, err := strconv.Atoi(q.Attributes[attribute]); err == nil {
		otherwise = n
	}
	return time.Duration(otherwise) * time.Second
}

// document reads a property that holds a JSON document, either as a mapping of
// strings and lists of strings, or as JSON in a string.
func (v Value) document() (map[string]any, error) {
	if v.node == nil {
		return nil, v.Err
	}
	out := map[string]any{}
	switch v.node.Kind {
	case yaml.ScalarNode:
		if err := json.Unmarshal([]byte(v.node.Value), &out); err != nil {
			return nil, v.st.errorf(v.node, "%s is not a JSON object: %v", v.name, err)
		}
		return out, nil
	case yaml.MappingNode:
	default:
		return nil, v.st.errorf(v.node, "%s must be a mapping, not %s", v.name, kind(v.node))
	}
	for key, item := range v.Entries() {
		var err error
		switch {
		case item.Absent():
		case item.node != nil && item.node.Kind == yaml.SequenceNode:
			out[key], err = item.Strs()
		default:
			out[key], err = item.Str()
		}
		if err != nil && !v.st.lenient {
			return nil, err
		}
		if err != nil {
			delete(out, key)
		}
	}
	return out, nil
}

// Queues evaluates the template's queues and nothing else of it: it needs no function. They are
// listed as in [Deployment.Queues], each after the dead-letter queue that it needs. What cannot
// be read is left out with a finding, unless another queue needs it.
func (st *Stack) Queues() ([]Queue, []Finding, error) {
	var d Deployment
	s, err := st.readQueues(&d)
	if err != nil {
		return nil, nil, err
	}
	err = s.list(st, &d)
	return d.Queues, d.Findings, err
}

// queues fills in d.Queue, d.Queues and the queues of d.More. Queues that have nothing to do with
// the event are there for the function to send to; one of those that cannot be read is a warning.
func (st *Stack) queues(d *Deployment) error {
	s, err := st.readQueues(d)
	if err != nil {
		return err
	}
	if d.Queue, err = st.polled(s, d, d.Event); err != nil {
		return err
	}
	for i := range d.More {
		if d.More[i].Queue, err = st.polled(s, d, d.More[i].Event); err != nil {
			return err
		}
	}
	return s.list(st, d)
}

// polled is the queue of an event.
func (st *Stack) polled(s *queueSet, d *Deployment, e Event) (Queue, error) {
	q, ok := s.known[e.QueueARN]
	if !ok {
		q.Queue = st.undeclaredQueue(d, e.QueueARN, e.Pos)
		s.add(q)
	}
	return q.Queue, q.err
}

// A queueSet is what is known of queues, by ARN.
type queueSet struct {
	known map[string]knownQueue
	order []string // of those that could be read, as in the template
}

type knownQueue struct {
	Queue
	err error // why it could not be read
}

func (s *queueSet) add(q knownQueue) {
	s.known[q.ARN] = q
	if q.err == nil {
		s.order = append(s.order, q.ARN)
	}
}

// readQueues reads the template's queues. One that cannot be read is a warning.
func (st *Stack) readQueues(d *Deployment) (*queueSet, error) {
	s := &queueSet{known: map[string]knownQueue{}}
	found, err := st.Resources(SQSQueue)
	for _, r := range found {
		q, err := st.queue(r)
		if err != nil {
			d.found(r.Pos, "queue %s is not created: %s", r.ID, Reason(r.Pos, err))
		}
		s.add(knownQueue{q, err})
	}
	return s, err
}

// list appends what is known to d.Queues, dead-letter queues first.
func (s *queueSet) list(st *Stack, d *Deployment) error {
	listed := map[string]bool{}
	var add func(arn string, needed Pos) error
	add = func(arn string, needed Pos) error {
		if listed[arn] {
			return nil
		}
		listed[arn] = true
		q, ok := s.known[arn]
		if !ok {
			q.Queue = st.undeclaredQueue(d, arn, needed)
		}
		if q.err == nil && q.DeadLetterARN != "" {
			q.err = add(q.DeadLetterARN, q.Resource.Get("RedrivePolicy").Pos)
		}
		if q.err == nil {
			d.Queues = append(d.Queues, q.Queue)
		}
		return q.err
	}
	for _, arn := range s.order {
		if err := add(arn, Pos{}); err != nil {
			return err
		}
	}
	return nil
}

// undeclaredQueue makes a queue of which the template has the ARN only.
func (st *Stack) undeclaredQueue(d *Deployment, arn string, needed Pos) Queue {
	q := st.literalQueue(batch.QueueName(arn))
	if arn == d.Event.QueueARN {
		// AWS' advice for a queue that feeds a function; its own is not known.
		q.Attributes["VisibilityTimeout"] = fmt.Sprint(int((6*d.Function.Timeout + d.Event.Window).Seconds()))
	}
	d.found(needed, "queue %s is not in the template; a new one with default attributes stands in for it", q.Name)
	d.Findings[len(d.Findings)-1].ID = QueueElsewhere
	return q
}
