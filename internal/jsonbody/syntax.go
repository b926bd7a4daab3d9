package jsonbody

import "github.com/sqsbatch/sqsbatch/internal/plainjson"

// Kinds of syntax errors.
const (
	notJSON = "not valid JSON"
	tooDeep = "JSON nested too deeply"
)

// syntax reports whether the body is not JSON, so that the fault belongs to no field.
func (f *Fault) syntax() bool { return f.what == notJSON || f.what == tooDeep }

// maxDepth is how deep encoding/json goes.
const maxDepth = 10_000

// check returns the first syntax error of a body, nil if it is valid JSON.
func check(body string) *Fault {
	if plainjson.SpaceEnd(body, 0) == len(body) {
		return nowhere("it is empty", nil)
	}
	end, bad := valueEnd(body, 0, 0)
	if bad == nil {
		bad = nothingFrom(body, end)
	}
	return bad
}

// nothingFrom returns a fault if anything but white space is in body from i on.
func nothingFrom(body string, i int) *Fault {
	if i = plainjson.SpaceEnd(body, i); i < len(body) {
		return &Fault{what: notJSON, at: i, after: ", behind the value"}
	}
	return nil
}

// wrong returns the fault for an unexpected character, or an unexpected end, at i.
func wrong(text string, i int) *Fault {
	if i >= len(text) {
		return &Fault{what: notJSON, at: len(text), after: ", where it ends too early"}
	}
	return &Fault{what: notJSON, at: i}
}

// valueEnd returns where the next value of text from i on ends.
func valueEnd(text string, i, depth int) (end int, bad *Fault) {
	i = plainjson.SpaceEnd(text, i)
	if i == len(text) {
		return i, wrong(text, i)
	}
	switch text[i] {
	case '{', '[':
		if depth == maxDepth {
			return i, &Fault{what: tooDeep, at: i}
		}
		return listEnd(text, i, depth)
	case '"':
		return stringEnd(text, i)
	case 't':
		return wordEnd(text, i, "true")
	case 'f':
		return wordEnd(text, i, "false")
	case 'n':
		return wordEnd(text, i, "null")
	default:
		return numberEnd(text, i)
	}
}

// listEnd returns where an object or an array ends.
func listEnd(text string, i, depth int) (end int, bad *Fault) {
	object, closing := text[i] == '{', text[i]+2
	i, more := first(text, i)
	for more {
		if object {
			if _, i, bad = nameEnd(text, i); bad != nil {
				return i, bad
			}
		}
		if i, bad = valueEnd(text, i, depth+1); bad != nil {
			return i, bad
		}
		if i, more, bad = next(text, i, closing); bad != nil {
			return i, bad
		}
	}
	return i, nil
}

// first returns where the first member or element of the object or array at i begins. If
// there is none, it returns the end of the object or array, and false.
func first(text string, i int) (at int, more bool) {
	if at = plainjson.SpaceEnd(text, i+1); at < len(text) && text[at] == text[i]+2 {
		return at + 1, false
	}
	return at, true
}

// next returns the same as first for what follows a value that ends at i.
func next(text string, i int, closing byte) (at int, more bool, bad *Fault) {
	i = plainjson.SpaceEnd(text, i)
	switch {
	case i < len(text) && text[i] == closing:
		return i + 1, false, nil
	case i == len(text) || text[i] != ',':
		return i, false, wrong(text, i)
	}
	return plainjson.SpaceEnd(text, i+1), true, nil
}

// nameEnd returns where the name of the member at i ends, and where its value begins.
func nameEnd(text string, i int) (end, value int, bad *Fault) {
	if i == len(text) || text[i] != '"' {
		return i, i, wrong(text, i)
	}
	if end, bad = stringEnd(text, i); bad != nil {
		return end, end, bad
	}
	if value = plainjson.SpaceEnd(text, end); value == len(text) || text[value] != ':' {
		return end, value, wrong(text, value)
	}
	return end, plainjson.SpaceEnd(text, value+1), nil
}

func stringEnd(text string, i int) (end int, bad *Fault) {
	for i++; ; i++ {
		i = plainjson.PlainEnd(text, i)
		switch {
		case i == len(text) || text[i] < ' ':
			return i, wrong(text, i)
		case text[i] == '"':
			return i + 1, nil
		case text[i] != '\\':
			continue
		}
		i++
		switch {
		case i < len(text) && text[i] == 'u':
			for range 4 {
				if i++; i == len(text) || plainjson.Hex4("000"+text[i:i+1]) < 0 {
					return i, wrong(text, i)
				}
			}
		case i == len(text) || plainjson.Unescape(text[i]) == 0:
			return i, wrong(text, i)
		}
	}
}

func wordEnd(text string, i int, word string) (end int, bad *Fault) {
	for _, c := range []byte(word) {
		if i == len(text) || text[i] != c {
			return i, wrong(text, i)
		}
		i++
	}
	return i, nil
}

func numberEnd(text string, i int) (end int, bad *Fault) {
	if text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if i, bad = digitsEnd(text, i); bad != nil {
		return i, bad
	}
	if i < len(text) && text[i] == '.' {
		if i, bad = digitsEnd(text, i+1); bad != nil {
			return i, bad
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		return digitsEnd(text, i)
	}
	return i, nil
}

func digitsEnd(text string, i int) (end int, bad *Fault) {
	from := i
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i == from {
		return i, wrong(text, i)
	}
	return i, nil
}
