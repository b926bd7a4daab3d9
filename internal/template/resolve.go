package template

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
)

// A ChoiceError is returned by [Template.Resolve] when the template has no
// function with an SQS event, when it has several and none was chosen, or when
// the chosen one is not among them.
type ChoiceError struct {
	// Path is the template's file name, or "".
	Path string
	// Asked is Options.Function.
	Asked string
	// Candidates are the logical ids of the functions with an SQS event.
	Candidates []string
}

// Error says what there is to choose from.
func (e *ChoiceError) Error() string {
	path := cmp.Or(e.Path, "the template")
	switch {
	case len(e.Candidates) == 0:
		return path + " has no function with an event of type SQS"
	case e.Asked == "":
		return fmt.Sprintf("%s has several functions with an SQS event: %s", path, strings.Join(e.Candidates, ", "))
	default:
		return fmt.Sprintf("%s has no function %s with an SQS event; it has %s", path, e.Asked, strings.Join(e.Candidates, ", "))
	}
}

// Resolve evaluates what the template says about one function. The error is a
// [*ChoiceError], or names the file, the line and what cannot be known.
func (t *Template) Resolve(o Options) (*Deployment, error) {
	st, err := t.Stack(o)
	if err != nil {
		return nil, err
	}
	d := &Deployment{}
	chosen, err := st.choose(d)
	if err != nil {
		return nil, err
	}
	return d, st.deploy(d, chosen)
}

// deploy fills in d for one function's mappings.
func (st *Stack) deploy(d *Deployment, chosen []source) error {
	if err := st.function(d, chosen[0].function); err != nil {
		return err
	}
	for i, s := range chosen {
		event, err := st.event(s)
		if err != nil {
			return err
		}
		if i == 0 {
			d.Event = event
		} else {
			d.More = append(d.More, Mapping{Event: event})
		}
		if !event.Enabled {
			d.found(event.Pos, "event %s is disabled in the template; it is enabled here", event.Name)
		}
	}
	return st.queues(d)
}

// choose finds the mappings that the options mean: one, or with AllEvents all.
func (st *Stack) choose(d *Deployment) ([]source, error) {
	all, err := st.sources()
	if err != nil {
		return nil, err
	}
	choice := &ChoiceError{Path: st.Path, Asked: st.o.Function}
	var mine []source
	for _, s := range all {
		name, err := s.function.functionName()
		if err != nil {
			return nil, err
		}
		if !slices.Contains(choice.Candidates, s.function.ID) {
			choice.Candidates = append(choice.Candidates, s.function.ID)
		}
		if st.o.Function == "" || st.o.Function == s.function.ID || st.o.Function == name {
			mine = append(mine, s)
		}
	}
	switch {
	case len(mine) == 0 || st.o.Function == "" && len(choice.Candidates) > 1:
		return nil, choice
	case st.o.Queue != "":
		return st.chooseQueue(mine)
	case st.o.AllEvents:
		return mine, nil
	}
	if len(mine) > 1 {
		d.found(mine[0].pos, "%s has %d SQS events; this is %s (choose another by its queue: --queue NAME)",
			mine[0].function.ID, len(mine), mine[0].name)
	}
	return mine[:1], nil
}

// chooseQueue picks one of a function's mappings by its queue.
func (st *Stack) chooseQueue(mine []source) ([]source, error) {
	want := st.o.Queue
	if r, ok := st.Resource(want); ok && r.Type == SQSQueue {
		var err error
		if want, err = r.queueName(); err != nil {
			return nil, err
		}
	}
	var names []string
	for i, s := range mine {
		event, err := st.event(s)
		if err != nil {
			return nil, err
		}
		name := batch.QueueName(event.QueueARN)
		if name == want {
			return mine[i : i+1], nil
		}
		names = append(names, name)
	}
	return nil, st.errorf(nil, "%s has no event on a queue %s; its queues are %s",
		mine[0].function.ID, st.o.Queue, strings.Join(names, ", "))
}
