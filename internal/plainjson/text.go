package plainjson

import (
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// SpaceEnd returns the first position from i on that is not white space; len(s)
// when there is none.
func SpaceEnd(s string, i int) int {
	for i < len(s) && s[i] <= ' ' && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// PlainEnd returns the first position from i on of a quote, a backslash, a
// control character or a byte above ASCII; len(s) when there is none. It looks
// at eight bytes at a time.
func PlainEnd(s string, i int) int {
	rest := s[i:]
	for ; len(rest) >= 8; rest = rest[8:] {
		if found := special(word(rest)); found != 0 {
			return len(s) - len(rest) + bits.TrailingZeros64(found)/8
		}
	}
	for len(rest) > 0 && rest[0] >= ' ' && rest[0] != '"' && rest[0] != '\\' && rest[0] < utf8.RuneSelf {
		rest = rest[1:]
	}
	return len(s) - len(rest)
}

// special has the high bit set of the first byte of w that is not plain, perhaps those of bytes after it,
// and none before it.
func special(w uint64) uint64 {
	const ones = 0x0101010101010101
	// A byte's high bit is set where the byte is too small for its subtraction, or above ASCII anyway.
	// Without its second bit a quote is a space, and control characters stay below that.
	small, slash := (w^ones*2)-ones*(' '+1), (w^ones*'\\')-ones
	return (w | small | slash) & (ones << 7)
}

// word returns the first eight bytes of s. The compiler makes one load of it.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Unescape returns the character that c stands for after a backslash. It returns 0 if c is
// u or does not follow a backslash in JSON.
func Unescape(c byte) byte { return escapes[c] }

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// Hex4 reads the four hexadecimal digits that s begins with, or returns -1.
func Hex4(s string) rune {
	if len(s) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(s[:4], 16, 32)
	if err != nil {
		return -1
	}
	return rune(n)
}
