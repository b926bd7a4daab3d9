// Package plainjson reads the JSON that programs usually write, such as Lambda's events and
// requests to SQS. encoding/json still defines what is accepted: a [Scanner] reads only JSON
// that encoding/json would certainly read in the same way, and refuses the rest.
//
// It exists for speed. A request with ten messages of 500 bytes takes a Scanner 7 to 13 µs,
// encoding/json of Go 1.26 about 100, and encoding/json/v2 27 (GOEXPERIMENT=jsonv2).
//
//	s := plainjson.NewScanner(text)
//	ok := s.Members(func(name string) (ok bool) {
//		order.ID, ok = s.Text()
//		return ok && name == "id"
//	}) && s.End()
package plainjson

import (
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Scanner reads one JSON text. When a method returns false, the text is unusual or not
// JSON, and everything that was read from it must be discarded.
//
// Names are compared exactly, while encoding/json ignores their case if it finds no exact
// match. null is refused unless the caller looks for it.
type Scanner struct {
	// Pos is the position of the next byte, for messages. Only the scanner sets it.
	Pos int

	text  string
	own   []byte // the memory of text, if the scanner may write there
	depth int    // of what Skip reads

	heads  [32]head // that were read; the first is empty, and so is the rest
	latest int      // among heads
}

// head is the beginning of a member: its name and the colon, with the white space around them.
type head struct {
	text, name string
	next       int // the head that came after it, among Scanner.heads; 0 if that is not known
}

// maxDepth is how deep encoding/json reads values in others.
const maxDepth = 10_000

// NewScanner returns a scanner at the beginning of a text. It copies the text if a string has an
// escape.
func NewScanner(text string) *Scanner { return &Scanner{text: text} }

// NewOwner returns a scanner at the beginning of a text, in whose memory it unescapes strings: the
// text must not be used any more.
func NewOwner(text []byte) *Scanner {
	s := new(Scanner)
	s.take(text)
	return s
}

// take makes a copy of the text the scanner's own. No string that was read changes later: only
// what has been read is written to, each place once, before it is part of a string.
func (s *Scanner) take(text []byte) {
	s.own, s.text = text, unsafe.String(unsafe.SliceData(text), len(text))
}

// End reports whether only white space is left.
func (s *Scanner) End() bool { return s.Peek() == 0 && s.Pos == len(s.text) }

// Peek skips white space and returns the next byte, or 0 at the end.
func (s *Scanner) Peek() byte {
	s.Pos = SpaceEnd(s.text, s.Pos)
	if s.Pos == len(s.text) {
		return 0
	}
	return s.text[s.Pos]
}

// next takes the given byte, if it is next.
func (s *Scanner) next(c byte) bool {
	if s.Peek() != c {
		return false
	}
	s.Pos++
	return true
}

// Members reads an object, calling member at each value.
func (s *Scanner) Members(member func(name string) bool) bool {
	return s.items('{', '}', func() bool {
		name, ok := s.name()
		return ok && member(name)
	})
}

// name reads the head of a member. The objects of a list usually have the same members in the same order.
// So it first compares the text with the head that came after the latest one before.
func (s *Scanner) name() (name string, ok bool) {
	next := s.heads[s.latest].next
	if h := &s.heads[next]; next != 0 && strings.HasPrefix(s.text[s.Pos:], h.text) {
		s.Pos += len(h.text)
		s.latest = next
		return h.name, true
	}
	start, quote := s.Pos, SpaceEnd(s.text, s.Pos)
	name, ok = s.Text()
	plain := s.Pos == quote+len(`"`)+len(name)+len(`"`) // an escape takes more, and changes the text
	if ok = ok && s.next(':'); ok && plain {
		s.learn(head{text: s.text[start:s.Pos], name: name})
	}
	return name, ok
}

// learn remembers h as the head that comes after the latest one, if there is room.
func (s *Scanner) learn(h head) {
	i := 1
	for i < len(s.heads) && s.heads[i].text != "" && s.heads[i].text != h.text {
		i++
	}
	if i == len(s.heads) {
		return
	}
	if s.heads[i].text == "" {
		s.heads[i] = h
	}
	s.heads[s.latest].next = i
	s.latest = i
}

// List reads an array, calling element at each value.
func (s *Scanner) List(element func() bool) bool { return s.items('[', ']', element) }

// items reads the items between open and end, which are separated by commas.
func (s *Scanner) items(open, end byte, item func() bool) bool {
	if !s.next(open) {
		return false
	}
	if s.next(end) {
		return true
	}
	for item() {
		c := s.Peek()
		if c != ',' && c != end {
			return false
		}
		s.Pos++
		if c == end {
			return true
		}
	}
	return false
}

// Text reads a string. The result is a part of the scanner's text, or of its copy, so it keeps all
// of that in memory.
func (s *Scanner) Text() (text string, ok bool) {
	if !s.next('"') {
		return "", false
	}
	start := s.Pos
	s.Pos = PlainEnd(s.text, s.Pos)
	if s.Pos < len(s.text) && s.text[s.Pos] == '"' {
		s.Pos++
		return s.text[start : s.Pos-1], true
	}
	return s.unplain(start)
}

// unplain reads on in a string that began at start and has more than plain characters. Unescaped
// it is no longer, so it takes the place of what was read.
func (s *Scanner) unplain(start int) (text string, ok bool) {
	end := start // of the string in own
	for from := start; s.Pos < len(s.text); s.Pos = PlainEnd(s.text, s.Pos) {
		switch c := s.text[s.Pos]; {
		case c == '"':
			rest := s.text[from:s.Pos]
			s.Pos++
			if from == start {
				return rest, true
			}
			end += copy(s.own[end:], rest)
			return s.text[start:end], true
		case c == '\\':
			if s.own == nil {
				s.take([]byte(s.text))
			}
			end += copy(s.own[end:], s.text[from:s.Pos])
			s.Pos++
			if end = s.escape(end); end < 0 {
				return "", false
			}
			from = s.Pos
		case c < ' ':
			return "", false
		default:
			r, size := utf8.DecodeRuneInString(s.text[s.Pos:])
			if r == utf8.RuneError && size == 1 {
				return "", false
			}
			s.Pos += size
		}
	}
	return "", false
}

// escape reads what follows a backslash, and writes what it stands for at end. It returns the
// next place, or -1 if that is no escape.
func (s *Scanner) escape(end int) int {
	if s.Pos == len(s.text) {
		return -1
	}
	c := s.text[s.Pos]
	s.Pos++
	if plain := Unescape(c); plain != 0 {
		s.own[end] = plain
		return end + 1
	}
	if c != 'u' {
		return -1
	}
	r := Hex4(s.text[s.Pos:])
	if r < 0 {
		return -1
	}
	s.Pos += 4
	if utf16.IsSurrogate(r) {
		r = s.surrogate(r)
	}
	return end + utf8.EncodeRune(s.own[end:], r)
}

// surrogate completes a pair whose first half has been read. Half a pair is U+FFFD, as
// encoding/json has it.
func (s *Scanner) surrogate(first rune) rune {
	if strings.HasPrefix(s.text[s.Pos:], `\u`) {
		if r := utf16.DecodeRune(first, Hex4(s.text[s.Pos+2:])); r != utf8.RuneError {
			s.Pos += 6
			return r
		}
	}
	return utf8.RuneError
}

// Skip reads a value of any kind, which must be valid JSON, as encoding/json reads it.
func (s *Scanner) Skip() bool {
	if s.depth == maxDepth {
		return false
	}
	s.depth++
	defer func() { s.depth-- }()
	switch s.Peek() {
	case '{':
		return s.Members(func(string) bool { return s.Skip() })
	case '[':
		return s.List(s.Skip)
	case '"':
		_, ok := s.Text()
		return ok
	}
	start := s.Pos
	for s.Pos < len(s.text) && !strings.ContainsRune(",]} \t\r\n", rune(s.text[s.Pos])) {
		s.Pos++
	}
	return json.Valid([]byte(s.text[start:s.Pos])) // a number or a word
}
