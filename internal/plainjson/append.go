package plainjson

import (
	"fmt"
	"unicode/utf8"
)

// AppendString appends a string as encoding/json writes it without HTML escaping. A byte
// that is not UTF-8 becomes \ufffd, the replacement character. Depending on the version of Go,
// encoding/json escapes that character or not.
func AppendString(b []byte, text string) []byte {
	b = append(b, '"')
	from := 0 // start of the text that is not copied yet
	for i := PlainEnd(text, 0); i < len(text); i = PlainEnd(text, i) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if escaped := escape(r, size); escaped != "" {
			b = append(append(b, text[from:i]...), escaped...)
			from = i + size
		}
		i += size
	}
	return append(append(b, text[from:]...), '"')
}

// escape returns the escape of a character, "" if it needs none.
func escape(r rune, size int) string {
	switch {
	case r == '"':
		return `\"`
	case r == '\\':
		return `\\`
	case r < ' ' && shorts[r] != "":
		return shorts[r]
	case r < ' ', r == '\u2028', r == '\u2029', r == utf8.RuneError && size == 1:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return ""
}

// shorts are the control characters that have an escape of two characters.
var shorts = [' ']string{'\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
