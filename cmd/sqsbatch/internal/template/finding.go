package template

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A Pos is a place in a template file.
type Pos struct {
	File      string // as it was given to Read, and "" after Parse
	Line, Col int    // from 1; 0 for the file as a whole
}

// String returns "template.yaml:12", or less where less is known.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("line %d", p.Line)
	default:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
}

// in begins a message with its place.
func (p Pos) in(message string) string {
	if p == (Pos{}) {
		return message
	}
	return p.String() + ": " + message
}

// at is the place of a node.
func (t *Template) at(n *yaml.Node) Pos {
	if n == nil {
		return Pos{File: t.Path}
	}
	return Pos{t.Path, n.Line, n.Column}
}

// errorf makes an error at a place.
func (p Pos) errorf(format string, args ...any) error {
	return &Error{Pos: p, Message: fmt.Sprintf(format, args...)}
}

// An Error says why a value is not known, or wrong.
type Error struct {
	Pos     Pos
	Message string
	// Attribute is "Resource.Attribute" when the value is, or is made of, an
	// attribute that AWS gives to a resource when the stack is deployed.
	Attribute string
	// Parameter is the name of the parameter that has no value, if that is the reason.
	Parameter string
}

// Error returns the message after its place.
func (e *Error) Error() string { return e.Pos.in(e.Message) }

// Attribute returns the Attribute of an [*Error], "" for another error.
func Attribute(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Attribute
	}
	return ""
}

// Parameter returns the Parameter of an [*Error], "" for another error.
func Parameter(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Parameter
	}
	return ""
}

// A Finding is something that a user should know of a template.
type Finding struct {
	ID      string // of a rule of package lint, or QueueElsewhere
	Pos     Pos
	Message string
	// Parameter is that of the [Error] that is the reason, "" for another reason.
	Parameter string
}

// String returns the message after its place.
func (f Finding) String() string { return f.Pos.in(f.Message) }

// QueueElsewhere is found of a queue that is not in the template.
const QueueElsewhere = "SB003"

// found adds a finding of this package.
func (d *Deployment) found(at Pos, format string, args ...any) {
	d.Findings = append(d.Findings, Finding{Pos: at, Message: fmt.Sprintf(format, args...)})
}

// Reason is an error's text in a finding, whose place is not said twice.
func Reason(at Pos, err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Pos.Line == at.Line {
		return e.Message
	}
	return err.Error()
}
