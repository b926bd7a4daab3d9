package jsonbody

import (
	"encoding/json"
	"errors"
	"strings"
)

// Within is the reason for an error in a part of a body that was decoded by
// itself: with the part's name before that of a field, and offsets in the body.
// reason and err are what [Decode] returned for the part, offset is what [Offset]
// returns, which is asked for where it is needed.
func Within(part, reason string, err error, offset func() int64) string {
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		moved := *mismatch
		moved.Field = strings.TrimSuffix(part+"."+moved.Field, ".")
		moved.Offset += offset()
		return Where(&moved)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		moved := *syntax
		moved.Offset += offset()
		return Where(&moved)
	}
	return part + ": " + reason
}

// Offset returns where the value of a member begins in body, a JSON object, or
// that of an element of a list there, if element is not negative. The name's case
// does not count, and the last one of that name does, as for encoding/json. It
// reads the body again. What is not there is at 0.
func Offset(body, member string, element int) (offset int64) {
	d := json.NewDecoder(strings.NewReader(body))
	_, _ = d.Token() // {
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return offset
		}
		s, _ := name.(string)
		wanted := strings.EqualFold(s, member)
		if wanted && element >= 0 {
			if token, err := d.Token(); err != nil || token != json.Delim('[') {
				return 0
			}
			for i := 0; d.More(); i++ {
				at, ok := next(d)
				if !ok {
					return offset
				}
				if i == element {
					offset = at
				}
			}
			_, _ = d.Token() // ]
			continue
		}
		at, ok := next(d)
		if !ok {
			return offset
		}
		if wanted {
			offset = at
		}
	}
	return offset
}

// next reads a value and returns where it began.
func next(d *json.Decoder) (offset int64, ok bool) {
	var value json.RawMessage
	err := d.Decode(&value)
	return d.InputOffset() - int64(len(value)), err == nil
}
