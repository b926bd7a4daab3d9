package letter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

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
	BinaryValue *[]byte `json:",omitempty"`
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
			out.BinaryValue = &a.BinaryValue
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
		out := batch.MessageAttribute{DataType: a.DataType}
		switch kind := kindOf(a.DataType); {
		case kind == "Binary" && a.BinaryValue != nil:
			out.BinaryValue = *a.BinaryValue
		case (kind == "String" || kind == "Number") && a.StringValue != nil:
			out.StringValue = *a.StringValue
		default:
			return Letter{}, fmt.Errorf("attribute %q with DataType %q; it must be Binary with a BinaryValue, or String or Number with a StringValue", name, a.DataType)
		}
		l.SetAttribute(name, out)
	}
	l.readOrigin()
	return l, nil
}

// Read reads letters from a file: a message in each line, as [Letter.AppendJSON] writes them, or
// documents with Messages, as `aws sqs receive-message` prints them. It holds one line or document
// in memory. An error is the last that it yields. It names the line and what is wrong in it, and
// quotes no value.
func Read(file io.Reader) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		r := &lines{in: bufio.NewReaderSize(file, 64<<10), line: 1}
		start, _ := r.in.Peek(3) // an error comes again
		if bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) {
			yield(Letter{}, errors.New("the file is UTF-16; write it as UTF-8 (in PowerShell: | Out-File -Encoding utf8 FILE)"))
			return
		}
		if string(start) == "\xef\xbb\xbf" {
			_, _ = r.in.Discard(len(start)) // it is there
		}
		for d := json.NewDecoder(r); ; {
			letters, err := r.next(d)
			for _, l := range letters {
				if !yield(l, nil) {
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					yield(Letter{}, err)
				}
				return
			}
		}
	}
}

// maxValue is how long a line or document may be.
const maxValue = 16 << 20

var errTooLong = fmt.Errorf("it is longer than %d MiB, which no message is", maxValue>>20)

// lines counts the lines that a decoder reads.
type lines struct {
	in    *bufio.Reader
	read  int64
	limit int64   // of read
	ends  []int64 // line feeds that were read, behind line
	line  int
}

func (r *lines) Read(p []byte) (int, error) {
	if r.read >= r.limit {
		return 0, errTooLong
	}
	n, err := r.in.Read(p[:min(int64(len(p)), r.limit-r.read)])
	for i, c := range p[:n] {
		if c == '\n' {
			r.ends = append(r.ends, r.read+int64(i))
		}
	}
	r.read += int64(n)
	return n, err
}

// at returns the line at an offset. Offsets do not become smaller.
func (r *lines) at(offset int64) int {
	for len(r.ends) > 0 && r.ends[0] < offset {
		r.line, r.ends = r.line+1, r.ends[1:]
	}
	return r.line
}

// next returns the letters of the next JSON object. Its error is io.EOF at the end.
func (r *lines) next(d *json.Decoder) ([]Letter, error) {
	r.limit = d.InputOffset() + maxValue
	var value json.RawMessage
	err := d.Decode(&value)
	syntax, is := errors.AsType[*json.SyntaxError](err)
	switch {
	case err == io.EOF:
		return nil, err
	case is:
		return nil, fmt.Errorf("line %d: it is not JSON: %w", r.at(syntax.Offset-1), err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("line %d: the message ends too early; the file may be cut off", r.at(r.read-1))
	case errors.Is(err, errTooLong):
		return nil, fmt.Errorf("from line %d on: %w", r.at(r.limit-maxValue), err)
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", r.at(r.read), err)
	}
	line := r.at(d.InputOffset() - int64(len(value)))
	if value[0] != '{' {
		return nil, fmt.Errorf("line %d: it is not a JSON object", line)
	}
	letters, err := decodeValue(value)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return letters, nil
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
	if mistyped, is := errors.AsType[*json.UnmarshalTypeError](err); is && mistyped.Field != "" {
		name, _, _ := strings.Cut(mistyped.Field, ".")
		return fmt.Errorf("it is not a message: %s has a value of the wrong type", name)
	}
	return errors.New("it is not a message")
}
