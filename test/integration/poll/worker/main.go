// Command worker is what the checks in the folder above run: a handler that
// does what a message says, and prints when it begins and ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// task is a message.
type task struct {
	N  int    `json:"n"`
	Do string `json:"do"`
	Ms int    `json:"ms"` // how long it takes, of those that take time
}

func main() { handler.Run(batch.HandlerFunc(handle)) }

func handle(ctx context.Context, r batch.Record) error {
	var t task
	if err := json.Unmarshal([]byte(r.Body), &t); err != nil {
		return batch.Permanent(err)
	}
	line("begin", t, &r, nil)
	err := do(ctx, t, r.Attempt)
	line("end", t, &r, err)
	return err
}

func do(ctx context.Context, t task, attempt int) error {
	long := time.Duration(t.Ms) * time.Millisecond
	switch t.Do {
	case "ok":
		return nil
	case "sleep": // heeds its context
		return work(ctx, long)
	case "sleep-first":
		if attempt > 1 {
			return nil
		}
		return work(ctx, long)
	case "hang", "hang-first": // heeds nothing
		if t.Do == "hang" || attempt == 1 {
			time.Sleep(long)
			return errors.New("it went on after the end of its context, as it was told")
		}
		return nil
	case "fail":
		return errors.New("it fails, as it was told")
	case "fail-first":
		if attempt > 1 {
			return nil
		}
		return errors.New("it fails at first, as it was told")
	case "panic":
		panic("it panics, as it was told")
	}
	return batch.Permanent(fmt.Errorf("nothing to do for %q", t.Do))
}

func work(ctx context.Context, long time.Duration) error {
	if !sleep.For(ctx, long) {
		return ctx.Err()
	}
	return nil
}

var stdout sync.Mutex

// line prints what happens, in the order in which it does.
func line(event string, t task, r *batch.Record, err error) {
	stdout.Lock()
	defer stdout.Unlock()
	l := map[string]any{"event": event, "n": t.N, "group": r.GroupID, "attempt": r.Attempt}
	if err != nil {
		l["error"] = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(l)
}
