package batch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

type onFlush func(context.Context)

func (f onFlush) Flush(ctx context.Context) { f(ctx) }

// Each hook is flushed, whatever another one does, and none is waited for
// beyond the end of the context.
func TestFlush(t *testing.T) {
	virtual(t, func(t *testing.T) {
		flushed := make(chan bool, 1)
		var warned recorder
		hooks, err := batch.NewHooks(
			onFlush(func(context.Context) { panic("hook") }),
			onFlush(func(context.Context) { time.Sleep(time.Minute) }),
			onFlush(func(context.Context) { flushed <- true }), &onlyWarnings{&warned})
		if err != nil || !hooks.Flushes() {
			t.Fatal(err, hooks.Flushes())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		hooks.Flush(ctx)
		if took := time.Since(began); took != time.Second || len(flushed) != 1 {
			t.Errorf("took %v, flushed %d", took, len(flushed))
		}
		if len(warned.warnings) != 2 || !strings.Contains(warned.warnings[0].Message, "panicked") || !strings.Contains(warned.warnings[1].Message, "waited for") {
			t.Errorf("warned %+v", warned.warnings)
		}
		time.Sleep(time.Hour)
	})
}

func TestNoHooks(t *testing.T) {
	var none *batch.Hooks
	none.Flush(t.Context())
	none.Called(t.Context(), batch.Call{})
	none.Polling(t.Context(), "", nil)
	if none.Flushes() || none.WantsCalls() {
		t.Error("nil wants something")
	}
}
