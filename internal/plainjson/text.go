package plainjson

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// Text reads a string. The result is a part of the scanner's text, or of a copy without
// escapes, so it keeps all of that in memory; [Scanner.Kept] does not.
func (s *Scanner) Text() (text string, ok bool) {
	if !s.next('"') {
		return "", false
	}
	start := s.Pos
	s.Pos = jsontext.PlainEnd(s.text, s.Pos)
	if s.Pos < len(s.text) && s.text[s.Pos] == '"' {
		s.Pos++
		return s.text[start : s.Pos-1], true
	}
	return s.unplain(start)
}

// unplain reads on in a string that began at start and has more than plain characters.
func (s *Scanner) unplain(start int) (text string, ok bool) {
	unescaped := s.unescaped.Len()
	for from := start; s.Pos < len(s.text); s.Pos = jsontext.PlainEnd(s.text, s.Pos) {
		switch c := s.text[s.Pos]; {
		case c == '"':
			rest := s.text[from:s.Pos]
			s.Pos++
			if from == start {
				return rest, true
			}
			s.unescaped.WriteString(rest)
			return s.unescaped.String()[unescaped:], true
		case c == '\\':
			if s.unescaped.Cap() == 0 {
				s.unescaped.Grow(len(s.text) - start) // unescaping makes nothing longer
			}
			s.unescaped.WriteString(s.text[from:s.Pos])
			s.Pos++
			if !s.escape() {
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

// Kept is Text for a string that outlives the text.
func (s *Scanner) Kept() (text string, ok bool) {
	text, ok = s.Text()
	return strings.Clone(text), ok
}

// escape reads what follows a backslash.
func (s *Scanner) escape() bool {
	if s.Pos == len(s.text) {
		return false
	}
	c := s.text[s.Pos]
	s.Pos++
	if plain := jsontext.Unescape(c); plain != 0 {
		s.unescaped.WriteByte(plain)
		return true
	}
	if c != 'u' {
		return false
	}
	r := jsontext.Hex4(s.text[s.Pos:])
	if r < 0 {
		return false
	}
	s.Pos += 4
	if utf16.IsSurrogate(r) {
		r = s.surrogate(r)
	}
	s.unescaped.WriteRune(r)
	return !utf16.IsSurrogate(r)
}

// surrogate completes a pair whose first half has been read. Half a pair stays, or
// is U+FFFD.
func (s *Scanner) surrogate(first rune) rune {
	if strings.HasPrefix(s.text[s.Pos:], `\u`) {
		if r := utf16.DecodeRune(first, jsontext.Hex4(s.text[s.Pos+2:])); r != utf8.RuneError {
			s.Pos += 6
			return r
		}
	}
	if s.HalfPairs {
		return utf8.RuneError
	}
	return first
}
