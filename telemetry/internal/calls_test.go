package adapter_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	adapter "github.com/sqsbatch/sqsbatch/telemetry/internal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// do calls Do with a limit and returns how long it took.
func do(t *testing.T, calls *adapter.Calls, limit time.Duration) (ok bool, took time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	ok = calls.Do(ctx)
	return ok, time.Since(began)
}

func TestManyCallers_ShareTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		calls := adapter.NewCalls(func(context.Context) { time.Sleep(time.Second); n++ })
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if ok, took := do(t, calls, time.Minute); !ok || took > 2*time.Second {
					t.Errorf("%t after %v", ok, took)
				}
			})
		}
		wg.Wait()
		if n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
	})
}

func TestSharedCall_LastsAsLongAsAnyoneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var ends []time.Duration
		calls := adapter.NewCalls(func(ctx context.Context) {
			<-ctx.Done()
			ends = append(ends, time.Since(began))
		})
		var wg sync.WaitGroup
		for _, limit := range []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 2 * time.Second} {
			wg.Go(func() { do(t, calls, limit) })
			synctest.Wait()
		}
		wg.Wait()
		synctest.Wait()
		if want := []time.Duration{time.Second, 5 * time.Second}; !slices.Equal(ends, want) {
			t.Errorf("calls ended at %v, want %v", ends, want)
		}
	})
}

func TestSharedCall_EndsWhenItsLastCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, took := time.Now(), time.Duration(0)
		calls := adapter.NewCalls(func(ctx context.Context) { <-ctx.Done(); took = time.Since(began) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(time.Second, cancel)
		calls.Do(ctx)
		synctest.Wait()
		if took != time.Second {
			t.Errorf("the call ended after %v", took)
		}
	})
}

func TestSharedCall_IsNotBegunWithoutWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		calls := adapter.NewCalls(func(context.Context) { n++; time.Sleep(time.Second) })
		go calls.Do(t.Context())
		synctest.Wait()
		do(t, calls, time.Second/2) // its caller is gone when the first call ends
		time.Sleep(time.Hour)
		if n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

// A call that ignores its end costs its time once.
func TestCallThatHangs_IsNotWaitedForTwice(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, *adapter.Calls){
		"begun by Do": func(t *testing.T, calls *adapter.Calls) { do(t, calls, time.Second) },
		"begun by Try": func(t *testing.T, calls *adapter.Calls) {
			go calls.Try(t.Context())
			synctest.Wait()
			do(t, calls, time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				calls := adapter.NewCalls(func(context.Context) { n++; time.Sleep(time.Minute) })
				begin(t, calls)
				if ok, took := do(t, calls, time.Second); ok || took != 0 {
					t.Errorf("%t after %v, want false at once", ok, took)
				}
				if calls.Try(t.Context()) {
					t.Error("two calls at a time")
				}
				time.Sleep(time.Hour)
				if ok, took := do(t, calls, time.Hour); !ok || took != time.Minute || n != 2 {
					t.Errorf("afterwards %t after %v, %d calls", ok, took, n)
				}
			})
		})
	}
}

func TestCallThatEndsItsGoroutine_LetsTheNextBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := adapter.NewCalls(func(context.Context) { runtime.Goexit() })
		if !calls.Try(t.Context()) || !calls.Do(t.Context()) {
			t.Error("no call was made")
		}
	})
}
