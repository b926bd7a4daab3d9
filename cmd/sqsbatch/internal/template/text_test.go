package template_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
)

func nodes(t testing.TB, text string) (*template.Text, *yaml.Node) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return template.NewText(doc.Content[0], []byte(text)), doc.Content[0]
}

// place finds a key: its line and its column.
func place(n *yaml.Node, key string) (line, col int) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && c.Value == key {
			return c.Line, c.Column
		}
		if line, col = place(c, key); line > 0 {
			return line, col
		}
	}
	return 0, 0
}

// What is marked is a key with its value, as far as both are on one line.
func TestEndCol(t *testing.T) {
	for text, want := range map[string]string{
		"k: 1":                          "k: 1",
		"k: 1 # one":                    "k: 1",
		"k: !Ref A # a":                 "k: !Ref A",
		"k: 'it''s' # a":                "k: 'it''s'",
		"k: \"a\\\"b\" ":                "k: \"a\\\"b\"",
		"{a: b, k: [1, {x: y}] , c: d}": "k: [1, {x: y}]",
		"\"k\": {\"a\": [ ]}":           "\"k\": {\"a\": [ ]}",
		"k:\n  a: 1":                    "k",
		"k: |\n  a":                     "k",
		"k: a\n  b":                     "k",
		"k: [a,\n  b]":                  "k",
		"a: &x 1\nk: *x # an alias":     "k: *x",
		"ä: {ö: ü, k: ß}":               "k: ß",
		"\uFEFFk: 1":                    "k: 1",
		"a: 1\rk: 2":                    "k: 2",
		"a: 1\u2028k: 2":                "k: 2",
		"k:":                            "k:",
		"k: &a !!int 5":                 "k: &a !!int 5",
	} {
		doc, root := nodes(t, text)
		line, col := place(root, "k")
		lines := strings.FieldsFunc(strings.TrimPrefix(text, "\uFEFF"), func(r rune) bool { return strings.ContainsRune("\n\r\u2028", r) })
		runes := []rune(lines[line-1])
		if got := string(runes[col-1 : doc.EndCol(line, col)-1]); got != want {
			t.Errorf("%q: marks %q, want %q", text, got, want)
		}
	}
}

func TestComments(t *testing.T) {
	doc, _ := nodes(t, "a: 1 # x one\n# x two\nb: '# x three'\nc: |\n  # x four\nd: e#x five\nf: g # y\n  # x six\n")
	var got []string
	for _, c := range doc.Comments("x") {
		got = append(got, fmt.Sprint(c.Line, ":", c.Col, " ", c.Text, " ", c.Alone))
	}
	if want := []string{"1:6 x one false", "2:1 x two true", "8:3 x six true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzEdits: an edit of any place of any file leaves a file that can be read, and does what it
// says and nothing else.
func FuzzEdits(f *testing.F) {
	for _, s := range []string{"a: {b: 1, c: [x]}\nd:\n  e: 'f' # g\n  h: >-\n    i\n", "{\"a\": {\n  \"b\": \"1\"\n}}", "a: &x {b: 1}\nc: *x\n", "- a: 1\n  b: 2\n- {c: 3, d: 4}\n", "a:\r\n  b: 1\r\n  c: 2", "? a\n: b\nc: d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(text), &doc) != nil || doc.Kind != yaml.DocumentNode || !plain(doc.Content[0]) {
			return
		}
		edited := template.NewText(doc.Content[0], []byte(text))
		root := doc.Content[0]
		each(root, func(parent *yaml.Node, i int) {
			key, value, all := parent.Content[i], parent.Content[i+1], parent.Content
			if e, ok := edited.Set(key.Line, key.Column, "777"); ok {
				old := value.Value
				value.Value = "777"
				want := meaning(root)
				value.Value = old
				same(t, text, e, want)
			}
			if e, ok := edited.Remove(key.Line, key.Column); ok {
				parent.Content = slices.Delete(slices.Clone(all), i, i+2)
				want := meaning(root)
				parent.Content = all
				same(t, text, e, want)
			}
			if e, ok := edited.Add(key.Line, key.Column, "", "NEW", 777); ok {
				old := value.Content
				value.Content = append(slices.Clone(old), &yaml.Node{Kind: yaml.ScalarNode, Value: "NEW"}, &yaml.Node{Kind: yaml.ScalarNode, Value: "777"})
				want := meaning(root)
				value.Content = old
				same(t, text, e, want)
			}
		})
	})
}

// plain reports whether a document has no key that is there twice, or is itself no scalar.
func plain(n *yaml.Node) bool {
	seen := map[string]bool{}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if seen[c.Value] || c.Kind != yaml.ScalarNode || c.Value == "NEW" {
				return false
			}
			seen[c.Value] = true
		}
		if !plain(c) {
			return false
		}
	}
	return true
}

func each(n *yaml.Node, do func(parent *yaml.Node, i int)) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			do(n, i)
		}
		each(c, do)
	}
}

// same requires that the edited text means what is wanted.
func same(t *testing.T, text string, e template.Edit, want string) {
	t.Helper()
	out := text[:e.Start] + e.New + text[e.End:]
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatalf("%v\nfrom %q\nto   %q", err, text, out)
	}
	if got := meaning(doc.Content[0]); got != want {
		t.Fatalf("got %s\nwant %s\nfrom %q\nto   %q", got, want, text, out)
	}
}

// meaning is a document's content, entries sorted.
func meaning(n *yaml.Node) string {
	switch n.Kind {
	case yaml.AliasNode:
		return "*" + n.Value
	case yaml.ScalarNode:
		return fmt.Sprintf("%q", n.Value)
	}
	var parts []string
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			parts[len(parts)-1] += ":" + meaning(c)
		} else {
			parts = append(parts, meaning(c))
		}
	}
	if n.Kind == yaml.MappingNode {
		slices.Sort(parts)
	}
	return fmt.Sprint(n.Kind, parts)
}

// Each key of a file of one long line, with characters of several bytes, has its place.
func TestOneLongLine_HasPlaces(t *testing.T) {
	var src strings.Builder
	src.WriteString("{")
	for i := range 300 {
		fmt.Fprintf(&src, `"é%d": "ü", `, i)
	}
	src.WriteString(`"z": 1}`)
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(src.String()), &doc); err != nil {
		t.Fatal(err)
	}
	text := template.NewText(doc.Content[0], []byte(src.String()))
	for i := 0; i < len(doc.Content[0].Content); i += 2 {
		key := doc.Content[0].Content[i]
		edit, ok := text.Set(key.Line, key.Column, "new")
		if before := src.String()[:edit.Start]; !ok || !strings.HasSuffix(before, `"`+key.Value+`": `) {
			t.Fatalf("%s: %v, %+v", key.Value, ok, edit)
		}
	}
}
