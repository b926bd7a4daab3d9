package sqsevent

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// str reads a string. Without escapes it is a part of src.
func (s *scanner) str() (string, error) {
	s.pos++ // the quote
	start := s.pos
	for {
		s.pos = jsontext.PlainEnd(s.src, s.pos)
		if s.pos >= len(s.src) {
			return "", s.unexpected("the end of a string")
		}
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return s.src[start : s.pos-1], nil
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			return "", s.unexpected("no control character")
		default:
			r, size := utf8.DecodeRuneInString(s.src[s.pos:])
			if r == utf8.RuneError && size == 1 {
				return s.escaped(start)
			}
			s.pos += size
		}
	}
}

// escaped reads on in a string that began at start and cannot be a part of src.
func (s *scanner) escaped(start int) (string, error) {
	b := &s.unescaped
	if b.Cap() == 0 {
		b.Grow(len(s.src) - start) // unescaping makes nothing longer
	}
	from := b.Len()
	b.WriteString(s.src[start:s.pos])
	for {
		start = s.pos
		s.pos = jsontext.PlainEnd(s.src, s.pos)
		b.WriteString(s.src[start:s.pos])
		if s.pos >= len(s.src) {
			return "", s.unexpected("the end of a string")
		}
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			return b.String()[from:], nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return "", err
			}
		case c < ' ':
			return "", s.unexpected("no control character")
		default:
			r, size := utf8.DecodeRuneInString(s.src[s.pos:]) // U+FFFD for a byte that is no UTF-8
			b.WriteRune(r)
			s.pos += size
		}
	}
}

// escape reads one escape sequence.
func (s *scanner) escape() error {
	s.pos++ // the backslash
	if s.pos >= len(s.src) {
		return s.unexpected("an escape")
	}
	c := s.src[s.pos]
	if plain := jsontext.Unescape(c); plain != 0 {
		s.unescaped.WriteByte(plain)
		s.pos++
		return nil
	}
	if c != 'u' {
		return s.unexpected("an escape")
	}
	r := jsontext.Hex4(s.src[s.pos+1:])
	if r < 0 {
		return s.unexpected("an escape of four hexadecimal digits")
	}
	s.pos += 5
	if utf16.IsSurrogate(r) {
		r = s.surrogate(r)
	}
	s.unescaped.WriteRune(r)
	return nil
}

// surrogate completes a pair whose first half has been read; half a pair is U+FFFD.
func (s *scanner) surrogate(first rune) rune {
	if strings.HasPrefix(s.src[s.pos:], `\u`) {
		if r := utf16.DecodeRune(first, jsontext.Hex4(s.src[s.pos+2:])); r != utf8.RuneError {
			s.pos += 6
			return r
		}
	}
	return utf8.RuneError
}
