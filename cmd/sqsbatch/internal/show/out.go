package show

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/words"
)

// Out is a command's standard output or standard error. All output goes through an Out, so
// that no text from outside controls the terminal. Out writes printable text, line feeds,
// tabs and the sequences of [Mark] unchanged. It writes other characters as JSON escapes,
// such as \u001b, so that JSON strings keep their values, and bytes that are not UTF-8 as
// U+FFFD.
//
// A nil *Out discards all text. The methods may be called from several goroutines.
type Out struct {
	mu   sync.Mutex
	w    io.Writer
	held []byte // start of a character or a mark, until the next Write
	buf  []byte
}

// To returns an Out that writes to w.
func To(w io.Writer) *Out { return &Out{w: w} }

// File returns the file of o, for a program that needs the terminal, such as an editor. It
// returns nil if o does not write to a file.
func (o *Out) File() *os.File {
	if o == nil {
		return nil
	}
	f, _ := o.w.(*os.File)
	return f
}

// Write writes p, except for an incomplete character at its end: the next call, or Flush, writes
// that.
func (o *Out) Write(p []byte) (int, error) {
	if o == nil {
		return len(p), nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	text := p
	if len(o.held) > 0 {
		text = append(o.held, p...)
	}
	rest := o.escape(text)
	o.held = append([]byte(nil), rest...)
	return len(p), o.write()
}

// Flush writes an incomplete character that Write has kept.
func (o *Out) Flush() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.held) > 0 { // incomplete
		r, n := utf8.DecodeRune(o.held)
		o.buf, o.held = appendVisible(o.buf, r), o.held[n:]
	}
	return o.write()
}

func (o *Out) write() error {
	if len(o.buf) == 0 {
		return nil
	}
	_, err := o.w.Write(o.buf)
	if o.buf = o.buf[:0]; cap(o.buf) > 1<<20 {
		o.buf = nil
	}
	return err
}

// escape appends text to buf, and returns an incomplete character or mark at its end.
func (o *Out) escape(text []byte) (rest []byte) {
	for len(text) > 0 {
		if !utf8.FullRune(text) {
			return text
		}
		r, n := utf8.DecodeRune(text)
		if r == '\x1b' {
			control, length, more := readMark(text)
			if more {
				return text
			}
			if length > 0 {
				o.buf, text = append(o.buf, control...), text[length:]
				continue
			}
		}
		o.buf, text = appendVisible(o.buf, r), text[n:]
	}
	return nil
}

// appendVisible appends r, or its escape if r is hidden.
func appendVisible(b []byte, r rune) []byte {
	switch {
	case r == '\n', r == '\t', !words.Hidden(r):
		return utf8.AppendRune(b, r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(b, `\u%04x\u%04x`, high, low)
	default:
		return fmt.Appendf(b, `\u%04x`, r)
	}
}

// Marks control the terminal. They contain a key that is random for each process, so that
// no text from outside is a mark.
var markKey = []byte("\x1b" + rand.Text()[:10])

// Mark returns a mark, for which an [Out] writes a control sequence: "1" is bold, and so on
// for other codes of SGR ("ECMA-48", Select Graphic Rendition), "r" moves to the start of
// the line, "K" erases its rest.
func Mark(code string) string { return string(markKey) + code + "m" }

// readMark returns the control sequence of the mark at the start of text, and the mark's
// length, 0 if there is none. more is true if the mark may be incomplete.
func readMark(text []byte) (control []byte, length int, more bool) {
	if len(text) < len(markKey) {
		return nil, 0, bytes.HasPrefix(markKey, text)
	}
	code, ok := bytes.CutPrefix(text, markKey)
	if !ok {
		return nil, 0, false
	}
	end := bytes.IndexByte(code, 'm')
	if end < 0 {
		return nil, 0, len(code) < 3
	}
	switch code = code[:end]; string(code) {
	case "r":
		control = []byte("\r")
	case "K":
		control = []byte("\x1b[K")
	default:
		control = fmt.Appendf(nil, "\x1b[%sm", code)
	}
	return control, len(markKey) + end + 1, false
}
