package template

import (
	"iter"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Value is what a property is, as far as that is known before the stack is deployed. An
// intrinsic function at its head is evaluated; what is below is evaluated when it is asked for.
type Value struct {
	Pos Pos   // the property's name's, or that of the property around an absent one
	Err error // why the value is not known. The methods return it as well

	st   *Stack
	name string
	node *yaml.Node // nil: absent or not known
}

// value evaluates what stands at n.
func (st *Stack) value(n *yaml.Node) Value {
	v := Value{Pos: st.at(n), st: st}
	got, err := try(func() *yaml.Node { return st.eval(n) })
	if v.Err = err; err == nil && !absent(got) {
		v.node = got
	}
	return v
}

// named is value for an entry of a mapping.
func (st *Stack) named(key, n *yaml.Node) Value {
	v := st.value(n).called(key.Value)
	v.Pos = st.at(key)
	return v
}

// called gives v a name for errors.
func (v Value) called(name string) Value {
	v.name = name
	return v
}

// Absent reports whether there is no such property, or it is AWS::NoValue.
func (v Value) Absent() bool { return v.node == nil && v.Err == nil }

// Name is the property's name, "" of an element of a list.
func (v Value) Name() string { return v.name }

// Unknown returns why the value is not known, or an element of it if it is a list.
func (v Value) Unknown() error {
	if v.node == nil || v.node.Kind != yaml.SequenceNode {
		return v.Err
	}
	_, err := v.Strs()
	return err
}

// Get returns the value at a path below v, absent when any part of it is.
func (v Value) Get(path ...string) Value {
	for _, name := range path {
		if v.node == nil {
			return v
		}
		if v.node.Kind != yaml.MappingNode {
			v.Err = v.st.errorf(v.node, "a mapping with %s is expected here, not %s", name, kind(v.node))
			v.node = nil
			return v
		}
		key, raw := entry(v.node, name)
		if raw == nil {
			v.node = nil
			return v
		}
		v = v.st.named(key, raw)
	}
	return v
}

// Entries iterates over the names and values of a mapping. Anything else has none.
func (v Value) Entries() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.node == nil || v.node.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(v.node.Content); i += 2 {
			if !yield(v.node.Content[i].Value, v.st.named(v.node.Content[i], v.node.Content[i+1])) {
				return
			}
		}
	}
}

// List returns the elements of a list, none when it is absent.
func (v Value) List() ([]Value, error) {
	nodes, err := evaluated(v, (*Stack).items)
	list := make([]Value, len(nodes))
	for i, n := range nodes {
		list[i] = v.st.value(n)
	}
	return list, err
}

// Str returns a scalar's text, "" when it is absent.
func (v Value) Str() (string, error) { return evaluated(v, (*Stack).str) }

// Strs returns the texts of a list.
func (v Value) Strs() ([]string, error) { return evaluated(v, (*Stack).strs) }

func evaluated[T any](v Value, as func(*Stack, *yaml.Node) T) (none T, err error) {
	if v.node == nil {
		return none, v.Err
	}
	return try(func() T { return as(v.st, v.node) })
}

// Int returns a whole number, and the given one when it is absent.
func (v Value) Int(otherwise int) (int, error) {
	return parse(v, otherwise, strconv.Atoi, "a whole number")
}

// Bool returns true or false, and the given one when it is absent.
func (v Value) Bool(otherwise bool) (bool, error) {
	return parse(v, otherwise, strconv.ParseBool, "true or false")
}

func parse[T any](v Value, otherwise T, as func(string) (T, error), must string) (T, error) {
	if v.node == nil {
		return otherwise, v.Err
	}
	s, err := v.Str()
	if err != nil {
		return otherwise, err
	}
	if out, err := as(strings.ToLower(strings.TrimSpace(s))); err == nil {
		return out, nil
	}
	return otherwise, v.st.errorf(v.node, "%s is %q; it must be %s", v.name, s, must)
}

// A reader reads values and keeps the first error, none if it is lenient.
type reader struct {
	err     error
	lenient bool
}

func (st *Stack) reader() reader { return reader{lenient: st.lenient} }

func read[T any](r *reader, v T, err error) T {
	if r.err == nil && !r.lenient {
		r.err = err
	}
	return v
}

func (r *reader) str(v Value) string {
	s, err := v.Str()
	return read(r, s, err)
}

func (r *reader) number(v Value, otherwise int) int {
	n, err := v.Int(otherwise)
	return read(r, n, err)
}

func (r *reader) truth(v Value, otherwise bool) bool {
	b, err := v.Bool(otherwise)
	return read(r, b, err)
}

// Set edits the value in the template's text. It returns false if the value is not written
// there as a plain scalar: if it is absent, or a function, or has an alias.
func (v Value) Set(text string) (edit Edit, ok bool) {
	if v.node == nil {
		return edit, false
	}
	return v.st.Text().Set(v.Pos.Line, v.Pos.Col, text)
}

// Remove takes the value out of the template's text, with its name.
func (v Value) Remove() (edit Edit, ok bool) {
	if v.node == nil {
		return edit, false
	}
	return v.st.Text().Remove(v.Pos.Line, v.Pos.Col)
}

// Add adds an entry to the mapping v in the template's text: an int, a bool, a string, or a
// list or mapping of one of them.
func (v Value) Add(name string, value any) (edit Edit, ok bool) {
	if v.node == nil || child(v.node, name) != nil { // it may be there as AWS::NoValue
		return edit, false
	}
	return v.st.Text().Add(v.Pos.Line, v.Pos.Col, "", name, value)
}

// Add adds a property to the resource in the template's text.
func (r Resource) Add(name string, value any) (edit Edit, ok bool) {
	if properties := r.value.Get("Properties"); !properties.Absent() {
		return properties.Add(name, value)
	}
	if child(r.value.node, "Properties") != nil {
		return edit, false
	}
	return r.value.st.Text().Add(r.Pos.Line, r.Pos.Col, "Properties", name, value)
}
