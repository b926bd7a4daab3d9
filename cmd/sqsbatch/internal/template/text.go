package template

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Text is a YAML or JSON file with its nodes. It edits the file where the nodes stand, and leaves
// the rest as it is: comments, indentation, quotes, line ends.
//
//	t := newText(root, src)
//	edit, ok := t.Set(12, 7, "180") // the value of the key at line 12, column 7
//
// An edit is refused, with false, where its result is not certain: of a value with a tag
// (!Ref), an alias, an anchor around it, or a text that goes over several lines.
type Text struct {
	src     []byte
	starts  []int            // offset of each line
	entries map[place]*keyed // the keys of all mappings
	quoted  []*yaml.Node     // scalars that may contain what looks like a comment
	blocks  []block
	columns map[int][]int // by line: the offset of each columnStep-th character
}

// columnStep is how many characters are between the offsets in Text.columns. A file may be one
// long line.
const columnStep = 256

type place struct{ line, col int }

type keyed struct {
	key, value *yaml.Node
	parent     *yaml.Node // the mapping
	index      int        // of the key in parent.Content
	shared     bool       // an alias may refer to it
}

// block is a block scalar (| or >) with the column of what it belongs to.
type block struct {
	node   *yaml.Node
	column int
}

// An Edit replaces the bytes from Start up to End by New.
type Edit struct {
	Start, End int
	New        string
}

// newText reads the places of all nodes below root in src.
func newText(root *yaml.Node, src []byte) *Text {
	t := &Text{src: src, entries: map[place]*keyed{}, columns: map[int][]int{}}
	t.lines()
	t.walk(root, false, 0)
	return t
}

// lines finds the lines' starts. YAML has more line ends than \n.
func (t *Text) lines() {
	start := 0
	if bytes.HasPrefix(t.src, []byte("\uFEFF")) {
		start = 3
	}
	t.starts = []int{start}
	column := 0
	for i := start; i < len(t.src); {
		if column++; column > columnStep && column%columnStep == 1 {
			t.columns[len(t.starts)] = append(t.columns[len(t.starts)], i)
		}
		r, size := utf8.DecodeRune(t.src[i:])
		i += size
		switch r {
		case '\r':
			if i < len(t.src) && t.src[i] == '\n' {
				i++
			}
		case '\n', '\u0085', '\u2028', '\u2029':
		default:
			continue
		}
		t.starts, column = append(t.starts, i), 0
	}
}

// walk records the entries below n. It does not follow aliases.
func (t *Text) walk(n *yaml.Node, shared bool, column int) {
	shared = shared || n.Anchor != ""
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		t.blocks = append(t.blocks, block{n, column})
	case n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "#"):
		t.quoted = append(t.quoted, n)
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			t.entries[place{key.Line, key.Column}] = &keyed{key, value, n, i, shared}
			t.walk(key, shared, key.Column)
			t.walk(value, shared, key.Column)
		}
		return
	}
	for _, c := range n.Content {
		t.walk(c, shared, n.Column)
	}
}

// offset is the place of a line and a column in characters, or false.
func (t *Text) offset(line, col int) (int, bool) {
	if line < 1 || line > len(t.starts) || col < 1 {
		return 0, false
	}
	at := t.starts[line-1]
	known := t.columns[line]
	if i := min((col-1)/columnStep, len(known)); i > 0 {
		at, col = known[i-1], col-i*columnStep
	}
	for range col - 1 {
		_, size := utf8.DecodeRune(t.src[at:])
		if size == 0 {
			return 0, false
		}
		at += size
	}
	return at, true
}

// next is the offset behind a line and the characters that end it.
func (t *Text) next(line int) int {
	if line < len(t.starts) {
		return t.starts[line]
	}
	return len(t.src)
}

// line is the text of a line without the characters that end it.
func (t *Text) line(line int) []byte {
	return bytes.TrimRight(t.src[t.starts[line-1]:t.next(line)], "\r\n\u0085\u2028\u2029")
}

// lineEnd is the offset of a line's end, without the characters that end it.
func (t *Text) lineEnd(line int) int { return t.starts[line-1] + len(t.line(line)) }

// end returns the offset behind a node, false if that is not certain.
func (t *Text) end(n *yaml.Node) (int, bool) {
	at, ok := t.offset(n.Line, n.Column)
	if !ok {
		return 0, false
	}
	at = t.behindProperties(n, at)
	rest := t.src[at:]
	switch {
	case n.Kind == yaml.AliasNode:
		return at + 1 + len(n.Value), bytes.HasPrefix(rest, []byte("*"+n.Value))
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		length := quotedLength(rest)
		return at + length, length > 0
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0:
		return at + len(n.Value), bytes.HasPrefix(rest, []byte(n.Value))
	case n.Style&yaml.FlowStyle != 0:
		return t.flowEnd(n, at)
	}
	return 0, false
}

// behindProperties skips a node's tag and anchor.
func (t *Text) behindProperties(n *yaml.Node, at int) int {
	for n.Kind != yaml.AliasNode && at < len(t.src) && (t.src[at] == '!' || t.src[at] == '&') {
		for at < len(t.src) && !strings.ContainsRune(" \t\r\n", rune(t.src[at])) {
			at++
		}
		for at < len(t.src) && (t.src[at] == ' ' || t.src[at] == '\t') {
			at++
		}
	}
	return at
}

// quotedLength is the length of the quoted text that b begins with, 0 if it does not end.
func quotedLength(b []byte) int {
	if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch {
		case b[i] == '\\' && b[0] == '"':
			i++
		case b[i] != b[0]:
		case b[0] == '\'' && i+1 < len(b) && b[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// flowEnd is the end of a [list] or a {mapping}: a bracket behind the last of its nodes.
func (t *Text) flowEnd(n *yaml.Node, at int) (int, bool) {
	at++
	if len(n.Content) > 0 {
		last, ok := t.end(n.Content[len(n.Content)-1])
		if !ok {
			return 0, false
		}
		at = max(at, last)
	}
	for ; at < len(t.src); at++ {
		switch t.src[at] {
		case ' ', '\t', '\r', '\n', ',':
		case ']', '}':
			return at + 1, true
		default:
			return 0, false
		}
	}
	return 0, false
}

// EndCol is the column behind the text that is marked for the key at a place: the key and
// its value, or the key alone if the value goes over several lines. For another place it is
// the column behind a comment or a word.
func (t *Text) EndCol(line, col int) int {
	start, ok := t.offset(line, col)
	if !ok {
		return col
	}
	end := start
	if e := t.entries[place{line, col}]; e != nil {
		end, _ = t.end(e.key)
		if last, ok := t.end(e.value); ok && e.value.Line == line && last <= t.lineEnd(line) && last > end {
			end = last
		}
	}
	if bytes.HasPrefix(t.src[start:], []byte("#")) {
		end = start + len(bytes.TrimRight(t.src[start:max(start, t.lineEnd(line))], " \t"))
	}
	if end <= start {
		end = max(start, t.lineEnd(line))
		if i := bytes.IndexAny(t.src[start:end], " \t,]}"); i >= 0 {
			end = start + i
		}
	}
	return col + utf8.RuneCount(t.src[start:end])
}

// A Comment is the text behind a #.
type Comment struct {
	Line, Col int // of the #
	Text      string
	Alone     bool // nothing is before it on its line
}

// Comments lists the comments that begin with a word.
func (t *Text) Comments(word string) (list []Comment) {
	if !bytes.Contains(t.src, []byte(word)) {
		return nil
	}
	inside := t.inScalars()
	for i, start := range t.starts {
		line := string(t.line(i + 1))
		for at := range len(line) {
			if line[at] != '#' || at > 0 && line[at-1] != ' ' && line[at-1] != '\t' || inside(i+1, start+at) {
				continue
			}
			if text := strings.TrimSpace(line[at+1:]); strings.HasPrefix(text, word) {
				list = append(list, Comment{i + 1, utf8.RuneCountInString(line[:at]) + 1, text, strings.TrimSpace(line[:at]) == ""})
				break
			}
		}
	}
	return list
}

// inScalars returns a function that says whether an offset on a line is inside of a scalar.
func (t *Text) inScalars() func(line, offset int) bool {
	type span struct{ from, to int }
	var spans []span
	lines := map[int]bool{}
	for _, n := range t.quoted {
		from, ok := t.offset(n.Line, n.Column)
		if to, certain := t.end(n); ok && certain {
			spans = append(spans, span{from, to})
		}
	}
	for _, b := range t.blocks {
		for line := b.node.Line + 1; line <= len(t.starts); line++ {
			text := t.line(line)
			indent := len(text) - len(bytes.TrimLeft(text, " "))
			if len(text) > indent && indent < b.column {
				break
			}
			lines[line] = true
		}
	}
	return func(line, offset int) bool {
		if lines[line] {
			return true
		}
		for _, s := range spans {
			if s.from <= offset && offset < s.to {
				return true
			}
		}
		return false
	}
}

// Commented reports whether a line has a comment and nothing else.
func (t *Text) Commented(line int) bool {
	return line >= 1 && line <= len(t.starts) && bytes.HasPrefix(bytes.TrimSpace(t.line(line)), []byte("#"))
}
