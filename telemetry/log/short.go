package log

import "unicode/utf8"

// Limits of an error and a body in a line, in bytes of JSON. Together with the rest, about
// 1 KB, a line stays below 16 KiB. Container runtimes split longer lines.
const (
	maxReason = 2 << 10
	maxErrors = 3 << 10 // bytes of wrapped errors
	maxStack  = 8 << 10
	maxTexts  = 14_000 // bytes of these and the body together
)

// fits returns how many bytes of s fit into n bytes of JSON, and how many bytes of JSON
// they take.
func fits(s string, n int) (end, size int) {
	for end < len(s) {
		r, width := utf8.DecodeRuneInString(s[end:])
		takes := width
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			takes = 2
		case r < ' ' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError && width == 1:
			takes = 6
		}
		if size+takes > n {
			break
		}
		end, size = end+width, size+takes
	}
	return end, size
}

// shortened returns s if it fits into n bytes of JSON, or else its beginning and an
// ellipsis. It also returns how many bytes that takes.
func shortened(s string, n int) (short string, size int) {
	const ellipsis = "…"
	end, size := fits(s, n)
	if end == len(s) {
		return s, size
	}
	end, size = fits(s, n-len(ellipsis))
	return s[:end] + ellipsis, size + len(ellipsis)
}
