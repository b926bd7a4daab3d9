// Package batch defines the types of functions that handle one SQS record: the [Record], the
// [Handler] interface, the errors that decide what happens to the record ([Permanent],
// [RetryAfter], [Abort]), and [Hooks] for logs, metrics and traces.
//
//	func main() { handler.Run(batch.JSON(shipOrder)) }
//
//	func shipOrder(ctx context.Context, o Order) error {
//		err := ship(ctx, o)
//		if errors.Is(err, ErrUnknownSKU) {
//			return batch.Permanent(err) // to the dead-letter queue, without further retries
//		}
//		return err // nil: done; anything else: retried with backoff
//	}
//
// Package [handler] runs such a function on Lambda or in a container. Records run
// concurrently, each under its own deadline; records of a FIFO group run in order. A record
// whose handler fails, panics or hangs does not affect the others.
//
// This package does not depend on AWS. Read its files in this order: record.go and
// handler.go (what a function gets), verbs.go and verdict.go (what it returns), outcome.go
// (what happens to a record), hooks.go.
//
// [handler]: https://pkg.go.dev/github.com/sqsbatch/sqsbatch/handler
package batch
