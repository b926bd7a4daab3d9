// Package longpoll consumes an SQS queue by long polling and calls a handler for each
// record. It does in a container what an event source mapping does for a Lambda function.
//
// The handler runs unchanged on Lambda and here: package batch defines its deadlines,
// verbs, order and hooks, and package partialfailure decides what happens to failed
// records.
//
// A record is received, waits for a slot if none is free, is handled, and is settled. If
// its handler returned nil, it is deleted. If it failed, it goes to the dead-letter queue
// or becomes visible after its backoff. While a record is held, heartbeats extend its
// visibility, so that after a crash it comes back within Config.Visibility. Hooks see a
// batch for each record, or for the records of a FIFO group that were received together.
//
// A busy queue costs 0.1 requests per record for receiving and 0.1 for deleting. For ten
// records, each 20 s of handling costs one request to extend their visibility. Ten failures
// cost one request. An idle queue costs one request in 20 s.
//
// A file calls those below it in this list. Exception: do makes a step.
//
//   - poller.go: the loop, its steps, and what users call; heartbeat.go: extensions, due now and then
//   - queue.go: finding the queue; receive.go: receives; drain.go: a stop
//   - load.go: what this poller holds, from its receipt until the handler has returned
//   - settle.go: what becomes of it
//   - message.go, status.go, intake.go, config.go: one message, what users see, the state of receives
//   - trouble.go: calls that fail; state.go: what may be done now, and the ways to the lock, SQS and hooks
package longpoll
