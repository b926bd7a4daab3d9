package sqsevent

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string. Without escapes it is a part of src.
func (s *scanner) str() (string, error) {
	s.pos++ // the quote
	start := s.pos
	for {
		s.pos = plainEnd(s.src, s.pos)
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
		s.pos = plainEnd(s.src, s.pos)
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
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		r := s.hex(s.pos + 1)
		if r < 0 {
			return s.unexpected("an escape of four hexadecimal digits")
		}
		s.pos += 5
		if utf16.IsSurrogate(r) {
			r = s.surrogate(r)
		}
		s.unescaped.WriteRune(r)
		return nil
	default:
		return s.unexpected("an escape")
	}
	s.unescaped.WriteByte(c)
	s.pos++
	return nil
}

// surrogate completes a pair whose first half has been read; half a pair is U+FFFD.
func (s *scanner) surrogate(first rune) rune {
	if strings.HasPrefix(s.src[s.pos:], `\u`) {
		if r := utf16.DecodeRune(first, s.hex(s.pos+2)); r != utf8.RuneError {
			s.pos += 6
			return r
		}
	}
	return utf8.RuneError
}

// hex reads four hexadecimal digits, or returns -1.
func (s *scanner) hex(at int) rune {
	if at+4 > len(s.src) {
		return -1
	}
	var r rune
	for _, c := range []byte(s.src[at : at+4]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// plainEnd returns the first position from i on with a byte that ends a run of
// plain characters: a quote, a backslash, a control character, or one of
// UTF-8's bytes above ASCII. It looks at eight bytes at a time.
func plainEnd(s string, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// A byte's high bit is set where the byte is zero (quote, slash) or below a space.
		if (w|(w-ones*' ')|((quote-ones)&^quote)|((slash-ones)&^slash))&highs != 0 {
			break
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}
