package runner_test

import (
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/runner"
)

func TestWithDefaults(t *testing.T) {
	got := runner.Config{RecordTimeout: time.Minute}.WithDefaults(nil)
	if got.Concurrency != 10 || got.Grace != time.Second || got.RecordTimeout != time.Minute {
		t.Errorf("the defaults are %+v", got)
	}
	if got = (runner.Config{Concurrency: 3, Grace: time.Minute}).WithDefaults(nil); got.Concurrency != 3 || got.Grace != time.Minute {
		t.Errorf("what is set became %+v", got)
	}
}
