// Package ctxkey has the keys of what a record's context holds, for the packages
// that put it there and those that look for it. It imports nothing.
package ctxkey

type (
	// Record is the key of the record, a *batch.Record.
	Record struct{}
	// Stopping is the key of a channel, <-chan struct{}, see batch.Stopping.
	Stopping struct{}
	// Runner is the key of what package bulk asks of the runner, see runner.View.
	Runner struct{}
)
