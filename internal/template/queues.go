package template

import (
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Queues evaluates the template's queues and nothing else of it: it needs no
// function. They are listed as in [Deployment.Queues], each after the dead-letter
// queue that it needs. What cannot be read is left out with a finding, unless
// another queue needs it.
func (st *Stack) Queues() ([]Queue, []Finding, error) {
	var d Deployment
	s, err := st.readQueues(&d)
	if err != nil {
		return nil, nil, err
	}
	err = s.list(st, &d)
	return d.Queues, d.Findings, err
}

// queues fills in d.Source, d.Queues and the queues of d.More. Queues that have nothing to do with
// the event are there for the function to send to; one of those that cannot be
// read is a warning.
func (st *Stack) queues(d *Deployment) error {
	s, err := st.readQueues(d)
	if err != nil {
		return err
	}
	if d.Source, err = st.polled(s, d, d.Event); err != nil {
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
	if err := s.failed[e.QueueARN]; err != nil {
		return Queue{}, err
	}
	q, ok := s.known[e.QueueARN]
	if !ok {
		q = st.undeclaredQueue(d, e.QueueARN, e.Pos)
		s.add(q)
	}
	return q, nil
}

// A queueSet is what is known of queues, by ARN.
type queueSet struct {
	known  map[string]Queue
	failed map[string]error // why a queue could not be read
	order  []string         // of known, as in the template
}

func (s *queueSet) add(q Queue) {
	s.known[q.ARN] = q
	s.order = append(s.order, q.ARN)
}

// readQueues reads the template's queues. One that cannot be read is a warning.
func (st *Stack) readQueues(d *Deployment) (*queueSet, error) {
	found, err := st.Resources(SQSQueue)
	if err != nil {
		return nil, err
	}
	s := &queueSet{known: map[string]Queue{}, failed: map[string]error{}}
	for _, r := range found {
		q, err := st.queue(r)
		if err != nil {
			d.found(r.Pos, "queue %s is not created: %s", r.ID, Reason(r.Pos, err))
			s.failed[q.ARN] = err
			continue
		}
		s.add(q)
	}
	return s, nil
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
			if err := s.failed[arn]; err != nil {
				return err
			}
			q = st.undeclaredQueue(d, arn, needed)
		}
		if q.DeadLetterARN != "" {
			if err := add(q.DeadLetterARN, q.Resource.Get("RedrivePolicy").Pos); err != nil {
				return err
			}
		}
		d.Queues = append(d.Queues, q)
		return nil
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
