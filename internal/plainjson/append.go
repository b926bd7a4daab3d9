package plainjson

import (
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// AppendString appends a string as encoding/json writes it without escaping
// what is special in HTML. A byte that is not UTF-8 becomes \ufffd, the replacement
// character: encoding/json writes it escaped or as it is, by the version of Go.
func AppendString(b []byte, text string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := jsontext.PlainEnd(text, 0); i < len(text); i = jsontext.PlainEnd(text, i) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				b = append(append(b, text[from:i]...), `\ufffd`...)
			case r == '\u2028', r == '\u2029':
				b = append(append(b, text[from:i]...), `\u202`...)
				b = append(b, digits[r&0xf])
			default:
				i += size
				continue // it is copied with what follows
			}
			i += size
			from = i
			continue
		case c == '"', c == '\\':
			b = append(append(b, text[from:i]...), '\\', c)
		default:
			b = append(b, text[from:i]...)
			if short := shorts[c]; short != 0 {
				b = append(b, '\\', short)
			} else {
				b = append(b, `\u00`...)
				b = append(b, digits[c>>4], digits[c&0xf])
			}
		}
		i++
		from = i
	}
	return append(append(b, text[from:]...), '"')
}

// shorts are the control characters that have an escape of two characters.
var shorts = [' ']byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
