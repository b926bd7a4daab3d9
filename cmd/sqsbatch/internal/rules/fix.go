package rules

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/linediff"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

// A Fix changes the template so that a finding is gone, in the file's own style.
type Fix struct {
	Edit template.Edit
	// Says tells in a few words what the edit does: "set VisibilityTimeout to 180".
	Says string
	// Name and Value are the setting: an int, a bool, a string, or a list or mapping of one of
	// them. A nil Value removes it.
	Name  string
	Value any
}

// fixed is the fix of an edit, nil if there is no such edit.
func fixed(edit template.Edit, ok bool, says, name string, value any) *Fix {
	if !ok {
		return nil
	}
	return &Fix{Edit: edit, Says: says, Name: name, Value: value}
}

// setting is the fix that gives an entry of a mapping a value, whether it is there or not.
func setting(in template.Value, name string, value any) *Fix {
	if v := in.Get(name); !v.Absent() {
		edit, ok := v.Set(fmt.Sprint(value))
		return fixed(edit, ok, fmt.Sprintf("set %s to %v", name, value), name, value)
	}
	edit, ok := in.Add(name, value)
	return fixed(edit, ok, fmt.Sprintf("add %s: %s", name, template.Flow(value)), name, value)
}

// property is setting for a property of a resource, which may have no properties.
func property(of template.Resource, name string, value any) *Fix {
	if of.Get().Absent() {
		edit, ok := of.Add(name, value)
		return fixed(edit, ok, fmt.Sprintf("add %s: %s", name, template.Flow(value)), name, value)
	}
	return setting(of.Get(), name, value)
}

// Apply returns src with the fix. It returns an error if src is not the file that was checked.
func (f *Fix) Apply(src []byte) ([]byte, error) {
	if err := f.within(src); err != nil {
		return nil, err
	}
	out := slices.Concat(src[:f.Edit.Start], []byte(f.Edit.New), src[f.Edit.End:])
	var doc yaml.Node
	if err := yaml.Unmarshal(out, &doc); err != nil {
		return nil, fmt.Errorf("the fix is for another text: %w", err)
	}
	return out, nil
}

// within returns an error if the edit is not one of src.
func (f *Fix) within(src []byte) error {
	if e := f.Edit; e.Start < 0 || e.End < e.Start || e.End > len(src) {
		return fmt.Errorf("the fix is for another text: it changes bytes %d to %d of %d", e.Start, e.End, len(src))
	}
	return nil
}

// maxDiff bounds the text that a fix's diff compares. A file may be one long line.
const maxDiff = 16 << 10

// Diff returns the fix as a unified diff of the file at path, "" if it is for another text or its
// lines are too long to read. It compares the lines around the edit only: a template may have a
// finding in each resource.
func (f *Fix) Diff(path string, src []byte) string {
	if f.within(src) != nil {
		return ""
	}
	from, to := f.Edit.Start, f.Edit.End
	for range context + 1 {
		from = bytes.LastIndexByte(src[:max(0, from-1)], '\n') + 1
		if i := bytes.IndexByte(src[to:], '\n'); i >= 0 {
			to += i + 1
		} else {
			to = len(src)
		}
	}
	if to-from > maxDiff {
		return ""
	}
	after := slices.Concat(src[from:f.Edit.Start], []byte(f.Edit.New), src[f.Edit.End:to])
	return diff(path, src[from:to], after, bytes.Count(src[:from], []byte("\n")))
}

// context is the number of equal lines that a diff shows around a change.
const context = 3

// diff returns a unified diff of parts of two texts, that have a number of lines above them, ""
// if they are equal.
func diff(path string, from, to []byte, above int) string {
	lines := linediff.Compare(slices.Collect(strings.Lines(string(from))), slices.Collect(strings.Lines(string(to))))
	shown := make([]bool, len(lines))
	for i, l := range lines {
		for near := max(0, i-context); l.Sign != ' ' && near < min(len(lines), i+context+1); near++ {
			shown[near] = true
		}
	}
	if !slices.Contains(shown, true) {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", path, path)
	before, after := above, above // lines above i in each text
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && shown[end] == shown[i] {
			end++
		}
		old, now := count(lines[i:end], '+'), count(lines[i:end], '-')
		if shown[i] {
			fmt.Fprintf(&out, "@@ -%s +%s @@\n", extent(before, old), extent(after, now))
			for _, l := range lines[i:end] {
				text, ended := strings.CutSuffix(l.Text, "\n")
				out.WriteString(string(l.Sign) + text + "\n")
				if !ended {
					out.WriteString("\\ No newline at end of file\n")
				}
			}
		}
		i, before, after = end, before+old, after+now
	}
	return out.String()
}

// count is the number of lines without those of a sign.
func count(lines []linediff.Line, without byte) (n int) {
	for _, l := range lines {
		if l.Sign != without {
			n++
		}
	}
	return n
}

// extent is a range of a hunk's header. A range without lines begins at the line before it.
func extent(before, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}
