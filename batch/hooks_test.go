package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

type key string

// noting returns hooks that note their calls by a name, and add a value of that name.
func noting(name string, note func(string)) batch.Hooks {
	return batch.Hooks{
		BatchContext: func(ctx context.Context, _ batch.BatchInfo, _ []batch.Record) context.Context {
			note(name + " BatchContext")
			return context.WithValue(ctx, key(name), true)
		},
		RecordContext: func(ctx context.Context, _ *batch.Record) context.Context {
			note(name + " RecordContext")
			return context.WithValue(ctx, key(name), true)
		},
		RecordFinished: func(context.Context, batch.Result) { note(name + " RecordFinished") },
		BatchSettled:   func(context.Context, batch.BatchInfo, []batch.Result) { note(name + " BatchSettled") },
		Called:         func(context.Context, batch.Call) { note(name + " Called") },
		Polling:        func(context.Context, string, func() batch.Status) { note(name + " Polling") },
		Warned:         func(context.Context, batch.Warning) { note(name + " Warned") },
		Flush:          func(context.Context) { note(name + " Flush") },
		Validate:       func() error { return errors.New(name + " is wrong") },
	}
}

func TestJoinHooks_CallsAllInOrder(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, s)
	}
	h := batch.JoinHooks(noting("a", note), batch.Hooks{}, noting("b", note), noting("c", note))
	ctx := t.Context()
	for name, got := range map[string]context.Context{
		"BatchContext":  h.BatchContext(ctx, batch.BatchInfo{}, nil),
		"RecordContext": h.RecordContext(ctx, nil),
	} {
		for _, k := range []key{"a", "b", "c"} {
			if got.Value(k) == nil {
				t.Errorf("%s: the value of %s is missing", name, k)
			}
		}
	}
	h.RecordFinished(ctx, batch.Result{})
	h.BatchSettled(ctx, batch.BatchInfo{}, nil)
	h.Called(ctx, batch.Call{})
	h.Polling(ctx, "", nil)
	h.Warned(ctx, batch.Warning{})
	for _, hook := range []string{"BatchContext", "RecordContext", "RecordFinished", "BatchSettled", "Called", "Polling", "Warned"} {
		of := slices.DeleteFunc(slices.Clone(calls), func(s string) bool { return !strings.HasSuffix(s, " "+hook) })
		if got := fmt.Sprint(of); got != fmt.Sprintf("[a %[1]s b %[1]s c %[1]s]", hook) {
			t.Errorf("called %s", got)
		}
	}
	if err := h.Validate(); err == nil || err.Error() != "a is wrong\nb is wrong\nc is wrong" {
		t.Errorf("Validate: %v", err)
	}
}

func TestJoinHooks_OfNothingHasNone(t *testing.T) {
	for _, h := range []batch.Hooks{batch.JoinHooks(), batch.JoinHooks(batch.Hooks{}, batch.Hooks{})} {
		if h.BatchContext != nil || h.RecordContext != nil || h.RecordFinished != nil || h.BatchSettled != nil || h.Called != nil ||
			h.Polling != nil || h.Warned != nil || h.Flush != nil || h.Validate != nil {
			t.Errorf("%+v", h)
		}
	}
}

// One that panics or ends its goroutine keeps no other from being called. The caller gets the
// panic.
func TestJoinHooks_OneThatPanicsOrExits(t *testing.T) {
	for name, fault := range map[string]func(){"panic": func() { panic("oops") }, "Goexit": runtime.Goexit} {
		called := 0
		count := batch.Hooks{
			RecordFinished: func(context.Context, batch.Result) { called++ },
			Flush:          func(context.Context) { called++ },
		}
		bad := batch.Hooks{RecordFinished: func(context.Context, batch.Result) { fault() }, Flush: func(context.Context) { fault() }}
		for _, h := range []batch.Hooks{batch.JoinHooks(bad, count), batch.JoinHooks(count, bad)} {
			for _, call := range []func(){func() { h.RecordFinished(t.Context(), batch.Result{}) }, func() { h.Flush(t.Context()) }} {
				before, ended := called, make(chan any, 1)
				go func() {
					defer func() { ended <- recover() }()
					call()
				}()
				if v := <-ended; called != before+1 || (v != nil) != (name == "panic") {
					t.Errorf("%s: called %d times, recovered %v", name, called-before, v)
				}
			}
		}
	}
}

// Each Flush has the whole time.
func TestJoinHooks_FlushAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := batch.Hooks{Flush: func(context.Context) { time.Sleep(time.Second) }}
		began := time.Now()
		batch.JoinHooks(slow, slow, slow).Flush(t.Context())
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
	})
}
