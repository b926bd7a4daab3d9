package yamltext

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A Comment is the text behind a #.
type Comment struct {
	Line, Col int // of the #
	Text      string
	// Alone says that nothing is before it on its line.
	Alone bool
}

// Comments lists the comments that begin with a word.
func (t *Text) Comments(word string) (list []Comment) {
	if !bytes.Contains(t.src, []byte(word)) {
		return nil
	}
	inside := t.inScalars()
	for i, start := range t.starts {
		line := string(t.src[start:max(start, t.lineEnd(i+1))])
		for at := 0; ; at++ {
			next := strings.IndexByte(line[at:], '#')
			if next < 0 {
				break
			}
			at += next
			text := strings.TrimSpace(line[at+1:])
			if at > 0 && line[at-1] != ' ' && line[at-1] != '\t' || !strings.HasPrefix(text, word) || inside(i+1, start+at) {
				continue
			}
			list = append(list, Comment{i + 1, utf8.RuneCountInString(line[:at]) + 1, text, strings.TrimSpace(line[:at]) == ""})
			break
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
			text := t.src[t.starts[line-1]:max(t.starts[line-1], t.lineEnd(line))]
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
	if line < 1 || line > len(t.starts) {
		return false
	}
	return bytes.HasPrefix(bytes.TrimSpace(t.src[t.starts[line-1]:max(t.starts[line-1], t.lineEnd(line))]), []byte("#"))
}
