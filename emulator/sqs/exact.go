package sqs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// The protocol knows its members by their exact names and ignores others
// ("AWS JSON 1.0 protocol" in the Smithy specification), where encoding/json
// also takes a name in another case. And it leaves to the service what it makes
// of half a surrogate pair, which encoding/json replaces by U+FFFD: SQS refuses
// it ("Valid unicode characters" on SendMessage's page of the API reference).

// blankUnknownNames returns a request's body such that encoding/json reads it in this way:
// the names that a request of type t does not have are blank, and half a
// surrogate pair is U+0000, which no text may have. The body must be JSON.
func blankUnknownNames(body []byte, t reflect.Type) []byte {
	w := &exactWalk{body: bytes.Clone(body)}
	w.names(t)
	w.surrogates()
	return w.body
}

type exactWalk struct {
	body []byte // of which only names and escapes change, each keeping its length
	pos  int
}

// names reads a value for a type, nil for one that is not looked at.
func (w *exactWalk) names(t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch w.next() {
	case '{':
		for w.pos++; w.next() != '}'; {
			name := w.scalar()
			w.next()
			w.pos++ // the colon
			w.names(member(t, name))
			if w.next() == ',' {
				w.pos++
			}
		}
		w.pos++
	case '[':
		var element reflect.Type
		if t != nil && t.Kind() == reflect.Slice {
			element = t.Elem()
		}
		for w.pos++; w.next() != ']'; {
			w.names(element)
			if w.next() == ',' {
				w.pos++
			}
		}
		w.pos++
	default:
		w.scalar()
	}
}

// next skips white space and returns the byte after it.
func (w *exactWalk) next() byte {
	for w.body[w.pos] <= ' ' {
		w.pos++
	}
	return w.body[w.pos]
}

// scalar reads a string, a number or a word.
func (w *exactWalk) scalar() []byte {
	start := w.pos
	if w.body[w.pos] == '"' {
		for w.pos++; w.body[w.pos] != '"'; w.pos++ {
			if w.body[w.pos] == '\\' {
				w.pos++
			}
		}
		w.pos++
	} else {
		for w.pos < len(w.body) && strings.IndexByte(",]} \t\r\n", w.body[w.pos]) < 0 {
			w.pos++
		}
	}
	return w.body[start:w.pos]
}

// member returns the type of a member of a value of type t, and blanks the name
// if there is none.
func member(t reflect.Type, quoted []byte) reflect.Type {
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Map:
		return t.Elem()
	case t.Kind() != reflect.Struct:
		return nil
	}
	var name string
	_ = json.Unmarshal(quoted, &name) // it is JSON
	of, known := membersOf(t)[name]
	if !known {
		for i := range quoted[1 : len(quoted)-1] {
			quoted[1+i] = ' '
		}
	}
	return of
}

var memberTypes sync.Map // map[string]reflect.Type, by reflect.Type

// membersOf returns the members of a struct by their exact names.
func membersOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := memberTypes.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	members := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous || !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		members[cmp.Or(name, field.Name)] = field.Type
	}
	memberTypes.Store(t, members)
	return members
}

// surrogates replaces the escapes \ud800 to \udfff that are not pairs.
func (w *exactWalk) surrogates() {
	for i := bytes.IndexByte(w.body, '\\'); i >= 0 && i < len(w.body); {
		switch {
		case w.body[i] != '\\':
			i++
		case w.body[i+1] != 'u':
			i += 2
		default:
			unit := w.unit(i)
			switch {
			case unit < 0xd800 || unit > 0xdfff:
				i += 6
			case unit < 0xdc00 && w.unit(i+6) >= 0xdc00 && w.unit(i+6) <= 0xdfff:
				i += 12
			default:
				copy(w.body[i+2:], "0000")
				i += 6
			}
		}
	}
}

// unit returns the number of the escape \uXXXX at i, 0 if there is none.
func (w *exactWalk) unit(i int) uint64 {
	if i+6 > len(w.body) || w.body[i] != '\\' || w.body[i+1] != 'u' {
		return 0
	}
	n, _ := strconv.ParseUint(string(w.body[i+2:i+6]), 16, 16)
	return n
}
