// Package gather is how a handler finds out, from a record's context, what the
// engine knows of the records beside it: package bulk writes records together
// that the engine hands out one by one. The value's methods are those of
// batch's type gathering; bulk says which it needs. It imports nothing.
package gather

// Key is the context key.
type Key struct{}
