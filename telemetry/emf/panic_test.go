package emf_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/telemetry/emf"
)

// panicky is a writer that panics at its first line, of which it has written a part.
type panicky struct {
	output
	panicked bool
}

func (p *panicky) Write(line []byte) (int, error) {
	if !p.panicked {
		p.panicked = true
		_, _ = p.output.Write(line[:10])
		panic("a writer's")
	}
	return p.output.Write(line)
}

// A writer that panics costs its line, and neither the process nor later ones.
func TestAWriterThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &panicky{}
		h := emf.New(emf.Options{Writer: out})
		hooks, err := hooks.New(h)
		ok(t, err)
		const rounds = 6
		for range rounds {
			hooks.BatchSettled(context.Background(), batch.BatchInfo{QueueARN: orders}, []batch.Result{record(batch.Succeeded, time.Second)})
			hooks.Flush(t.Context())
		}
		docs := read(t, out.take()[10+1:]) // behind what is torn, on a line of its own
		records := 0
		for _, d := range docs {
			records += len(d.values["RecordsSucceeded"]) // one in each
		}
		if records != rounds-1 || h.Dropped() != 1 || docs[0].properties["droppedLines"] != 1.0 {
			t.Errorf("%d records of %d, %d dropped: %s", records, rounds, h.Dropped(), docs[0].line)
		}
	})
}
