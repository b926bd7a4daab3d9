package template

import "github.com/sqsbatch/sqsbatch/internal/yamltext"

// Set edits the value in the template's text. It returns false if the value is not written
// there as a plain scalar: if it is absent, or a function, or has an alias.
func (v Value) Set(text string) (yamltext.Edit, bool) {
	if v.node == nil {
		return yamltext.Edit{}, false
	}
	return v.st.Text().Set(v.Pos.Line, v.Pos.Col, text)
}

// Remove takes the value out of the template's text, with its name.
func (v Value) Remove() (yamltext.Edit, bool) {
	if v.node == nil {
		return yamltext.Edit{}, false
	}
	return v.st.Text().Remove(v.Pos.Line, v.Pos.Col)
}

// Add adds an entry to the mapping v in the template's text: an int, a bool, a string, or a
// list or mapping of one of them.
func (v Value) Add(name string, value any) (yamltext.Edit, bool) {
	if v.node == nil || child(v.node, name) != nil { // it may be there as AWS::NoValue
		return yamltext.Edit{}, false
	}
	return v.st.Text().Add(v.Pos.Line, v.Pos.Col, "", name, value)
}

// Add adds a property to the resource in the template's text.
func (r Resource) Add(name string, value any) (yamltext.Edit, bool) {
	if properties := r.value.Get("Properties"); !properties.Absent() {
		return properties.Add(name, value)
	}
	if child(r.value.node, "Properties") != nil {
		return yamltext.Edit{}, false
	}
	return r.value.st.Text().Add(r.Pos.Line, r.Pos.Col, "Properties", name, value)
}
