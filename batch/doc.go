// Package batch has the words of a function that handles one SQS record: the
// [Record] that it is given, the [Handler] that it is, the errors by which it says
// what shall become of the record ([Permanent], [RetryAfter], [Abort]), and the hooks
// that are told how records fare.
//
//	handler.Run(batch.JSON(shipOrder))
//
// It knows no AWS service. Package [handler] runs such a function, on Lambda or in a
// container: records run concurrently, each under a deadline, FIFO groups in order,
// and nothing that one record does (fail, panic, hang) harms another.
//
// Read in this order: record.go and handler.go (what a function is given), verbs.go
// and verdict.go (what it says), outcome.go (what becomes of a record), config.go and
// deadline.go, hooks.go.
//
// [handler]: https://pkg.go.dev/github.com/sqsbatch/sqsbatch/handler
package batch
