// Package settle reports outcomes to SQS: it deletes records, sets their visibility, and
// sends those that failed for good to the dead-letter queue.
//
// A [Policy] is made once and serves the process. Each owner gets a settler: an invocation
// a [Batch], a poller a [Settler] for its life. A settler is used with its owner's lock. Its
// calls run on goroutines that have copies ([call]), and pass SQS's answers to the owner.
//
//	Fail, Release, Delete, DeadLetter → enqueue → a lane → Flush → a call → answered → Settled
//
// No failed call loses a record. If a visibility could not be set, the record comes back
// when its visibility timeout ends. If a record could not be deleted, it is delivered
// again.
//
// A file calls those below it in this list.
//
//   - batch.go: the settler of an invocation
//   - flush.go: calls are begun, and SQS's answers applied
//   - settler.go: what becomes of a record; apart.go: records that may have ended their process
//   - call.go, deadletter.go: a call, and its contents
//   - attributes.go: questions about a queue; schedule.go: when records come back
//   - lane.go: what waits for a call; warnings.go
//   - policy.go: what outlives a batch, such as what is known of queues
package settle
