package lint

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/yamltext"
)

// A Fix changes the template so that a finding is gone, in the file's own style.
type Fix struct {
	Edit Edit
	// Says tells in a few words what the edit does: "set VisibilityTimeout to 180".
	Says string
}

// An Edit replaces the bytes from Start up to End of the file by New.
type Edit = yamltext.Edit

// fixed is the fix of an edit, nil if there is no such edit.
func fixed(edit Edit, ok bool, format string, args ...any) *Fix {
	if !ok {
		return nil
	}
	return &Fix{Edit: edit, Says: fmt.Sprintf(format, args...)}
}

// setting is the fix that gives an entry of a mapping a value, whether it is there or not.
func setting(in template.Value, name string, value any) *Fix {
	if v := in.Get(name); !v.Absent() {
		edit, ok := v.Set(fmt.Sprint(value))
		return fixed(edit, ok, "set %s to %v", name, value)
	}
	edit, ok := in.Add(name, value)
	return fixed(edit, ok, "add %s: %s", name, yamltext.Flow(value))
}

// property is setting for a property of a resource, which may have no properties.
func property(of template.Resource, name string, value any) *Fix {
	if of.Get().Absent() {
		edit, ok := of.Add(name, value)
		return fixed(edit, ok, "add %s: %s", name, yamltext.Flow(value))
	}
	return setting(of.Get(), name, value)
}

// Apply returns src with the fix. It returns an error if src is not the file that was
// checked.
func (f *Fix) Apply(src []byte) ([]byte, error) {
	e := f.Edit
	if e.Start < 0 || e.End < e.Start || e.End > len(src) {
		return nil, fmt.Errorf("the fix is for another text: it changes bytes %d to %d of %d", e.Start, e.End, len(src))
	}
	out := slices.Concat(src[:e.Start], []byte(e.New), src[e.End:])
	var doc yaml.Node
	if err := yaml.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("the fix is for another text: %w", err)
	}
	return out, nil
}

// Diff returns the fix as a unified diff of the file at path, "" if it is for another text.
func (f *Fix) Diff(path string, src []byte) string {
	out, err := f.Apply(src)
	if err != nil {
		return ""
	}
	return Diff(path, src, out)
}
