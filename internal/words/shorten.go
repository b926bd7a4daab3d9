// Package words shortens texts for a log, a span, a reason or a terminal, and finds the word that a
// misspelled one may stand for. It imports the standard library only.
package words

import (
	"unicode"
	"unicode/utf8"
)

// Shorten returns the characters of s that fit into its first n bytes.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Hidden reports whether a character moves the cursor, changes the direction of writing, ends a
// line, or cannot be seen.
func Hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
