package letter

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
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

// Read reads letters from a file: a message in each line, as [Letter.AppendJSON] writes them, or
// documents with Messages, as `aws sqs receive-message` prints them. It holds one line or document
// in memory. An error is the last that it yields. It names the line and what is wrong in it, and
// quotes nothing of a body.
func Read(file io.Reader) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		r := &reader{in: bufio.NewReaderSize(file, 64<<10)}
		for {
			letters, err := r.read()
			for _, l := range letters {
				if !yield(l, nil) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Letter{}, err)
				}
				return
			}
		}
	}
}

type reader struct {
	in    *bufio.Reader
	line  int    // the number of the line that is being read; 0 before the first
	value []byte // the text of the object that was read last
}

// maxValue is how long a line or document may be.
const maxValue = 16 << 20

// read returns the letters of the next JSON object.
func (r *reader) read() ([]Letter, error) {
	if err := r.skip(); err != nil {
		return nil, err
	}
	line := r.line
	if err := r.object(); err != nil {
		return nil, err
	}
	letters, err := decodeValue(r.value)
	if err != nil {
		if syntax, is := errors.AsType[*json.SyntaxError](err); is {
			line += bytes.Count(r.value[:min(int(syntax.Offset), len(r.value))], []byte("\n"))
		}
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return letters, nil
}

// skip reads up to the next JSON object.
func (r *reader) skip() error {
	if r.line == 0 {
		r.line = 1
		if err := r.checkStart(); err != nil {
			return err
		}
	}
	for range maxValue {
		c, err := r.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return io.EOF
		case err != nil:
			return fmt.Errorf("line %d: %w", r.line, err)
		case c == '{':
			return r.in.UnreadByte()
		case c == '\n':
			r.line++
		case c != ' ' && c != '\t' && c != '\r':
			return fmt.Errorf("line %d: it is not a JSON object, but begins with %q", r.line, []byte{c})
		}
	}
	return tooLong(r.line)
}

// checkStart looks for the marks with which other encodings begin.
func (r *reader) checkStart() error {
	start, _ := r.in.Peek(3) // an error comes again
	if bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) {
		return errors.New("the file is UTF-16; write it as UTF-8 (in PowerShell: | Out-File -Encoding utf8 FILE)")
	}
	if string(start) == "\xef\xbb\xbf" {
		_, _ = r.in.Discard(len(start)) // it is there
	}
	return nil
}

// object reads a JSON object, to its last brace. What is wrong inside of it is found later.
func (r *reader) object() error {
	first, depth, inString, escaped := r.line, 0, false, false
	for r.value = r.value[:0]; len(r.value) <= maxValue; {
		c, err := r.in.ReadByte()
		switch {
		case inString && (c == '\n' || errors.Is(err, io.EOF)):
			return fmt.Errorf("line %d: the line ends inside of a string; the file may be cut off there", r.line)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("line %d: the message that begins here ends too early; the file may be cut off", first)
		case err != nil:
			return fmt.Errorf("line %d: %w", r.line, err)
		}
		r.value = append(r.value, c)
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '\n':
			r.line++
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return nil
			}
		}
	}
	return tooLong(first)
}

func tooLong(line int) error {
	return fmt.Errorf("line %d: it is longer than %d MiB, which no message is", line, maxValue>>20)
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
