package runner_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/hooks"
	"github.com/sqsbatch/sqsbatch/test/testhooks"
)

type onFlush func(context.Context)

func (f onFlush) Flush(ctx context.Context) { f(ctx) }

// Each hook is flushed, whatever another one does, and none is waited for
// beyond the end of the context.
func TestFlush(t *testing.T) {
	virtual(t, func(t *testing.T) {
		flushed := make(chan bool, 1)
		var warned recorder
		hooks := hooks.New(testhooks.Of(
			onFlush(func(context.Context) { panic("hook") }),
			onFlush(func(ctx context.Context) { time.Sleep(time.Minute) }),
			onFlush(func(context.Context) { flushed <- true }), &onlyWarnings{&warned}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		hooks.Flush(ctx)
		if took := time.Since(began); took != time.Second || len(flushed) != 1 {
			t.Errorf("took %v, flushed %d", took, len(flushed))
		}
		time.Sleep(time.Hour) // the panic is known when all have ended
		warned.mu.Lock()
		defer warned.mu.Unlock()
		if len(warned.warnings) != 2 || !strings.Contains(warned.warnings[0].Message, "took too long") || !strings.Contains(warned.warnings[1].Message, "panicked") {
			t.Errorf("warned %+v", warned.warnings)
		}
	})
}

// ended is a context that is found to have ended when all else has come to rest.
type ended struct{ context.Context }

func (e ended) Done() <-chan struct{} {
	synctest.Wait()
	return e.Context.Done()
}

// A hook that is done when the context ends is not warned of.
func TestAFlushThatIsDoneAtTheEnd(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var warned recorder
		hooks := hooks.New(testhooks.Of(onFlush(func(context.Context) {}), &onlyWarnings{&warned}))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			hooks.Flush(ended{ctx})
		}
		if n := len(warned.warnings); n > 0 {
			t.Errorf("%d warnings of 100 flushes that were done in time: %+v", n, warned.warnings[0])
		}
	})
}

func TestNoHooks(t *testing.T) {
	var none hooks.Set
	none.Flush(t.Context())
	none.Called(t.Context(), batch.Call{})
	none.Polling(t.Context(), "", nil)
	if none.Calls {
		t.Error("no hooks want something")
	}
}
