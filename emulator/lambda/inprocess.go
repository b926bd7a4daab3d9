package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// runHandler runs Function.Handler. The context ends at the deadline, and an answer at the
// deadline or later is replaced by the timeout. If late is not nil, it waits until inv's
// place is free.
func (e *environment) runHandler(inv *invocation) (r Result, late func()) {
	fn := e.d.fn
	inv.deliver(fn.Timeout)
	cold := !e.setWarm(true)

	// Not derived from the caller's context, of which Lambda passes nothing to the function.
	ctx, cancel := context.WithDeadline(e.d.ctx, inv.deadline)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID: inv.id, InvokedFunctionArn: fn.arn(),
	})
	//lint:ignore SA1029 aws-lambda-go uses this key
	ctx = context.WithValue(ctx, "x-amzn-trace-id", inv.traceID)

	done := make(chan *answer, 1)
	go callHandler(ctx, fn, inv, done)

	var a *answer
	select {
	case a = <-done:
	case <-ctx.Done():
		switch {
		case e.d.ctx.Err() != nil:
			a = closedAnswer()
			timer := time.NewTimer(time.Until(inv.deadline))
			defer timer.Stop()
			select { // the handler cannot be killed
			case <-done:
			case <-timer.C:
			}
		case fn.shared(): // the handler keeps its place until it returns
			late = func() {
				select {
				case <-done:
				case <-e.d.ctx.Done():
				}
			}
		}
	}
	if a == nil || !a.closed() && !a.at.Before(inv.deadline) {
		a = failure(timedOut(inv.id, fn.Timeout))
	}
	// After these errors the process would be gone, so the next invocation is a cold start.
	if a.err != nil && (a.err.Type == "Sandbox.Timedout" && !fn.shared() || a.err.exit) {
		e.setWarm(false)
	}
	r = inv.result(e.number, a)
	r.ColdStart = cold
	return r, late
}

// setWarm sets whether the environment is warm, and returns the previous value.
func (e *environment) setWarm(warm bool) (was bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	was, e.warm = e.warm, warm
	return was
}

// callHandler calls the handler and sends its answer to done: a response, an error or a
// panic, in the form of aws-lambda-go. A deferred function answers, because runtime.Goexit
// runs nothing else. On Lambda, Goexit ends the process.
func callHandler(ctx context.Context, fn Function, inv *invocation, done chan<- *answer) {
	a := failure(&FunctionError{
		Type:    "Runtime.ExitError",
		Message: fmt.Sprintf("RequestId: %s Error: the handler ended its goroutine (runtime.Goexit)", inv.id),
		exit:    true,
	})
	defer func() {
		if v := recover(); v != nil {
			a = failure(panicError(v))
		}
		a.at = time.Now()
		done <- a
	}()
	payload, err := fn.Handler(ctx, inv.payload)
	switch {
	case err != nil:
		a = errorAnswer(err)
	case len(payload) > maxResponse:
		ferr := responseTooLarge(int64(len(payload)))
		ferr.exit = true
		a = failure(ferr)
	default:
		a = &answer{payload: payload}
	}
}

func errorAnswer(err error) *answer {
	own, ok := err.(messages.InvokeResponse_Error) // unwrapped: aws-lambda-go does not look deeper
	if !ok {
		own = messages.InvokeResponse_Error{Message: err.Error(), Type: typeName(err)}
	}
	doc, jsonErr := json.Marshal(own)
	if jsonErr != nil {
		return failure(&FunctionError{Type: "Runtime.SerializationError", Message: jsonErr.Error()})
	}
	return &answer{payload: doc, err: &FunctionError{Type: own.Type, Message: own.Message}}
}

// panicError returns the error of a panic with its stack. Only the deferred function that
// recovered may call it, while the panicking frames are still on the stack.
func panicError(v any) *FunctionError {
	const skip = 3 // Callers, this function and the deferred one
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(skip, callers)])
	var stack []messages.InvokeResponse_Error_StackFrame
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		stack = append(stack, messages.InvokeResponse_Error_StackFrame{Path: f.File, Line: int32(f.Line), Label: f.Function})
	}
	trace, _ := json.Marshal(stack)
	return &FunctionError{Type: typeName(v), Message: fmt.Sprint(v), StackTrace: trace, exit: true}
}

// typeName returns aws-lambda-go's errorType of v.
func typeName(v any) string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
