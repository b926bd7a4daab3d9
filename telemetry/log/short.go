package log

import "unicode/utf8"

// Bounds of an error and a body in a line, in bytes of JSON. With all else, about 1
// KB, a line stays below 16 KiB, where container runtimes split.
const (
	maxReason = 2 << 10
	maxErrors = 3 << 10 // of what is wrapped
	maxStack  = 8 << 10
	maxTexts  = 14_000 // of these and the body together
)

// fits returns how much of s fits into n bytes of JSON, and how many it takes.
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

// shortened returns s if it fits into n bytes of a JSON text, or else its
// beginning and an ellipsis, and how many bytes that takes.
func shortened(s string, n int) (short string, size int) {
	const ellipsis = "…"
	end, size := fits(s, n)
	if end == len(s) {
		return s, size
	}
	end, size = fits(s, n-len(ellipsis))
	return s[:end] + ellipsis, size + len(ellipsis)
}

// cut returns the characters that fit into the first n bytes.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
