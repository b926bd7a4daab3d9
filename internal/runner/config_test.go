package runner_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
)

// own is a type of handler that batch does not know.
type own func()

func (f own) Handle(context.Context, batch.Record) error { f(); return nil }

func TestWrongConfig_NamesFieldValueAndBounds(t *testing.T) {
	ok := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	for name, c := range map[string]struct {
		h    batch.Handler
		cfg  batch.Config
		want string
	}{
		"no handler":  {nil, batch.Config{}, "handler is nil"},
		"a nil func":  {own(nil), batch.Config{}, "handler is nil"},
		"concurrency": {ok, batch.Config{Concurrency: -1}, "Concurrency is -1, must be 1 to 10000"},
		"too many":    {ok, batch.Config{Concurrency: 10_001}, "Concurrency is 10001"},
		"reserve":     {ok, batch.Config{Reserve: -time.Second}, "Reserve is -1s, must be 0 to 12h0m0s"},
		"timeout":     {ok, batch.Config{RecordTimeout: 13 * time.Hour}, "RecordTimeout is 13h0m0s"},
		"minimum":     {ok, batch.Config{MinRemaining: -1}, "MinRemaining is -1ns, must be 0 to 12h0m0s"},
		"grace":       {ok, batch.Config{Grace: -1}, "Grace is -1ns, must be 0 to 12h0m0s"},
		"hook":        {ok, batch.Config{Hooks: []any{42}}, "Hooks[0] is a int"},
	} {
		if _, err := runner.New(c.h, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
	const most = 12 * time.Hour
	if _, err := runner.New(ok, batch.Config{Concurrency: 10_000, Reserve: most, RecordTimeout: most, MinRemaining: most, Grace: most}); err != nil {
		t.Errorf("the upper bounds: %v", err)
	}
}

func TestWithDefaults(t *testing.T) {
	got := batch.Config{RecordTimeout: time.Minute}.WithDefaultsFor(nil)
	if got.Concurrency != 10 || got.Grace != time.Second || got.RecordTimeout != time.Minute {
		t.Errorf("the defaults are %+v", got)
	}
	if got = (batch.Config{Concurrency: 3, Grace: time.Minute}).WithDefaultsFor(nil); got.Concurrency != 3 || got.Grace != time.Minute {
		t.Errorf("what is set became %+v", got)
	}
}
