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
package longpoll
