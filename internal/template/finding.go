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

// An Error says why a value is not known, or wrong.
type Error struct {
	Pos     Pos
	Message string
	// Attribute is "Resource.Attribute" when the value is, or is made of, an
	// attribute that AWS gives to a resource when the stack is deployed.
	Attribute string
}

// Error returns the message after its place.
func (e *Error) Error() string { return e.Pos.in(e.Message) }

// A Severity says how bad a finding is.
type Severity string

// The severities: an Error loses messages or is refused by AWS, a Warning costs
// messages or time when something fails, a Note is worth knowing.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// A Finding is something that a user should know of a template.
type Finding struct {
	// ID is stable: SB0xx for what was left out or assumed when the template was
	// read, and for the others see package lint.
	ID       string
	Severity Severity
	Pos      Pos
	Message  string
}

// String returns the message after its place.
func (f Finding) String() string { return f.Pos.in(f.Message) }

// What this package finds.
const (
	VariableUnknown    = "SB001" // an environment variable has no value
	QueueUnreadable    = "SB002" // a queue is left out
	QueueElsewhere     = "SB003" // a queue is not in the template
	OneOfEvents        = "SB004" // one of several events was chosen
	EventDisabled      = "SB005" // a disabled event is read as enabled
	FunctionUnreadable = "SB006" // a function is left out
)

// found adds a finding of this package.
func (d *Deployment) found(id string, at Pos, format string, args ...any) {
	d.Findings = append(d.Findings, Finding{ID: id, Severity: SeverityWarning, Pos: at, Message: fmt.Sprintf(format, args...)})
}

// reason is an error's text below a finding at the given place, which is not
// said twice.
func reason(at Pos, err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Pos.Line == at.Line {
		return e.Message
	}
	return err.Error()
}
