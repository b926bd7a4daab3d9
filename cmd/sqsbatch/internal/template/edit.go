package template

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Set edits the value of the key at a place: a scalar without a tag, on one line. The new
// value is in quotes if the old one is.
func (t *Text) Set(line, col int, value string) (Edit, bool) {
	e := t.entries[place{line, col}]
	if e == nil || e.shared || !literal(e.value) {
		return Edit{}, false
	}
	start, ok := t.offset(e.value.Line, e.value.Column)
	end, certain := t.end(e.value)
	if !ok || !certain || end <= start || bytes.ContainsAny(t.src[start:end], "\r\n") {
		return Edit{}, false
	}
	if quote := t.src[start]; e.value.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		value = string(quote) + value + string(quote)
	}
	return Edit{start, end, value}, true
}

// literal reports whether a node is a scalar as it is written.
func literal(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style&yaml.TaggedStyle == 0 && !strings.HasPrefix(n.Tag, "!!null") &&
		(n.Tag == "" || strings.HasPrefix(n.Tag, "!!")) && n.Anchor == ""
}

// Add adds an entry to the mapping that is the value of the key at a place, or to one of the
// given names in it, which is added as well. A value is an int, a bool, a string, a []string,
// or a map with one of them.
func (t *Text) Add(line, col int, under string, name string, value any) (Edit, bool) {
	e := t.entries[place{line, col}]
	if e == nil || e.shared || !mapping(e.value) {
		return Edit{}, false
	}
	if e.value.Style&yaml.FlowStyle != 0 {
		return t.addFlow(e.value, under, name, value)
	}
	indent := strings.Repeat(" ", e.value.Column-1)
	at, eol, ok := t.lineFor(e.value)
	if !ok {
		return Edit{}, false
	}
	text := name + ": " + flow(value, false)
	if under != "" {
		step := strings.Repeat(" ", max(2, e.value.Column-e.key.Column))
		text = under + ":" + eol + indent + step + text
	}
	if at > 0 && at == len(t.src) && !bytes.HasSuffix(t.src, []byte(eol)) {
		return Edit{at, at, eol + indent + text}, true
	}
	return Edit{at, at, indent + text + eol}, true
}

// mapping reports whether a node is a mapping with entries of its own, no function.
func mapping(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 || n.Anchor != "" || strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return false
	}
	key := n.Content[0].Value
	return key != "Ref" && !strings.HasPrefix(key, "Fn::") && key != "<<"
}

// lineFor finds the line start at which a line of a block mapping can be added: behind its
// last entry that is on one line, else before its first.
func (t *Text) lineFor(n *yaml.Node) (at int, eol string, ok bool) {
	for i := len(n.Content) - 2; i >= 0; i -= 2 {
		key, value := n.Content[i], n.Content[i+1]
		end, certain := t.end(value)
		start, in := t.offset(key.Line, key.Column)
		if !in || len(bytes.Trim(t.src[t.starts[key.Line-1]:start], " -")) > 0 {
			continue // a ? or a tag is before the key
		}
		if value.Line == key.Line && certain && end <= t.lineEnd(key.Line) && value.Kind != 0 && value.Tag != "!!null" {
			return t.next(key.Line), t.eol(key.Line), true
		}
	}
	first := n.Content[0]
	start, in := t.offset(first.Line, first.Column)
	if !in || len(bytes.TrimSpace(t.src[t.starts[first.Line-1]:start])) > 0 {
		return 0, "", false
	}
	return t.starts[first.Line-1], t.eol(first.Line), true
}

// eol is how a line ends.
func (t *Text) eol(line int) string {
	if end := string(t.src[t.lineEnd(line):t.next(line)]); end != "" || line == 1 {
		return cmp.Or(end, "\n")
	}
	return t.eol(line - 1)
}

// addFlow adds an entry behind the first of a {mapping}, on a line of its own where the
// entries have that.
func (t *Text) addFlow(n *yaml.Node, under, name string, value any) (Edit, bool) {
	index := min(2, len(n.Content)-2)
	next := n.Content[index]
	at, ok := t.offset(next.Line, next.Column)
	if !ok || !t.follows(at, "{,") {
		return Edit{}, false
	}
	quoted := next.Style&yaml.DoubleQuotedStyle != 0
	if under != "" {
		name, value = under, map[string]any{name: value}
	}
	text := flow(map[string]any{name: value}, quoted)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}") + ","
	if indent := t.src[t.starts[next.Line-1]:at]; len(bytes.TrimSpace(indent)) == 0 {
		return Edit{at, at, text + t.eol(next.Line) + string(indent)}, true
	}
	return Edit{at, at, text + " "}, true
}

// follows reports whether one of some characters is before an offset, with spaces and line ends
// between them. It is not if the key has a ? or a tag.
func (t *Text) follows(at int, characters string) bool {
	before := bytes.TrimRight(t.src[:at], " \t\r\n")
	return len(before) > 0 && strings.IndexByte(characters, before[len(before)-1]) >= 0
}

// Remove removes the entry with the key at a place: one line of a block mapping, or an
// entry of a {mapping}, that is not its only one. The value is a scalar without a tag.
func (t *Text) Remove(line, col int) (Edit, bool) {
	e := t.entries[place{line, col}]
	if e == nil || e.shared || !literal(e.value) || e.value.Line != line || len(e.parent.Content) < 4 {
		return Edit{}, false
	}
	start, ok := t.offset(line, col)
	end, certain := t.end(e.value)
	if !ok || !certain || end > t.lineEnd(line) {
		return Edit{}, false
	}
	if e.parent.Style&yaml.FlowStyle != 0 {
		return t.removeFlow(e, start, end)
	}
	if len(bytes.TrimSpace(t.src[t.starts[line-1]:start])) > 0 {
		return Edit{}, false
	}
	return Edit{t.starts[line-1], t.next(line), ""}, true
}

// removeFlow removes an entry with the comma behind it, or the last with the one before it.
func (t *Text) removeFlow(e *keyed, start, end int) (Edit, bool) {
	if e.index+2 < len(e.parent.Content) {
		next := e.parent.Content[e.index+2]
		at, ok := t.offset(next.Line, next.Column)
		return Edit{start, at, ""}, ok && at > start && t.follows(start, "{,") && t.follows(at, ",")
	}
	before := bytes.TrimRight(t.src[:start], " \t\r\n")
	if !bytes.HasSuffix(before, []byte(",")) {
		return Edit{}, false
	}
	return Edit{len(before) - 1, end, ""}, true
}

// Flow writes a value as it is added to a block mapping: {name: value}, [list] or scalar.
func Flow(value any) string { return flow(value, false) }

// flow writes a value as {mapping}, [list] or scalar: as JSON if quoted.
func flow(value any, quoted bool) string {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			return "{" + flow(name, quoted) + ": " + flow(inner, quoted) + "}"
		}
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = flow(s, quoted)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		if quoted {
			text, _ := json.Marshal(v)
			return string(text)
		}
		return v
	}
	return fmt.Sprint(value)
}
