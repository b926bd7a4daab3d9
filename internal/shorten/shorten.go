// Package shorten cuts texts that are too long for a log, a span or a reason. It imports the
// standard library only.
package shorten

import "unicode/utf8"

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
