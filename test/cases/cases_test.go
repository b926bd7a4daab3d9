package cases_test

import (
	"testing"

	"github.com/sqsbatch/sqsbatch/test/cases"
)

func TestOf(t *testing.T) {
	for value, want := range map[string]int{"": 1, "1": 2} {
		t.Setenv("TEST_MANY", value)
		if got := cases.Of(1, 2); got != want {
			t.Errorf("TEST_MANY=%s: %d, want %d", value, got, want)
		}
	}
}
