package lint

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/internal/yamltext"
)

// A Fix changes the template so that a finding is gone, in the file's own style.
type Fix struct {
	// Edits do not overlap, and are in the file's order.
	Edits []Edit
	// Says tells in a few words what the edits do: "set VisibilityTimeout to 180".
	Says string
}

// An Edit replaces the bytes from Start up to End of the file by New.
type Edit = yamltext.Edit

// fixed is a fix of one edit, nil if there is no such edit.
func fixed(edit Edit, ok bool, format string, args ...any) *Fix {
	if !ok {
		return nil
	}
	return &Fix{Edits: []Edit{edit}, Says: fmt.Sprintf(format, args...)}
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
func (f *Fix) Apply(src []byte) ([]byte, error) { return edit(src, f.Edits) }

func edit(src []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	var out []byte
	last := 0
	for _, e := range edits {
		if e.Start < last || e.End < e.Start || e.End > len(src) {
			return nil, fmt.Errorf("the fix is for another text: it changes bytes %d to %d of %d", e.Start, e.End, len(src))
		}
		out = append(append(out, src[last:e.Start]...), e.New...)
		last = e.End
	}
	out = append(out, src[last:]...)
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
