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

// runHandler runs Function.Handler under the rules of a process: the context
// ends at the deadline, and from the deadline on the answer is the timeout.
func (e *environment) runHandler(inv *invocation) (r Result, late func()) {
	fn := e.d.fn
	inv.deliver(fn.Timeout)
	cold := !e.heat(true)

	// The caller's context is not the parent: on Lambda nothing of it reaches the function.
	ctx, cancel := context.WithDeadline(e.d.ctx, inv.deadline)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID: inv.id, InvokedFunctionArn: fn.arn(),
	})
	//lint:ignore SA1029 it is the key that aws-lambda-go uses
	ctx = context.WithValue(ctx, "x-amzn-trace-id", inv.traceID)

	done := make(chan *answer, 1)
	go call(ctx, fn, inv, done)

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
	// After these errors a process would be gone; the next one starts cold.
	if a.err != nil && (a.err.Type == "Sandbox.Timedout" && !fn.shared() || a.err.exit) {
		e.heat(false)
	}
	r = inv.result(e.number, a)
	r.ColdStart = cold
	return r, late
}

// heat notes whether the environment is warm, and returns whether it was.
func (e *environment) heat(warm bool) (was bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	was, e.warm = e.warm, warm
	return was
}

// call turns what the handler did into an answer, as aws-lambda-go does. It
// answers in a deferred call because runtime.Goexit leaves no other chance; on
// Lambda the process would die of it.
func call(ctx context.Context, fn Function, inv *invocation, done chan<- *answer) {
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

// panicError is called by the function that recovered: the panicking frames are
// still there.
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

// typeName is aws-lambda-go's errorType.
func typeName(v any) string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
