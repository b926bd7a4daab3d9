package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
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
	path := e.Path
	if path == "" {
		path = "the template"
	}
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
	e := &evaluator{t: t, o: o.withDefaults()}
	if err := e.checkParameters(); err != nil {
		return nil, err
	}
	chosen, more, err := e.choose()
	if err != nil {
		return nil, err
	}
	s := chosen[0]
	d := &Deployment{Warnings: more}
	var warnings []string
	if d.Function, warnings, err = e.function(s.function); err != nil {
		return nil, err
	}
	d.Warnings = append(d.Warnings, warnings...)
	if d.Event, warnings, err = e.event(s); err != nil {
		return nil, err
	}
	d.Warnings = append(d.Warnings, warnings...)
	d.Warnings = append(d.Warnings, disabled(d.Event)...)
	for _, s := range chosen[1:] {
		event, warnings, err := e.event(s)
		if err != nil {
			return nil, err
		}
		d.Warnings = append(append(d.Warnings, warnings...), disabled(event)...)
		d.More = append(d.More, Mapping{Event: event})
	}
	return d, e.queues(d)
}

// disabled is what there is to say of an event that is.
func disabled(e Event) []string {
	if e.Enabled {
		return nil
	}
	return []string{fmt.Sprintf("event %s is disabled in the template; it is enabled here", e.Name)}
}

// checkParameters finds values for parameters that the template does not have.
func (e *evaluator) checkParameters() error {
	for _, name := range slices.Sorted(maps.Keys(e.o.Parameters)) {
		if child(child(e.t.root, "Parameters"), name) == nil {
			return e.errorf(nil, "the template has no parameter %s", name)
		}
	}
	return nil
}

// choose finds the mappings that the options mean: one, or with AllEvents all.
func (e *evaluator) choose() ([]source, []string, error) {
	all, err := e.sources()
	if err != nil {
		return nil, nil, err
	}
	choice := &ChoiceError{Path: e.t.Path, Asked: e.o.Function}
	var mine []source
	for _, s := range all {
		name, err := e.functionName(s.function.id, s.function.node)
		if err != nil {
			return nil, nil, err
		}
		if !slices.Contains(choice.Candidates, s.function.id) {
			choice.Candidates = append(choice.Candidates, s.function.id)
		}
		if e.o.Function == "" || e.o.Function == s.function.id || e.o.Function == name {
			mine = append(mine, s)
		}
	}
	if len(mine) == 0 || e.o.Function == "" && len(choice.Candidates) > 1 {
		return nil, nil, choice
	}
	if e.o.AllEvents && e.o.Queue == "" {
		return mine, nil, nil
	}
	one, warnings, err := e.chooseQueue(mine)
	return []source{one}, warnings, err
}

// chooseQueue picks one of a function's mappings by its queue.
func (e *evaluator) chooseQueue(mine []source) (source, []string, error) {
	if e.o.Queue == "" {
		if len(mine) == 1 {
			return mine[0], nil, nil
		}
		return mine[0], []string{fmt.Sprintf("%s has %d SQS events; this is %s (choose another by its queue: --queue NAME)",
			mine[0].function.id, len(mine), mine[0].name)}, nil
	}
	want := e.o.Queue
	if r := child(child(e.t.root, "Resources"), want); r != nil && resourceType(r) == typeQueue {
		var err error
		if want, err = e.queueName(want, r); err != nil {
			return source{}, nil, err
		}
	}
	var names []string
	for _, s := range mine {
		event, _, err := e.event(s)
		if err != nil {
			return source{}, nil, err
		}
		name := queueOf(event.QueueARN)
		if name == want {
			return s, nil, nil
		}
		names = append(names, name)
	}
	return source{}, nil, e.errorf(nil, "%s has no event on a queue %s; its queues are %s",
		mine[0].function.id, e.o.Queue, strings.Join(names, ", "))
}
