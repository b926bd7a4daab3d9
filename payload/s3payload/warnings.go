package s3payload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

// every is how often a warning is repeated: a missing permission affects every record.
const every = time.Minute

// warnings passes on problems that must not fail a record.
type warnings struct {
	hook batch.WarningHook

	mu     sync.Mutex
	last   map[string]time.Time // by message
	untold map[string]int
}

func (w *warnings) tell(ctx context.Context, warning batch.Warning) {
	if untold, due := w.due(warning.Message); due {
		if untold > 0 {
			warning.Message += fmt.Sprintf("; %d more of these since the last line", untold)
		}
		defer func() { _ = recover() }() // a panic of the hook must not fail the record
		w.hook.Warned(ctx, warning)
	}
}

func (w *warnings) due(message string) (untold int, due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if last, told := w.last[message]; told && now.Sub(last) < every {
		w.untold[message]++
		return 0, false
	}
	if w.last == nil {
		w.last, w.untold = map[string]time.Time{}, map[string]int{}
	}
	untold = w.untold[message]
	w.last[message], w.untold[message] = now, 0
	return untold, true
}
