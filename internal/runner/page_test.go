package runner_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/runner"
	"github.com/sqsbatch/sqsbatch/test/docpage"
)

var update = flag.Bool("update", false, "write the deadlines into docs/how-it-works.md")

// docs/how-it-works.md has the moments of an invocation as they are.
func TestThePageHasTheDeadlines(t *testing.T) {
	table := "| timeout of the function | reserve | a record may run until | the response goes out by |\n| --- | --- | --- | --- |\n"
	for _, timeout := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, time.Minute, 15 * time.Minute} {
		times := timesOf(t, timeout)
		at := func(moment time.Time) time.Duration { return timeout - times.Deadline.Sub(moment) }
		table += fmt.Sprintf("| %v | %v | %v | %v |\n", timeout, times.Deadline.Sub(times.Cutoff), at(times.Cutoff), at(times.SettleBy))
	}
	docpage.RequireSection(t, "../../docs/how-it-works.md", "deadlines", table, *update)
}

// timesOf are those of an invocation that begins now.
func timesOf(t *testing.T, timeout time.Duration) (times runner.Times) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		engine := newEngine(t, config{}, func(context.Context, batch.Record) error { return nil })
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		times = engine.Times(ctx)
	})
	return times
}
