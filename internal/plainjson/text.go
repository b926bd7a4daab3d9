package plainjson

import (
	"strconv"
	"unicode/utf8"
)

// SpaceEnd returns the first position from i on that is not white space; len(s)
// when there is none.
func SpaceEnd(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// PlainEnd returns the first position from i on of a quote, a backslash, a
// control character or a byte above ASCII; len(s) when there is none. It looks
// at eight bytes at a time.
func PlainEnd(s string, i int) int {
	const highs = 0x8080808080808080
	for ; i+32 <= len(s); i += 32 {
		if (special(s[i:])|special(s[i+8:])|special(s[i+16:])|special(s[i+24:]))&highs != 0 {
			break
		}
	}
	for ; i+8 <= len(s) && special(s[i:])&highs == 0; i += 8 {
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// special has the high bit of a byte set if one of the first eight bytes of s is not plain.
func special(s string) uint64 {
	const ones = 0x0101010101010101
	_ = s[7]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	// A byte's high bit is set where the byte is too small for its subtraction, or above ASCII anyway.
	return w | (w - ones*' ') | (quote - ones) | (slash - ones)
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
