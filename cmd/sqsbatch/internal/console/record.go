package console

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/track"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// An entry is an event that a console gets, and its time. A recording has them in this order, each as a
// line in JSON: {"at":"2026-11-28T07:30:00.5Z","kind":"record","value":{…}}.
type entry struct {
	at   time.Time
	what any // one of kinds
}

type line struct {
	At    time.Time       `json:"at"`
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
}

// A queueList has the queues as they are from a time on.
type queueList []listedQueue

type listedQueue struct {
	Name       string            `json:"name"`
	Attributes map[string]string `json:"attributes"` // that were set
	Paused     bool              `json:"paused,omitempty"`
}

// An observed is an event of the emulator in JSON.
type observed struct {
	fields
	VisibleInMs float64                         `json:"visibleInMs,omitempty"`
	Attributes  map[string]sqs.MessageAttribute `json:"attributes,omitempty"`
	Trace       string                          `json:"trace,omitempty"`
}

type fields sqs.Event // without its MarshalJSON

// marshal writes an entry. The text is nil for what no recording has.
func (e entry) marshal() ([]byte, error) {
	l := line{At: e.at.UTC()}
	what := e.what
	switch v := what.(type) {
	case About:
		l.Kind = "run"
	case queueList:
		l.Kind = "queues"
	case sqs.Event:
		l.Kind = "message"
		o := observed{fields: fields(v), VisibleInMs: float64(v.Visibility.Microseconds()) / 1000}
		if v.Attributes != nil {
			o.Attributes, o.Trace = v.Attributes()
		}
		what = o
	case sqs.Call:
		l.Kind = "call"
	case track.Started:
		l.Kind = "started"
		v.Bodies = nil // the messages have them
		what = v
	case track.Record:
		if v.Repeats {
			return nil, nil
		}
		l.Kind = "record"
		v.Body = ""
		what = v
	case track.Ended:
		l.Kind = "ended"
	case track.Process:
		l.Kind = "process"
	case track.Log:
		l.Kind = "log"
	case track.Warning:
		l.Kind = "warning"
	default:
		return nil, nil
	}
	var err error
	if l.Value, err = json.Marshal(what); err != nil {
		return nil, err
	}
	return json.Marshal(l)
}

// unmarshal reads what marshal wrote.
func (e *entry) unmarshal(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	if l.At.Unix() <= 0 {
		return errors.New(`"at" is missing, or before 1970`)
	}
	e.at = l.At
	var err error
	switch l.Kind {
	case "run":
		e.what, err = read[About](l)
	case "queues":
		e.what, err = read[queueList](l)
	case "message":
		var o observed
		o, err = read[observed](l)
		v := sqs.Event(o.fields)
		v.Time, v.Visibility = l.At, time.Duration(o.VisibleInMs*float64(time.Millisecond))
		if o.Attributes != nil || o.Trace != "" {
			v.Attributes = func() (map[string]sqs.MessageAttribute, string) { return o.Attributes, o.Trace }
		}
		e.what = v
	case "call":
		var v sqs.Call
		v, err = read[sqs.Call](l)
		v.Ended = l.At
		e.what = v
	case "started":
		e.what, err = read[track.Started](l)
	case "record":
		e.what, err = read[track.Record](l)
	case "ended":
		e.what, err = read[track.Ended](l)
	case "process":
		e.what, err = read[track.Process](l)
	case "log":
		e.what, err = read[track.Log](l)
	case "warning":
		e.what, err = read[track.Warning](l)
	default:
		return fmt.Errorf(`"kind" is %.80q, which is not known: the recording may be of a newer version`, l.Kind)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the value of kind %q has a %s where it must not be", l.Kind, wrong.Value)
	}
	return err
}

func read[T any](l line) (v T, err error) {
	err = json.Unmarshal(l.Value, &v)
	return v, err
}

// A recorder writes entries to a file, each at once: a process that is killed leaves all of them.
type recorder struct {
	file *os.File
	err  error // the first
}

// newRecorder creates the file, for its owner only, since it has the bodies of messages.
func newRecorder(path string) (*recorder, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return &recorder{file: file}, nil
}

func (r *recorder) add(e entry) {
	if r == nil || r.err != nil {
		return
	}
	text, err := e.marshal()
	if err == nil && text != nil {
		_, err = r.file.Write(append(text, '\n'))
	}
	r.err = err
}

func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	if err := errors.Join(r.err, r.file.Close()); err != nil {
		return fmt.Errorf("--record: the recording is not whole: %w", err)
	}
	return nil
}

// maxEntry bounds a line of a recording: a message of 1 MiB in JSON, with what may be escaped.
const maxEntry = 16 << 20

// readRecording reads entries. A last line that was not finished is left out.
func readRecording(from io.Reader) (list []entry, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxEntry)
	n := 0
	for lines.Scan() {
		if err != nil {
			return nil, err
		}
		var e entry
		if n++; len(lines.Bytes()) == 0 {
			continue
		}
		if err = e.unmarshal(lines.Bytes()); err != nil {
			err = fmt.Errorf("line %d is not of a recording of sqsbatch: %w", n, err)
			continue
		}
		list = append(list, e)
	}
	if lines.Err() != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, lines.Err())
	}
	if len(list) == 0 {
		return nil, cmp.Or(err, errors.New("it is empty"))
	}
	return list, nil
}
