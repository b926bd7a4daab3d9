package show_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

func TestBody(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":"o-1","sku":"busy:2s","n":1.50,"x":null}`: `id=o-1 sku=busy:2s n=1.50 x=null`,
		`{"a":"two words","b":"","c":"k=v"}`:             `a="two words" b="" c="k=v"`,
		`{"a":{"b": [1, 2]}}`:                            `a={"b":[1,2]}`,
		`{}`:                                             `{}`,
		`{"a":1} {"b":2}`:                                `{"a":1} {"b":2}`,
		`{"a":`:                                          `{"a":`,
		"two\n  lines":                                   "two lines",
		"bell\a esc\x1b[2J":                              `bell\u0007 esc\u001b[2J`,
		`{"a":"\u001b[2J"}`:                              `a=\u001b[2J`,
		"right\u202eleft":                                `right\u202eleft`,
	} {
		if got := show.Body(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzBody: whatever a body holds, it is shown in one line that moves no cursor.
func FuzzBody(f *testing.F) {
	f.Add(`{"id":"o-1", "sku":"ok","quantity":1}`)
	f.Add("\x1b]0;x\x07\u0085\u2028")
	f.Add(`{"a":{"\n":"\u0000"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, r := range show.Body(body) {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q is shown as %q", body, show.Body(body))
			}
		}
	})
}
