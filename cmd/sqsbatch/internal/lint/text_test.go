package lint

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/rules"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/template"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
)

// The carets stand below the text that is wrong, whatever the line holds.
func TestExcerpt_Carets(t *testing.T) {
	for _, tt := range []struct {
		line     string
		col, end int
		want     string // the part of the line above the carets
	}{
		{"  BatchSize: 11", 3, 12, "BatchSize"},
		{"  BatchSize: 11", 14, 16, "11"},
		{"  BatchSize: 11", 3, 0, "B"},
		{"  BatchSize: 11", 14, 99, "11"},
		{"  ä€😀: 11 # x", 3, 6, "ä€😀"},
		{"\t\"A\": 1,\r", 2, 5, `"A"`},
		{"a\x1b[2Jb: 1", 1, 7, `a\u001b[2Jb`},
	} {
		f := &file{src: []byte("first\n" + tt.line + "\nlast\n")}
		w := &writer{}
		w.excerpt(f, rules.Finding{Pos: template.Pos{Line: 2, Col: tt.col}, EndCol: tt.end})
		text, carets, ok := strings.Cut(strings.TrimSuffix(w.String(), "\n"), "\n")
		if !ok {
			t.Fatalf("%q", w.String())
		}
		at := strings.IndexByte(carets, '^')
		marked := string([]rune(text)[at : at+strings.Count(carets, "^")])
		if marked != tt.want || utf8.RuneCountInString(carets) != at+strings.Count(carets, "^") {
			t.Errorf("%q from %d to %d marks %q\n%s", tt.line, tt.col, tt.end, marked, w.String())
		}
	}
}

// A place without a line, or that is not in the file, has no excerpt.
func TestExcerpt_NoLine(t *testing.T) {
	for _, at := range []template.Pos{{}, {Line: 9, Col: 1}, {Line: 1}} {
		w := &writer{}
		if w.excerpt(&file{src: []byte("a: 1\n")}, rules.Finding{Pos: at}); w.Len() > 0 {
			t.Errorf("%v: %q", at, w.String())
		}
	}
}

// On a terminal lines fit, and colours say how bad a finding is.
func TestText_OnATerminal(t *testing.T) {
	term := view.Terminal{Colour: true, Width: func() int { return 60 }}
	f := &file{input: input{path: "t.yaml", stack: "shop"}, src: []byte("a: 1\n"), judged: judged{fingerprints: []string{"a:1"}, Result: rules.Result{Findings: []rules.Finding{{
		Info: rules.Info{ID: "SB1", Severity: rules.Error, Why: strings.Repeat("some words ", 20), Page: "A page"},
		Pos:  template.Pos{File: "t.yaml", Line: 1, Col: 1}, EndCol: 2, Message: "bad",
	}}}}}
	var out strings.Builder
	golden.OK(t, writeText(show.To(&out), term, &options{severity: "warning"}, []*file{f}))
	text := out.String()
	golden.Says(t, "the output", text, "\x1b[31merror SB1\x1b[0m bad", "[stack shop]", "\x1b[31m^\x1b[0m\n", "\x1b[31m1 error\x1b[0m, 0 warnings\n")
	for line := range strings.Lines(text) {
		if strings.Contains(line, "some words") && len(line) > 60+len("\x1b[2m\x1b[0m\n") {
			t.Errorf("%d characters: %q", len(line), line)
		}
	}
}
