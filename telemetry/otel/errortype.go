package otel

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqsbatch/sqsbatch/batch"
)

// otherError is the class of errors that are not told apart.
const otherError = "_OTHER"

// errorType returns the class of a record's failure, for error.type:
//
//   - abandoned, panic, goexit, malformed, timeout, canceled;
//   - else the result of the error's method ErrorType() string, or ErrorCode() string as AWS's errors have it, also of an error that it wraps;
//   - else the type of the first error below batch's verbs, the wrappers of package fmt, and those of the AWS SDK.
//
// It is "_OTHER" if one of the error's methods panics.
func errorType(r *batch.Result) string {
	if r.Outcome == batch.Abandoned {
		return "abandoned"
	}
	return class(r.Err)
}

func class(err error) (name string) {
	defer func() {
		if recover() != nil || name == "" {
			name = otherError
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

// typeName returns the type of err, or of the error that it wraps if err only adds to that.
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

// wrappers are types that do not say what went wrong. The errors that they wrap do.
var wrappers = map[string]bool{
	"*batch.permanentError": true, "*batch.retryAfterError": true, "*batch.abortError": true, "*sender.Error": true,
	"*fmt.wrapError": true, "*fmt.wrapErrors": true, "*errors.joinError": true,
	"*smithy.OperationError": true, "*retry.MaxAttemptsError": true, "*http.RequestSendError": true, "*url.Error": true, "*http.ResponseError": true,
}
