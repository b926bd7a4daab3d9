package jsonbody

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

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
