package plainjson

import "github.com/sqsbatch/sqsbatch/internal/jsontext"

// Value passes over a value of any kind and returns its text, a part of the
// scanner's. It only looks for the end: the text is to be decoded or checked by
// encoding/json, and when that finds it invalid, so is all that was read after it.
func (s *Scanner) Value() (text string, ok bool) {
	s.Peek()
	start := s.pos
	for depth := 0; s.pos < len(s.text); {
		switch s.text[s.pos] {
		case '"':
			if !s.pass() {
				return "", false
			}
			if depth == 0 {
				return s.text[start:s.pos], true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.pos++
				return s.text[start:s.pos], true
			}
			if depth < 0 { // the end of what a number or a word is in
				return s.text[start:s.pos], s.pos > start
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.text[start:s.pos], s.pos > start
			}
		}
		s.pos++
	}
	return "", false
}

// pass goes to the end of a string.
func (s *Scanner) pass() bool {
	for s.pos++; ; s.pos++ {
		s.pos = jsontext.PlainEnd(s.text, s.pos)
		if s.pos >= len(s.text) {
			return false
		}
		switch s.text[s.pos] {
		case '"':
			s.pos++
			return true
		case '\\':
			s.pos++ // and what it escapes
		}
	}
}
