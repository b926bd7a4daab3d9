package jsonbody

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// Find returns the text of the value at a path of names, "" if there is none, in a body that
// is valid JSON.
//
// A name on the path that occurs again in its object, ignoring case, is a fault: decoders
// differ in which member they take, so this one may not be the one that is decoded later.
func Find(body string, path ...string) (value string, bad *Fault) {
	at, end := plainjson.SpaceEnd(body, 0), len(strings.TrimRight(body, " \t\r\n"))
	if len(path) == 0 || at == len(body) || body[at] != '{' {
		if bad = check(body); bad == nil && len(path) == 0 {
			value = body[at:end]
		}
		return value, bad
	}
	for depth, name := range path {
		if at == end || body[at] != '{' {
			return "", nil
		}
		var over int
		if at, end, over, bad = member(body, at, name, depth); bad == nil && depth == 0 {
			bad = nothingFrom(body, over)
		}
		if bad != nil {
			return "", bad
		}
	}
	return body[at:end], nil
}

// member returns where the value of a member begins and ends in the object that begins at i,
// and where the object is over.
func member(body string, i int, name string, depth int) (at, end, over int, bad *Fault) {
	seen := false
	i, more := first(body, i)
	for more {
		nameAt := i
		nameEnd, value, bad := nameEnd(body, i)
		if bad != nil {
			return 0, 0, 0, bad
		}
		if i, bad = valueEnd(body, value, depth+1); bad != nil {
			return 0, 0, 0, bad
		}
		if own, _ := Scalar(body[nameAt:nameEnd]); strings.EqualFold(own, name) {
			if seen {
				return 0, 0, 0, &Fault{what: "the name occurs twice, ignoring case", path: []string{name}, at: nameAt}
			}
			if seen = true; own == name {
				at, end = value, i
			}
		}
		if i, more, bad = next(body, i, '}'); bad != nil {
			return 0, 0, 0, bad
		}
	}
	return at, end, i, nil
}

// Scalar returns the text of a valid JSON string, number or bool, and false for other
// values.
func Scalar(value string) (text string, ok bool) {
	switch {
	case value == "", strings.ContainsAny(value[:1], "{[n"):
		return "", false
	case value[0] != '"':
		return value, true
	case !strings.Contains(value, `\`) && utf8.ValidString(value): // else decoded as the handler will
		return value[1 : len(value)-1], true
	}
	err := json.Unmarshal([]byte(value), &text)
	return text, err == nil
}
