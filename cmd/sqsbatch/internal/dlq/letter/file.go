package letter

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
)

// fileMessage is a letter in a file: what `aws sqs receive-message` prints for a message, and
// the ARN of the dead-letter queue. It has no receipt handle, which would be of no use later.
type fileMessage struct {
	Queue             string `json:",omitempty"`
	MessageID         string `json:"MessageId"`
	Body              *string
	Attributes        map[string]string        `json:",omitempty"`
	MessageAttributes map[string]fileAttribute `json:",omitempty"`

	// In place of a message, an object may be a document of them, or an event of Lambda.
	Messages []fileMessage   `json:",omitempty"`
	Records  json.RawMessage `json:",omitempty"`
}

type fileAttribute struct {
	DataType    string
	StringValue *string `json:",omitempty"`
	BinaryValue *string `json:",omitempty"` // base64
}

// AppendJSON appends l as a line of a file, without the line feed.
func (l *Letter) AppendJSON(dst []byte) []byte {
	m := fileMessage{Queue: l.Queue, MessageID: l.ID, Body: &l.Body, Attributes: l.System}
	if len(l.Attributes) > 0 {
		m.MessageAttributes = make(map[string]fileAttribute, len(l.Attributes))
	}
	for name, a := range l.Attributes {
		out := fileAttribute{DataType: a.DataType}
		if kindOf(a.DataType) == "Binary" {
			out.BinaryValue = aws.String(base64.StdEncoding.EncodeToString(a.BinaryValue))
		} else {
			out.StringValue = &a.StringValue
		}
		m.MessageAttributes[name] = out
	}
	line := bytes.NewBuffer(dst)
	e := json.NewEncoder(line)
	e.SetEscapeHTML(false)
	_ = e.Encode(m) // it has strings and bytes only
	return bytes.TrimSuffix(line.Bytes(), []byte("\n"))
}

// letter returns the letter that a file has.
func (m *fileMessage) letter() (Letter, error) {
	switch {
	case m.Body == nil:
		return Letter{}, errors.New("the message has no Body")
	case m.MessageID == "":
		return Letter{}, errors.New("the message has no MessageId")
	}
	l := Letter{ID: m.MessageID, Queue: m.Queue, Message: message.Message{Body: *m.Body}}
	l.readSystem(m.Attributes)
	for name, a := range m.MessageAttributes {
		out, err := a.attribute()
		if err != nil {
			return Letter{}, fmt.Errorf("attribute %q has %w", name, err)
		}
		l.SetAttribute(name, out)
	}
	l.readOrigin()
	return l, nil
}

func (a fileAttribute) attribute() (out batch.MessageAttribute, err error) {
	out.DataType = a.DataType
	switch kind := kindOf(a.DataType); {
	case kind != "String" && kind != "Number" && kind != "Binary":
		return out, fmt.Errorf("the DataType %q; it must be String, Number or Binary, with an optional .label", a.DataType)
	case kind != "Binary" && a.StringValue == nil:
		return out, errors.New("no StringValue")
	case kind != "Binary":
		out.StringValue = *a.StringValue
	case a.BinaryValue == nil:
		return out, errors.New("no BinaryValue")
	default:
		if out.BinaryValue, err = base64.StdEncoding.DecodeString(*a.BinaryValue); err != nil {
			return out, errors.New("a BinaryValue that is not base64")
		}
	}
	return out, nil
}

// A Reader reads letters from a file: a message in each line, as [Letter.AppendJSON] writes
// them, or documents with Messages, as `aws sqs receive-message` prints them. It holds one line
// or document in memory.
type Reader struct {
	in      *bufio.Reader
	line    int    // the number of the line that was read last
	text    []byte // that line
	rest    []byte // the part of text that was not used yet
	waiting []Letter
	err     error
}

// maxValue is how long a line or document may be.
const maxValue = 16 << 20

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10)}
}

// Next returns the next letter, or io.EOF after the last one. Other errors name the line and
// what is wrong in it, and quote nothing of a body. After an error, Next returns it again.
func (r *Reader) Next() (Letter, error) {
	for len(r.waiting) == 0 && r.err == nil {
		r.waiting, r.err = r.read()
	}
	if len(r.waiting) == 0 {
		return Letter{}, r.err
	}
	l := r.waiting[0]
	r.waiting = r.waiting[1:]
	return l, nil
}

// read returns the letters of the next JSON value.
func (r *Reader) read() ([]Letter, error) {
	value, first, err := r.value()
	if err != nil {
		return nil, err
	}
	letters, err := decodeValue(value)
	if err != nil {
		line := first
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			line += bytes.Count(value[:min(int(syntax.Offset), len(value))], []byte("\n"))
		}
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return letters, nil
}

// value returns the text of the next JSON object, and the number of its first line. The text
// is valid until the next call.
func (r *Reader) value() (value []byte, first int, err error) {
	for {
		r.rest = bytes.TrimLeft(r.rest, " \t\r\n")
		if len(r.rest) > 0 {
			break
		}
		if err := r.readLine(); err != nil {
			return nil, 0, err
		}
	}
	first = r.line
	if r.rest[0] != '{' {
		return nil, 0, fmt.Errorf("line %d: it is not a JSON object, but begins with %q", first, r.rest[:1])
	}
	var s scanner
	for {
		n, ended := s.scan(r.rest)
		part := r.rest[:n]
		r.rest = r.rest[n:]
		if ended && value == nil {
			return part, first, nil
		}
		value = append(value, part...)
		switch {
		case ended:
			return value, first, nil
		case s.inString:
			return nil, 0, fmt.Errorf("line %d: the line ends inside of a string; the file may be cut off there", r.line)
		case len(value) > maxValue:
			return nil, 0, tooLong(first)
		}
		err := r.readLine()
		if errors.Is(err, io.EOF) {
			return nil, 0, fmt.Errorf("line %d: the message that begins here ends too early; the file may be cut off", first)
		} else if err != nil {
			return nil, 0, err
		}
	}
}

func tooLong(line int) error {
	return fmt.Errorf("line %d: it is longer than %d MiB, which no message is", line, maxValue>>20)
}

// readLine reads the next line into rest.
func (r *Reader) readLine() error {
	r.line++
	r.text = r.text[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.text)+len(part) > maxValue {
			return tooLong(r.line)
		}
		r.text = append(r.text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(r.text) == 0:
			return io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("line %d: %w", r.line, err)
		}
		r.rest = r.text
		if r.line == 1 {
			return r.checkStart()
		}
		return nil
	}
}

// checkStart looks for the marks with which other encodings begin.
func (r *Reader) checkStart() error {
	if bytes.HasPrefix(r.rest, []byte{0xff, 0xfe}) || bytes.HasPrefix(r.rest, []byte{0xfe, 0xff}) {
		return errors.New("the file is UTF-16; write it as UTF-8 (in PowerShell: | Out-File -Encoding utf8 FILE)")
	}
	r.rest = bytes.TrimPrefix(r.rest, []byte("\xef\xbb\xbf"))
	return nil
}

// A scanner finds the end of a JSON object.
type scanner struct {
	depth    int
	inString bool
	escaped  bool
}

// scan returns how many bytes of text belong to the object, and whether it ended.
func (s *scanner) scan(text []byte) (n int, ended bool) {
	for i, c := range text {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped = c == '\\'
			s.inString = c != '"'
		case c == '"':
			s.inString = true
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

// decodeValue returns the letters of an object: a message, or a document with Messages.
func decodeValue(value []byte) ([]Letter, error) {
	var document fileMessage
	if err := json.Unmarshal(value, &document); err != nil {
		return nil, whatIsWrong(err)
	}
	switch {
	case document.Messages != nil:
		letters := make([]Letter, len(document.Messages))
		for i := range document.Messages {
			l, err := document.Messages[i].letter()
			if err != nil {
				return nil, fmt.Errorf("message %d of Messages: %w", i+1, err)
			}
			letters[i] = l
		}
		return letters, nil
	case document.Records != nil && document.Body == nil:
		return nil, errors.New("it is an event of Lambda (it has Records), not a dead letter")
	}
	l, err := document.letter()
	return []Letter{l}, err
}

// whatIsWrong is an error of encoding/json without what it quotes of a body.
func whatIsWrong(err error) error {
	if _, is := errors.AsType[*json.SyntaxError](err); is {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	if mistyped, is := errors.AsType[*json.UnmarshalTypeError](err); is && mistyped.Field != "" {
		name, _, _ := strings.Cut(mistyped.Field, ".")
		return fmt.Errorf("it is not a message: %s has a value of the wrong type", name)
	}
	return errors.New("it is not a message")
}
