// Package bulk makes handlers of functions that write many records with one call: rows into a
// database, documents into an index, entries of a batch call.
//
//	handler.Run(bulk.JSON(insertOrders, bulk.Config{MaxItems: 100}))
//
//	func insertOrders(ctx context.Context, items []bulk.Item[Order]) error {
//		results, err := table.Insert(ctx, items)
//		if err != nil {
//			return err // fails every item that has not failed by itself
//		}
//		for i := range results {
//			if err := results[i].Err; err != nil {
//				items[i].Fail(err) // fails this item, with any verb
//			}
//		}
//		return nil
//	}
//
// A bulk handler is an ordinary [batch.Handler]: each record has its own deadline, outcome,
// backoff, dead letter, heartbeat and log line. But records are gathered into chunks, and one
// call of the function writes a chunk. On Lambda a chunk has records of one batch. In a
// container it has records of one queue, also from several receives.
//
// # When a chunk is written
//
// A chunk is written when it is full ([Config].MaxItems, MaxBytes), when [Config].Linger has
// passed since its first record, or when no other record can join it. So records do not wait
// on Lambda, where the whole batch is available, nor during a container's stop.
//
// A chunk needs as many concurrent records as it has items. If no concurrency is configured
// (batch.Config.Concurrency, SQSBATCH_CONCURRENCY), a bulk handler therefore asks for
// MaxItems x Parallel. A lower concurrency makes smaller chunks.
//
// # Order
//
// A chunk holds all available records of a FIFO group, in order. If a record fails, the records
// behind it in the group are not done, whatever the function did with them: they come back
// together with the failed one. If that one goes to the dead-letter queue, they are written in
// another chunk instead. So the function must accept records that it has written before, as
// every consumer of a queue must.
//
// In logs and metrics, the duration of a record includes its wait and its whole chunk. A
// record behind another one of its group has only the extra time of its own half.
//
// # Middleware
//
// Wrap a bulk handler in middleware with [batch.Chain]; other wrapping may hide the concurrency
// that the handler asks for. With middleware, a chunk holds only one record of a FIFO group. Put
// middleware that only changes the record (envelopes, payloads) into [Config].Unwrap, which has
// neither effect.
//
// # Failures
//
// An error of the function is the error of every item. An ordinary error counts as a failure of
// the destination: all records come back with the backoff. To fail a single item, call
// [Item.Fail]. After [batch.Abort] by the function or an item, records that wait to be written
// fail as well, and come back after the time of the abort.
//
// A permanent error (by a verb or by Classify) or a panic is often about one record, which is
// unknown. So the chunk is split in half, and again, until the failing call has only one record,
// and the other records do not become dead letters with it. This costs about 2 log2(n) calls,
// and the function may get a record again within the same chunk.
//
// Records of a half that was written succeed at once, even if the call for the other half
// hangs. No half is started after the end of the chunk's context: its records come back
// with the backoff.
//
// # A function that does not return
//
// The chunk's context ends at the earliest deadline of its records, or when no record waits
// for the chunk any more. It has the values of the batch's context, such as the invocation's
// request id, but no values of a record: see [Context].
//
// A function that ignores the end of the context is abandoned, and so are its records, as with
// any handler. After the grace, the next chunk takes its place ([Config].Parallel), although the
// function may still run. In a container, each of its records counts as an abandoned handler
// (handler.PollConfig.MaxAbandoned).
package bulk
