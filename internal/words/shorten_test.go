package words_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/words"
)

func TestShorten_EndsWithAWholeCharacter(t *testing.T) {
	const text = "aä€😀z" // 1, 2, 3, 4 and 1 bytes
	for n, want := range map[int]string{
		-1: "", 0: "", 1: "a", 2: "a", 3: "aä", 4: "aä", 5: "aä", 6: "aä€", 7: "aä€", 9: "aä€", 10: "aä€😀", 11: text, 12: text,
	} {
		if got := words.Shorten(text, n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
	if got := words.Shorten("\x80\x80\x80", 2); got != "" {
		t.Errorf("bytes that begin no character: %q", got)
	}
}

func TestNearest(t *testing.T) {
	list := []string{"event", "once", "env", "metrics"}
	for written, want := range map[string]string{
		"evnt": "event", "events": "event", "onse": "once", "metric": "metrics", "event": "event",
		"bogus": "", "x": "", "": "",
	} {
		if got := words.Nearest(written, list); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
	if got := words.Nearest("event", nil); got != "" {
		t.Errorf("of no words: %q", got)
	}
}
