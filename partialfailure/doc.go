// Package partialfailure settles what failed in a batch of SQS records: it
// sets the visibility of records that shall come back (their backoff), sends
// those that never will succeed to the dead-letter queue, and writes the
// partial batch response that tells Lambda which records to keep.
//
// A [Settler] is made once and serves the process. Each batch gets a
// [Settlement], which takes failures while the batch still runs, so that a
// backoff counts from its failure and little is left to do at the end.
//
//	settlement := settler.Begin(ctx, times)
//	results := engine.Run(ctx, records, times, settlement)
//	warn := settlement.Settle(results)
//	response := partialfailure.AppendResponse(nil, partialfailure.Failures(results))
//	warn()
//
// No call to SQS that fails loses a record. A record whose visibility could not be
// set comes back after the queue's own visibility timeout.
//
// Read in this order, which is that of a record that fails: settlement.go (one batch,
// from the failure to the result), deadletter.go (where it goes if it failed for good,
// with origin.go), visibility.go (when it comes back, with schedule.go and
// attributes.go), delete.go, calls.go (how SQS is called, with queue.go), messages.go
// and nearlimit.go (what the hooks are warned of), notify.go, response.go.
package partialfailure
