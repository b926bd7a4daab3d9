package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Verdict has everything that the core needs to know of a handler's error. The methods of
// that error are the user's code: they may panic, block or be wrong. Therefore the core
// calls them only while the handler counts as running: from within it, where middleware
// asks (see [View.Permanent]), and where it returns. If one panics, the record fails; if one
// blocks, the handler hangs. Later, the core uses only the verdict and the error's text.
// Hooks get the error, and a panic of theirs is caught.
type Verdict struct {
	batch.Verdict
	Canceled bool // the error wraps context.Canceled
	Stopped  bool // it wraps batch.ErrStopped
	Lost     bool // it is ErrLost, and the handler was not called
}

// failure is why a delivery failed; its error is nil if it did not fail.
type failure struct {
	err     error
	verdict Verdict
}

// judge finds out everything about an error.
func judge(err error) failure {
	_ = err.Error() // must not panic first in a hook or a warning
	return failure{err, Verdict{
		Verdict: batch.VerdictOf(err), Canceled: errors.Is(err, context.Canceled), Stopped: errors.Is(err, batch.ErrStopped),
	}}
}

// call calls the handler. A panic becomes a failure; a Goexit passes.
func (e *Engine) call(ctx *recordContext) (f failure) {
	succeeded := false
	defer func() {
		if succeeded { // recover takes more stack than a goroutine begins with
			return
		}
		if v := recover(); v != nil {
			f = panicked(v, debug.Stack())
		}
	}()
	err := e.handle(ctx, *ctx.Record)
	if err == nil {
		succeeded = true
		return failure{}
	}
	return judge(e.classify(ctx, err))
}

// panicked is the failure of a handler that panicked with a value. It keeps the text of an
// error whose own methods panic.
func panicked(v any, stack []byte) (f failure) {
	p := &batch.PanicError{Value: v, Stack: stack}
	defer func() {
		if recover() != nil {
			p.Value = fmt.Sprintf("%T: %v", v, v) // fmt contains the panic of a method
			f = judge(p)
		}
	}()
	return judge(p)
}

// classify calls the configured classifier, if there is one, for an error of a handler. It
// does not for an error with a verb, nor for the end of the record's own context.
func (e *Engine) classify(ctx context.Context, err error) (classified error) {
	if e.cfg.Classify == nil || batch.VerdictOf(err).Verb {
		return err
	}
	if end := ctx.Err(); end != nil && errors.Is(err, end) {
		return err
	}
	defer func() {
		if v := recover(); v != nil {
			classified = fmt.Errorf("%w (Classify panicked: %v)", err, v)
		}
	}()
	if classified = e.cfg.Classify(err); classified == nil {
		return err // no classifier makes a success of a failure
	}
	return classified
}
