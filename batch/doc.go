// Package batch runs a function that handles one SQS record over a batch of
// them: concurrently, each record under a deadline, FIFO groups in order, and
// nothing that one record does (fail, panic, hang) harms another.
//
//	engine, err := batch.New(batch.JSON(shipOrder), batch.Config{})
//	...
//	results := engine.Run(ctx, records, engine.Times(ctx), nil)
//
// It knows no AWS service. Where records come from and what becomes of their
// results is the business of the packages above: [handler] on Lambda, with
// partialfailure for what failed.
//
// Read in this order: record.go, verbs.go and verdict.go (what a user's function
// sees and says), run.go (the batch), worker.go (one record), context.go (its
// deadline).
//
// [handler]: https://pkg.go.dev/github.com/sqsbatch/sqsbatch/handler
package batch
