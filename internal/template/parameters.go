package template

// HasParameter reports whether the template declares a parameter.
func (t *Template) HasParameter(name string) bool {
	return child(child(t.root, "Parameters"), name) != nil
}
