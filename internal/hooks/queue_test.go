package hooks_test

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/internal/hooks"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// after lets time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestNotify_CallsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q hooks.Queue
		var got []int // of one goroutine at a time
		for i := range 1000 {
			q.Notify(func() { got = append(got, i) })
		}
		synctest.Wait()
		q.Notify(func() { got = append(got, 1000) })
		synctest.Wait()
		if len(got) != 1001 || !slices.IsSorted(got) {
			t.Errorf("%d of 1001 were called, in order: %v", len(got), slices.IsSorted(got))
		}
	})
}

func TestHung_AHookThatTakesMoreThanHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q hooks.Queue
		q.Notify(func() { time.Sleep(time.Minute) })
		after(hooks.HungAfter)
		if q.Hung(time.Now()) {
			t.Errorf("after %v a hook hangs already", hooks.HungAfter)
		}
		after(time.Nanosecond)
		if !q.Hung(time.Now()) {
			t.Errorf("after more than %v no hook hangs", hooks.HungAfter)
		}
		after(time.Minute)
		if q.Hung(time.Now()) {
			t.Error("a hook hangs that has returned")
		}
	})
}

func TestNotify_AHookThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q hooks.Queue
		called := false
		q.Notify(runtime.Goexit)
		q.Notify(func() { called = true })
		<-q.Last()
		if !called {
			t.Error("the hook behind it was not called")
		}
	})
}

// A hook that hangs delays those behind it; none is called next to it.
func TestLast_ComesAfterAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q hooks.Queue
		<-q.Last() // nothing was ever queued
		var running, returned atomic.Int32
		for range 3 {
			q.Notify(func() {
				if running.Add(1) > 1 {
					t.Error("two hooks are called at a time")
				}
				time.Sleep(time.Hour)
				running.Add(-1)
				returned.Add(1)
			})
		}
		began := time.Now()
		<-q.Last()
		if took := time.Since(began); took != 3*time.Hour || returned.Load() != 3 {
			t.Errorf("after %v %d of 3 hooks that take an hour each have returned", took, returned.Load())
		}
	})
}

func TestNotify_DropsWhatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q hooks.Queue
		returned := 0
		for range 20_000 {
			q.Notify(func() {
				time.Sleep(time.Second)
				returned++
			})
		}
		<-q.Last() // it is never dropped
		if returned < 10_000 || returned > 10_001 {
			t.Errorf("%d of 20,000 were called, want the 10,000 that may wait, and one that may have begun", returned)
		}
	})
}
