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
func fieldsOf(t reflect.Type) []field {
	var all []field
	seen := map[reflect.Type]bool{} // at a level before
	taken := map[string]bool{}
	for level := []field{{typ: t}}; len(level) > 0; {
		var next []field
		named := map[string][]field{}
		for _, outer := range level {
			if seen[outer.typ] {
				continue
			}
			for i := range outer.typ.NumField() {
				f, embedded, ok := fieldAt(outer.typ.Field(i))
				if !ok {
					continue
				}
				f.index = append(slices.Clone(outer.index), i)
				if embedded {
					next = append(next, f)
				} else if !taken[f.name] {
					named[f.name] = append(named[f.name], f)
				}
			}
		}
		for _, outer := range level {
			seen[outer.typ] = true
		}
		for name, those := range named {
			taken[name] = true
			if tagged := slices.DeleteFunc(slices.Clone(those), func(f field) bool { return !f.tagged }); len(tagged) > 0 {
				those = tagged
			}
			if len(those) == 1 {
				all = append(all, those[0])
			}
		}
		level = next
	}
	slices.SortFunc(all, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return all
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
