package otel

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
)

// errorType is the class of a record's failure, for error.type:
//
//   - abandoned, panic, goexit, malformed, timeout, canceled;
//   - what the error, or one that it wraps, says of itself by a method
//     ErrorType() string, or ErrorCode() string as AWS's errors have;
//   - else the type of the first error below batch's verbs, the wrappers of
//     package fmt, and those of AWS's SDK.
//
// It is "_OTHER" when one of the error's methods panics.
func errorType(r *batch.Result) string {
	if r.Outcome == batch.Abandoned {
		return "abandoned"
	}
	return class(r.Err)
}

func class(err error) (name string) {
	defer func() {
		if recover() != nil || name == "" {
			name = "_OTHER"
		}
	}()
	var panicked *batch.PanicError
	var malformed *batch.MalformedError
	var typed interface{ ErrorType() string }
	var coded interface{ ErrorCode() string }
	switch {
	case errors.As(err, &panicked):
		return "panic"
	case errors.Is(err, batch.ErrGoexit):
		return "goexit"
	case errors.As(err, &malformed):
		return "malformed"
	case errors.As(err, &typed):
		return typed.ErrorType()
	case errors.As(err, &coded):
		return coded.ErrorCode()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return typeName(err)
}

// typeName is the type of err, or of what it wraps if it only adds to that.
func typeName(err error) string {
	for {
		name := fmt.Sprintf("%T", err)
		var below error
		switch e := err.(type) {
		case interface{ Unwrap() error }:
			if wrappers[name] {
				below = e.Unwrap()
			}
		case interface{ Unwrap() []error }:
			if list := e.Unwrap(); len(list) > 0 && wrappers[name] {
				below = list[0]
			}
		}
		if below == nil {
			return name
		}
		err = below
	}
}

// wrappers are types that say nothing of what went wrong: what they wrap does.
var wrappers = map[string]bool{
	"*batch.permanentError": true, "*batch.retryAfterError": true, "*batch.abortError": true,
	"*fmt.wrapError": true, "*fmt.wrapErrors": true, "*errors.joinError": true,
	"*smithy.OperationError": true, "*retry.MaxAttemptsError": true, "*http.RequestSendError": true, "*url.Error": true, "*http.ResponseError": true,
}
