package template

import "fmt"

// Queues evaluates the template's queues and nothing else of it: it needs no
// function. They are listed as in [Deployment.Queues], each after the
// dead-letter queue that it needs. Function and Queue of the options are not
// heeded. What cannot be read is left out with a warning, unless another queue
// needs it.
func (t *Template) Queues(o Options) (queues []Queue, warnings []string, err error) {
	e := &evaluator{t: t, o: o.withDefaults()}
	if err := e.checkParameters(); err != nil {
		return nil, nil, err
	}
	var d Deployment
	s, err := e.readQueues(&d)
	if err != nil {
		return nil, nil, err
	}
	err = s.list(e, &d)
	return d.Queues, d.Warnings, err
}

// queues fills in d.Source, d.Queues and the queues of d.More. Queues that have nothing to do with
// the event are there for the function to send to; one of those that cannot be
// read is a warning.
func (e *evaluator) queues(d *Deployment) error {
	s, err := e.readQueues(d)
	if err != nil {
		return err
	}
	if d.Source, err = e.polled(s, d, d.Event.QueueARN); err != nil {
		return err
	}
	for i := range d.More {
		if d.More[i].Queue, err = e.polled(s, d, d.More[i].Event.QueueARN); err != nil {
			return err
		}
	}
	return s.list(e, d)
}

// polled is the queue of an event.
func (e *evaluator) polled(s *queueSet, d *Deployment, arn string) (Queue, error) {
	if err := s.failed[arn]; err != nil {
		return Queue{}, err
	}
	q, ok := s.known[arn]
	if !ok {
		q = e.undeclaredQueue(d, arn)
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
func (e *evaluator) readQueues(d *Deployment) (*queueSet, error) {
	found, err := e.resources(typeQueue)
	if err != nil {
		return nil, err
	}
	s := &queueSet{known: map[string]Queue{}, failed: map[string]error{}}
	for _, r := range found {
		q, err := e.queue(r)
		if err != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("queue %s is not created: %v", r.id, err))
			s.failed[q.ARN] = err
			continue
		}
		s.add(q)
	}
	return s, nil
}

// list appends to d.Queues what is known, each queue after the dead-letter
// queue that it needs.
func (s *queueSet) list(e *evaluator, d *Deployment) error {
	listed := map[string]bool{}
	var add func(arn string) error
	add = func(arn string) error {
		if listed[arn] {
			return nil
		}
		listed[arn] = true
		q, ok := s.known[arn]
		if !ok {
			if err := s.failed[arn]; err != nil {
				return err
			}
			q = e.undeclaredQueue(d, arn)
		}
		if q.DeadLetterARN != "" {
			if err := add(q.DeadLetterARN); err != nil {
				return err
			}
		}
		d.Queues = append(d.Queues, q)
		return nil
	}
	for _, arn := range s.order {
		if err := add(arn); err != nil {
			return err
		}
	}
	return nil
}

// undeclaredQueue makes a queue of which the template knows the ARN only.
func (e *evaluator) undeclaredQueue(d *Deployment, arn string) Queue {
	q := e.literalQueue(queueOf(arn))
	if arn == d.Event.QueueARN {
		// AWS' advice for a queue that feeds a function; its own is not known.
		q.Attributes["VisibilityTimeout"] = fmt.Sprint(int((6*d.Function.Timeout + d.Event.Window).Seconds()))
	}
	d.Warnings = append(d.Warnings, fmt.Sprintf("queue %s is not in the template; a new one with default attributes stands in for it", q.Name))
	return q
}
