package show_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

func TestOut_WritesNothingThatATerminalObeys(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä\n\ttab":                   "plain ä\n\ttab",
		"\x1b[31mred\x1b[0m\r\n":           `\u001b[31mred\u001b[0m\u000d` + "\n",
		"\u009b2J\u202e\U000e0001\x7f":     `\u009b2J\u202e\udb40\udc01\u007f`,
		"\x9b2J\xff\xe2\x80":               "\ufffd2J\ufffd\ufffd\ufffd",
		show.Mark("31") + "x":              "\x1b[31mx",
		show.Mark("r") + show.Mark("K"):    "\r\x1b[K",
		show.Mark("31")[:4]:                `\u001b` + show.Mark("31")[1:4],
		"\x1b" + show.Mark("2") + "\x1b1m": `\u001b` + "\x1b[2m" + `\u001b1m`,
	} {
		for split := range len(text) + 1 {
			var b bytes.Buffer
			o := show.To(&b)
			for _, part := range []string{text[:split], text[split:]} {
				if n, err := o.Write([]byte(part)); n != len(part) || err != nil {
					t.Errorf("%q: %d, %v", part, n, err)
				}
			}
			if err := o.Flush(); err != nil || b.String() != want {
				t.Errorf("%q, split at %d: %q, want %q; %v", text, split, b.String(), want, err)
			}
		}
	}
	var nothing *show.Out
	if n, err := nothing.Write([]byte("x")); n != 1 || err != nil || nothing.Flush() != nil || nothing.File() != nil {
		t.Error("a nil Out does not discard")
	}
}

// FuzzOut: no text, in any parts, controls the terminal, and JSON keeps its values.
func FuzzOut(f *testing.F) {
	f.Add([]byte("\x1b]0;x\a\u009b\xc2"), 1)
	f.Add([]byte(`"\u001b\ud83d\ude00 `+"\u202e\U000e0001\""), 3)
	f.Fuzz(func(t *testing.T, text []byte, part int) {
		var b bytes.Buffer
		o := show.To(&b)
		for i := 0; i < len(text); i += max(1, part) {
			_, _ = o.Write(text[i:min(len(text), i+max(1, part))])
		}
		_ = o.Flush()
		for _, r := range b.String() {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
				t.Fatalf("%q became %q", text, b.String())
			}
		}
		var before, after any
		if utf8.Valid(text) && json.Unmarshal(text, &before) == nil {
			if bytes.ContainsRune(text, '\r') {
				return // white space of JSON, which this program does not write
			}
			if err := json.Unmarshal(b.Bytes(), &after); err != nil {
				t.Fatalf("%q became %q: %v", text, b.String(), err)
			}
			x, _ := json.Marshal(before)
			y, _ := json.Marshal(after)
			if !bytes.Equal(x, y) {
				t.Fatalf("%q became %q", text, b.String())
			}
		}
	})
}
