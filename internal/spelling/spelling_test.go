package spelling_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/spelling"
)

func TestNearest(t *testing.T) {
	words := []string{"event", "once", "env", "metrics"}
	for written, want := range map[string]string{
		"evnt": "event", "events": "event", "onse": "once", "metric": "metrics", "event": "event",
		"bogus": "", "x": "", "": "",
	} {
		if got := spelling.Nearest(written, words); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
	if got := spelling.Nearest("event", nil); got != "" {
		t.Errorf("of no words: %q", got)
	}
}
