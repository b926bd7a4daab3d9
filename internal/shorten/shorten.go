// Package shorten makes texts fit for a log, a span, a reason or a terminal. It imports the
// standard library only.
package shorten

import (
	"unicode"
	"unicode/utf8"
)

// To returns the characters of s that fit into its first n bytes.
func To(s string, n int) string {
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
