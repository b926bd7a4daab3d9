// Package ctxkey has the keys of the values in a record's context, for the packages that
// set them and those that read them, and [With], which adds values. It imports package context only.
package ctxkey

import "context"

type (
	// Record is the key of the record, a *batch.Record.
	Record struct{}
	// Stopping is the key of a channel, <-chan struct{}, see batch.Stopping.
	Stopping struct{}
	// Runner is the key of the runner's view for package bulk, see runner.View.
	Runner struct{}
	// Client is the key of what returns the client of the record's queue by a method
	// Client(context.Context) (*sqs.Client, error), see settle.Policy.
	Client struct{}
	// Sends is the key of the messages that a record has sent, see package sender. There is
	// one for each sender.
	Sends struct{ Sender any }
	// Claim is the key of the claim under which a handler works, see package idempotency.
	Claim struct{}
	// Items is the key of the records that a context was made for, an []Item, see
	// bulk.Context.
	Items struct{}
)

// Item is a record of a chunk.
type Item struct {
	// Context is the context of the record's own handler.
	Context context.Context
	// Err returns the error with which the item was failed so far, or nil.
	Err func() error
}
