package ctxkey

import "context"

// With returns a context that has value for key and is parent otherwise, at one
// allocation. Key follows the rules of context.WithValue. A context that is derived from the result
// costs no goroutine where it would cost none derived from the parent: a context.WithTimeout over a
// context.WithValue over a record's context starts one.
func With(parent context.Context, key, value any) context.Context {
	// The context package looks for this method in a parent that is not its own.
	// To its own contexts it finds the way through a WithValue by itself.
	if p, ok := parent.(afterFuncer); ok {
		return &valueContext{parent, p, key, value}
	}
	return context.WithValue(parent, key, value)
}

type afterFuncer interface {
	AfterFunc(f func()) (stop func() bool)
}

type valueContext struct {
	context.Context
	afterFuncer
	key, value any
}

func (c *valueContext) Value(key any) any {
	if key == c.key {
		return c.value
	}
	return c.Context.Value(key)
}
