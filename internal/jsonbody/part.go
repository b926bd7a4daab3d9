package jsonbody

import (
	"encoding/json"
	"strings"

	"github.com/sqsbatch/sqsbatch/internal/jsontext"
)

// Find returns the text of the value at a path of names, "" if there is none. If a name
// occurs several times, the first member counts, and the rest of the body is not read.
func Find(body string, path ...string) (value string, bad *Fault) {
	i := jsontext.SpaceEnd(body, 0)
	if i == len(body) {
		return "", nowhere("it is empty", nil)
	}
	for _, name := range path {
		var found bool
		if i, found, bad = memberAt(body, i, name); bad != nil || !found {
			return "", bad
		}
	}
	end, bad := valueEnd(body, i, len(path))
	if bad != nil {
		return "", bad
	}
	return body[i:end], nil
}

// memberAt returns where the value of a member begins, if an object begins at i.
func memberAt(body string, i int, name string) (at int, found bool, bad *Fault) {
	if i == len(body) || body[i] != '{' {
		_, bad = valueEnd(body, i, 0)
		return i, false, bad
	}
	i, more := first(body, i)
	for more {
		end, value, bad := nameEnd(body, i)
		if bad != nil {
			return i, false, bad
		}
		if own, _ := Scalar(body[i:end]); own == name {
			return value, true, nil
		}
		if i, bad = valueEnd(body, value, 1); bad == nil {
			i, more, bad = next(body, i, '}')
		}
		if bad != nil {
			return i, false, bad
		}
	}
	return i, false, nil
}

// Scalar returns the text of a valid JSON string, number or bool, and false for other
// values.
func Scalar(value string) (text string, ok bool) {
	switch {
	case value == "", strings.ContainsAny(value[:1], "{[n"):
		return "", false
	case value[0] != '"':
		return value, true
	case !strings.Contains(value, `\`):
		return value[1 : len(value)-1], true
	}
	err := json.Unmarshal([]byte(value), &text)
	return text, err == nil
}
