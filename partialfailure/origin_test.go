package partialfailure_test

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// JSON has no time after the year 9999, so there is no value then.
func TestValue_TimeThatJSONDoesNotHave(t *testing.T) {
	for year, want := range map[int]bool{9999: true, 10_000: false} {
		o := partialfailure.Origin{FailedAt: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)}
		if value, ok := o.Value(1 << 10); ok != want || (value != "") != want {
			t.Errorf("in the year %d it is %q, %v", year, value, ok)
		}
	}
}
