package plainjson

import (
	"strings"
	"unicode/utf16"

	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// Text reads a string. It is a part of the scanner's text where nothing in it
// is escaped, so that it keeps all of that text in memory: [Scanner.Kept] does not.
func (s *Scanner) Text() (text string, ok bool) {
	text, _, ok = s.quoted()
	return text, ok
}

// Kept is Text for a string that outlives the text.
func (s *Scanner) Kept() (text string, ok bool) {
	text, own, ok := s.quoted()
	if !own {
		text = strings.Clone(text)
	}
	return text, ok
}

// quoted reads a string; own says that it is no part of the text.
func (s *Scanner) quoted() (text string, own, ok bool) {
	if !s.next('"') {
		return "", false, false
	}
	start := s.pos
	for {
		s.pos = jsontext.PlainEnd(s.text, s.pos)
		if s.pos == len(s.text) {
			return "", false, false
		}
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return s.text[start : s.pos-1], false, true
		case c == '\\':
			text, ok = s.escaped(start)
			return text, true, ok
		case c < ' ':
			return "", false, false
		}
		s.pos++ // of UTF-8, which the text is: Whole looks first
	}
}

// escaped reads on in a string that began at start and has escapes.
func (s *Scanner) escaped(start int) (text string, ok bool) {
	var b strings.Builder
	b.Grow(s.pos - start + s.ahead())
	for from := start; ; {
		s.pos = jsontext.PlainEnd(s.text, s.pos)
		if s.pos == len(s.text) {
			return "", false
		}
		switch c := s.text[s.pos]; {
		case c == '"':
			b.WriteString(s.text[from:s.pos])
			s.pos++
			if b.Len() < b.Cap()/4*3 {
				return strings.Clone(b.String()), true // it may be kept for long
			}
			return b.String(), true
		case c == '\\':
			b.WriteString(s.text[from:s.pos])
			s.pos++
			if !s.escape(&b) {
				return "", false
			}
			from = s.pos
		case c < ' ':
			return "", false
		default:
			s.pos++
		}
	}
}

// ahead is how much there is from here to the end of the string: to the next
// quote with no backslash before it, or with an escaped one, which is rare.
func (s *Scanner) ahead() int {
	for i := s.pos; ; i++ {
		next := strings.IndexByte(s.text[i:], '"')
		if next < 0 {
			return len(s.text) - s.pos
		}
		if i += next; s.text[i-1] != '\\' {
			return i - s.pos
		}
	}
}

// escape reads what follows a backslash. Surrogates are left to encoding/json.
func (s *Scanner) escape(b *strings.Builder) bool {
	if s.pos == len(s.text) {
		return false
	}
	c := s.text[s.pos]
	s.pos++
	if plain := jsontext.Unescape(c); plain != 0 {
		b.WriteByte(plain)
		return true
	}
	if c != 'u' {
		return false
	}
	r := jsontext.Hex4(s.text[s.pos:])
	if r < 0 || utf16.IsSurrogate(r) {
		return false
	}
	s.pos += 4
	b.WriteRune(r)
	return true
}
