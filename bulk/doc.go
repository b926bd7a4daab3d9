// Package bulk is for functions that write many records at once: rows into a
// database, documents into an index, entries of a batch call.
//
//	handler.Run(bulk.JSON(insertOrders, bulk.Config{MaxItems: 100}))
//
//	func insertOrders(ctx context.Context, items []bulk.Item[Order]) error {
//		results, err := table.Insert(ctx, items)
//		if err != nil {
//			return err // fails all that were not failed one by one
//		}
//		for i := range results {
//			if err := results[i].Err; err != nil {
//				items[i].Fail(err) // fails this one, with any verb
//			}
//		}
//		return nil
//	}
//
// It is a [batch.Handler] like any other: each record has its own deadline,
// outcome, backoff, dead letter, heartbeat and line in the log; only that its call
// waits for the chunk that the record is part of, and the chunk is written by one
// call of the function. Chunks gather within a batch on Lambda, and across
// receives in a container, for each queue by itself.
//
// # When a chunk is written
//
// When it is full ([Config].MaxItems, MaxBytes), [Config].Linger after its first
// record, or as soon as no further record can join it: on Lambda all of the batch
// is there, and nothing waits; in a container when it stops. A chunk needs as many records at a time as it has
// items, so that a bulk handler asks for a concurrency of MaxItems x Parallel
// where none is configured (batch.Config.Concurrency, SQSBATCH_CONCURRENCY). A lower
// one makes smaller chunks.
//
// # Order
//
// A chunk holds the records of a FIFO group in order, as many as are there. When
// one fails, those behind it in its group are not done, whatever the function
// did with them: they come back with it, or are part of another chunk when it went
// to the dead-letter queue. The function must therefore bear to see a record
// again, as every function of a queue. In logs and metrics a record's duration is
// that of its wait and its chunk; one behind another in its group has only what its
// own half takes longer.
//
// # Abort
//
// With [batch.Abort], of the function or of an item, what waits to be written is not:
// it fails as well, and comes back after that time.
//
// # Middleware
//
// Middleware around a bulk handler works, by [batch.Chain]: put there otherwise, it
// may hide how many records the handler wants at a time. In either case a chunk
// holds one record of a FIFO group. What only changes the record (envelopes,
// payloads) goes into [Config].Unwrap, which hides nothing.
//
// # One record that spoils the call
//
// The error that the function returns is the error of every item. An error that no
// retry can fix (a verb, or by Classify), or a panic, is about one of them, and nobody
// knows which: the chunk is halved, and halved again, until the call that fails is for
// one record, at the price of some 2 log2(n) calls. The others are not dead letters
// with it. So the function may see a record again within the same chunk. An
// ordinary error is taken for the sink's: all come back with the backoff. A
// function that knows which item it was says so by [Item.Fail].
//
// The records of a half that was written succeed at once, even if the call for the
// other half hangs. No half begins after the end of the chunk's context: its
// records come back with the backoff.
//
// # A function that does not return
//
// The chunk's context ends at the earliest deadline of its records, or when nobody
// waits for any of them; its values are those of its first record, batch.RecordFrom and
// the span of a trace among them. A function that
// ignores it is given up, and its records are abandoned, like any handler; a grace
// later its place ([Config].Parallel) goes to the next chunk, while it may still run.
// In a container each of its records counts as an abandoned handler
// (longpoll.Config.MaxAbandoned).
package bulk
