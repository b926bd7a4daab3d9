package words_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/words"
)

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
