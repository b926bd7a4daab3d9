package plainjson

import "github.com/sqsbatch/sqsbatch/internal/jsontext"

// Value skips a value of any kind and returns its text, a part of the scanner's. It only
// looks for the end. Decode or check the text with encoding/json; if it is invalid,
// everything that was read after it is invalid, too.
func (s *Scanner) Value() (text string, ok bool) {
	s.Peek()
	start := s.Pos
	for depth := 0; s.Pos < len(s.text); {
		switch s.text[s.Pos] {
		case '"':
			if !s.pass() {
				return "", false
			}
			if depth == 0 {
				return s.text[start:s.Pos], true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.Pos++
				return s.text[start:s.Pos], true
			}
			if depth < 0 { // the end of what a number or a word is in
				return s.text[start:s.Pos], s.Pos > start
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.text[start:s.Pos], s.Pos > start
			}
		}
		s.Pos++
	}
	return "", false
}

// pass goes to the end of a string.
func (s *Scanner) pass() bool {
	for s.Pos++; ; s.Pos++ {
		s.Pos = jsontext.PlainEnd(s.text, s.Pos)
		if s.Pos >= len(s.text) {
			return false
		}
		switch s.text[s.Pos] {
		case '"':
			s.Pos++
			return true
		case '\\':
			s.Pos++ // and what it escapes
		}
	}
}
