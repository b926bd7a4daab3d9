package plainjson

import (
	"strings"
	"unicode/utf8"
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
		s.pos = PlainEnd(s.text, s.pos)
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
		s.pos = PlainEnd(s.text, s.pos)
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
		r, ok := hex4(s.text[s.pos:])
		if !ok || r >= 0xd800 && r <= 0xdfff {
			return false
		}
		s.pos += 4
		b.WriteRune(r)
		return true
	default:
		return false
	}
	b.WriteByte(c)
	return true
}

// hex4 reads four hexadecimal digits.
func hex4(text string) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for _, c := range []byte(text[:4]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// PlainEnd returns the first position from i on of a quote, a backslash, a
// control character or a byte above ASCII; len(s) when there is none. It looks
// at eight bytes at a time.
func PlainEnd(s string, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		// A byte's high bit is set where the byte is too small for its
		// subtraction, or above ASCII anyway.
		if (w|(w-ones*' ')|(quote-ones)|(slash-ones))&highs != 0 {
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
