package jsonbody

import (
	"encoding"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// find looks for the part of body that encoding/json refused with the error err: first for
// a syntax error, then for the first value that does not fit its type. Its texts contain
// only names of Go types and fields, the kind of a JSON value, and an offset. It decodes
// the body again, including the types' own methods, so call it only for refused bodies.
func find(body string, t reflect.Type, strict bool, err error) *Fault {
	bad := check(body)
	if bad == nil {
		_, bad = (&finder{text: body, strict: strict, shapes: map[reflect.Type]*shape{}}).value(0, t)
	}
	if bad == nil {
		bad = nowhere("a value is not accepted by its type", nil)
	}
	bad.err = err
	return bad
}

// finder walks through a text that is valid JSON.
type finder struct {
	text   string
	strict bool
	shapes map[reflect.Type]*shape
	inner  bool // within a type that decodes itself
}

// shape is what find needs to know of a type that is not a pointer.
type shape struct {
	json, text bool // it decodes itself
	fields     []field
}

func (f *finder) shape(t reflect.Type) *shape {
	if s := f.shapes[t]; s != nil {
		return s
	}
	p := reflect.PointerTo(t)
	_, from := p.MethodByName("UnmarshalJSONFrom") // what later versions of Go look for as well
	s := &shape{
		json: from || p.Implements(reflect.TypeFor[json.Unmarshaler]()),
		text: p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()),
	}
	if t.Kind() == reflect.Struct {
		s.fields = fieldsOf(t)
	}
	f.shapes[t] = s
	return s
}

// field returns the field that a member with that name goes into, nil if none.
func (s *shape) field(name string) *field {
	i := slices.IndexFunc(s.fields, func(f field) bool { return f.name == name })
	if i < 0 {
		i = slices.IndexFunc(s.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
	}
	if i < 0 {
		return nil
	}
	return &s.fields[i]
}

// value examines the next value from i on, and returns its end or what is wrong with it.
func (f *finder) value(i int, t reflect.Type) (end int, bad *Fault) {
	i = plainjson.SpaceEnd(f.text, i)
	if f.text[i] == 'n' && t.Kind() == reflect.Pointer {
		return f.end(i), nil
	}
	for t.Kind() == reflect.Pointer {
		if t.Elem() == t { // type T *T
			return f.end(i), nil
		}
		t = t.Elem()
	}
	switch s := f.shape(t); {
	case s.json:
		return f.own(i, t)
	case f.text[i] == 'n':
		return f.end(i), nil
	case s.text && f.text[i] == '"':
		return f.own(i, t)
	case s.text:
		return i, f.mismatch(i, t)
	}
	return f.plain(i, t)
}

// plain looks at a value for a type that does not decode itself.
func (f *finder) plain(i int, t reflect.Type) (end int, bad *Fault) {
	free := t.Kind() == reflect.Interface && t.NumMethod() == 0
	switch f.text[i] {
	case '{':
		switch {
		case free:
			return f.object(i, reflect.TypeFor[map[string]any]())
		case t.Kind() == reflect.Struct, t.Kind() == reflect.Map && f.isKey(t.Key()):
			return f.object(i, t)
		}
	case '[':
		switch {
		case free:
			return f.array(i, reflect.TypeFor[[]any]())
		case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
			return f.array(i, t)
		}
	default:
		if free {
			t = reflect.TypeFor[float64]() // for the numbers that are too large
		}
		end = f.end(i)
		if free && !isNumber(f.text[i]) || f.fits(f.text[i:end], t) {
			return end, nil
		}
	}
	return i, f.mismatch(i, t)
}

// fits reports whether a string, a number or a bool goes into a type.
func (f *finder) fits(raw string, t reflect.Type) bool {
	var err error
	switch k := t.Kind(); {
	case t == reflect.TypeFor[json.Number](), k == reflect.Slice: // base64, perhaps
		err = takes(raw, t)
	case k == reflect.String:
		return raw[0] == '"'
	case k == reflect.Bool:
		return raw[0] == 't' || raw[0] == 'f'
	case !isNumber(raw[0]):
		return false
	case k >= reflect.Int && k <= reflect.Int64:
		_, err = strconv.ParseInt(raw, 10, t.Bits())
	case k >= reflect.Uint && k <= reflect.Uintptr:
		_, err = strconv.ParseUint(raw, 10, t.Bits())
	case k == reflect.Float32, k == reflect.Float64:
		_, err = strconv.ParseFloat(raw, t.Bits())
	default:
		return false
	}
	return err == nil
}

func isNumber(c byte) bool { return c == '-' || c >= '0' && c <= '9' }

// takes asks encoding/json, which asks the type.
func takes(raw string, t reflect.Type) error {
	return json.Unmarshal([]byte(raw), reflect.New(t).Interface())
}

// own looks at a value for a type that decodes itself. If its method leaves a
// struct's fields to encoding/json, the field is named, at one level only.
func (f *finder) own(i int, t reflect.Type) (end int, bad *Fault) {
	end = f.end(i)
	err := takes(f.text[i:end], t)
	if err == nil {
		return end, nil
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Kind() == reflect.Struct && f.text[i] == '{' && !f.inner {
		_, inner := (&finder{text: f.text, shapes: f.shapes, inner: true}).object(i, t)
		if inner != nil && mismatch.Type != nil && inner.what == mismatched(f.text[inner.at], mismatch.Type) {
			return i, inner
		}
	}
	return i, f.mismatch(i, t)
}

// quoted looks at a value for a field whose tag has ",string".
func (f *finder) quoted(i int, t reflect.Type) (end int, bad *Fault) {
	i = plainjson.SpaceEnd(f.text, i)
	end = f.end(i)
	one := reflect.StructOf([]reflect.StructField{{Name: "F", Type: t, Tag: `json:"f,string"`}})
	if takes(`{"f":`+f.text[i:end]+`}`, one) != nil {
		bad = f.mismatch(i, t)
		bad.what += ` with the tag ",string"`
		return i, bad
	}
	return end, nil
}

func (f *finder) object(i int, t reflect.Type) (end int, bad *Fault) {
	i, more := first(f.text, i)
	for more {
		nameAt := i
		end, value, _ := nameEnd(f.text, i)
		name := f.text[i:end]
		if t.Kind() == reflect.Map {
			if i, bad = f.value(value, t.Elem()); bad == nil && !f.goesInto(name, t.Key()) {
				bad = &Fault{what: "a key does not go into " + short(t.Key().String()), at: nameAt}
			}
		} else {
			i, bad = f.member(value, nameAt, name, t)
		}
		if bad != nil {
			return i, bad
		}
		i, more, _ = next(f.text, i, '}')
	}
	return i, nil
}

// member looks at the value of a struct's member, whose key is at at.
func (f *finder) member(i, at int, key string, t reflect.Type) (end int, bad *Fault) {
	to := f.shape(t).field(unquote(key))
	switch {
	case to == nil && f.strict:
		// A name that no type has comes from the sender, like the keys of a map.
		return i, &Fault{what: "unknown field in " + short(t.String()), at: at}
	case to == nil:
		return f.end(i), nil
	case to.quoted:
		end, bad = f.quoted(i, to.typ)
	default:
		end, bad = f.value(i, to.typ)
	}
	if bad != nil {
		bad.path = append(bad.path, to.name)
	}
	return end, bad
}

// array looks at the elements, as many as there is room for.
func (f *finder) array(i int, t reflect.Type) (end int, bad *Fault) {
	i, more := first(f.text, i)
	for n := 0; more; n++ {
		if t.Kind() == reflect.Array && n >= t.Len() {
			i = f.end(i)
		} else if i, bad = f.value(i, t.Elem()); bad != nil {
			return i, bad
		}
		i, more, _ = next(f.text, i, ']')
	}
	return i, nil
}

// isKey reports whether encoding/json takes a type for keys.
func (f *finder) isKey(t reflect.Type) bool {
	k := t.Kind()
	return k >= reflect.Int && k <= reflect.Uintptr || k == reflect.String || f.shape(t).text
}

// goesInto asks encoding/json, which takes "+1" for an int as a key, and not as a value.
func (f *finder) goesInto(key string, t reflect.Type) bool {
	return t.Kind() == reflect.String && !f.shape(t).text || takes("{"+key+":null}", reflect.MapOf(t, reflect.TypeFor[any]())) == nil
}

// end returns where the value ends that the text has next, from i on.
func (f *finder) end(i int) int {
	end, _ := valueEnd(f.text, i, 0)
	return end
}

func (f *finder) mismatch(i int, t reflect.Type) *Fault {
	return &Fault{what: mismatched(f.text[i], t), at: i}
}

// mismatched says that a value with that first byte does not go into t.
func mismatched(first byte, t reflect.Type) string {
	kind := "number"
	switch first {
	case '{':
		kind = "object"
	case '[':
		kind = "array"
	case '"':
		kind = "string"
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			kind = "string that is not base64"
		}
	case 't', 'f':
		kind = "bool"
	case 'n':
		kind = "null"
	}
	return "a JSON " + kind + " does not go into " + short(t.String())
}

// unquote returns what a JSON string says.
func unquote(raw string) string {
	if !strings.Contains(raw, `\`) && utf8.ValidString(raw) {
		return raw[1 : len(raw)-1]
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // it is valid
	return s
}

// field is one of a struct as encoding/json sees it.
type field struct {
	name   string
	typ    reflect.Type
	quoted bool // its tag has ",string"
	tagged bool
	index  []int
}

// fieldsOf returns a struct's fields in order, including embedded ones. If several have the
// same name, the least deep one counts, then the tagged one, else none.
func fieldsOf(t reflect.Type) (fields []field) {
	named := map[string][]field{}
	addFields(named, t, nil, nil)
	for _, same := range named {
		slices.SortFunc(same, func(a, b field) int { return a.rank() - b.rank() })
		if len(same) == 1 || same[0].rank() < same[1].rank() {
			fields = append(fields, same[0])
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return fields
}

// rank is lower for a field that hides others of its name.
func (f field) rank() int {
	if f.tagged {
		return 2 * len(f.index)
	}
	return 2*len(f.index) + 1
}

// addFields adds the fields of t, which is embedded in the types outer at index. A type
// that embeds itself adds nothing again.
func addFields(named map[string][]field, t reflect.Type, outer []reflect.Type, index []int) {
	if slices.Contains(outer, t) {
		return
	}
	for i := range t.NumField() {
		f, embedded, ok := fieldAt(t.Field(i))
		switch f.index = append(slices.Clone(index), i); {
		case !ok:
		case embedded:
			addFields(named, f.typ, append(slices.Clone(outer), t), f.index)
		default:
			named[f.name] = append(named[f.name], f)
		}
	}
}

// fieldAt returns how encoding/json treats a Go field: as nothing, as a field, or as a
// struct whose fields belong to the outer one.
func fieldAt(sf reflect.StructField) (f field, embedded, ok bool) {
	to := sf.Type
	if to.Kind() == reflect.Pointer && to.Name() == "" {
		to = to.Elem()
	}
	tag := sf.Tag.Get("json")
	if tag == "-" || !sf.IsExported() && (!sf.Anonymous || to.Kind() != reflect.Struct) {
		return f, false, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = ""
	}
	if name == "" && sf.Anonymous && to.Kind() == reflect.Struct {
		return field{typ: to}, true, true
	}
	f = field{name: name, typ: sf.Type, tagged: name != ""}
	if !f.tagged {
		f.name = sf.Name
	}
	if k := to.Kind(); slices.Contains(strings.Split(options, ","), "string") {
		f.quoted = k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
	}
	return f, false, true
}

// validName reports whether encoding/json takes a name in a tag.
func validName(name string) bool {
	for _, c := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return name != ""
}
