package notify_test

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/internal/notify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// after lets time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestNotify_CallsQuickHooksInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q notify.Queue
		var got []int // of one caller at a time
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

// What was queued before a hook hangs is called as well, without another Notify.
func TestNotify_AHookThatHangsDelaysOthersByAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q notify.Queue
		var called atomic.Int32
		for range 3 {
			q.Notify(func() { time.Sleep(time.Hour) })
		}
		q.Notify(func() { called.Add(1) })
		after(31 * time.Millisecond)
		if n := called.Load(); n != 1 {
			t.Errorf("31 ms later the hook behind three that hang was called %d times, want once", n)
		}
		after(time.Minute)
		q.Notify(func() { called.Add(1) })
		after(10 * time.Millisecond)
		if n := called.Load(); n != 2 {
			t.Errorf("a minute later the next one was not called within 10 ms")
		}
		<-q.Last()
	})
}

func TestHung_AHookThatTakesMoreThanHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q notify.Queue
		q.Notify(func() { time.Sleep(time.Minute) })
		after(notify.HungAfter)
		if q.Hung(time.Now()) {
			t.Errorf("after %v a hook hangs already", notify.HungAfter)
		}
		after(time.Nanosecond)
		if !q.Hung(time.Now()) {
			t.Errorf("after more than %v no hook hangs", notify.HungAfter)
		}
		after(time.Minute)
		if q.Hung(time.Now()) {
			t.Error("a hook hangs that has returned")
		}
	})
}

func TestNotify_AHookThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q notify.Queue
		called := false
		q.Notify(runtime.Goexit)
		q.Notify(func() { called = true })
		<-q.Last()
		if !called {
			t.Error("the hook behind it was not called")
		}
	})
}

func TestLast_CallsWhatWaitsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q notify.Queue
		<-q.Last() // nothing was ever queued
		began := time.Now()
		for range 500 {
			q.Notify(func() { time.Sleep(time.Second) })
		}
		<-q.Last()
		if took := time.Since(began); took != time.Second {
			t.Errorf("500 hooks that take a second each took %v", took)
		}
	})
}

func TestNotify_Bounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q notify.Queue
		var running, returned atomic.Int32
		for range 20_000 {
			q.Notify(func() {
				running.Add(1)
				time.Sleep(time.Hour)
				running.Add(-1)
				returned.Add(1)
			})
		}
		after(time.Minute)
		if n := running.Load(); n != 100 {
			t.Errorf("%d hooks are called at a time, want 100", n)
		}
		<-q.Last()
		if n := returned.Load(); n < 10_000 || n > 10_001 {
			t.Errorf("%d of 20,000 were called, want the 10,000 that may wait, and one that may have begun", n)
		}
	})
}
