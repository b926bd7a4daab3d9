package show_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
)

func TestClean_LeavesNothingThatControlsATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日本": "plain é 日本",
		"a\tb\nc\r":  "a b c ",
		"\x1b]0;title\a\x1b[2J\x1bc\u0090\u009c\u007f": `\u001b]0;title\u0007\u001b[2J\u001bc\u0090\u009c\u007f`,
		"\u202eevil\u2066\u200b":                       `\u202eevil\u2066\u200b`,
		"two\u2028lines\u2029":                         `two\u2028lines\u2029`,
		"\xff":                                         "\ufffd",
	} {
		if got := show.Clean(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
