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
// Read the files in this order: settler.go (from a failure to requests), lane.go (batches
// of ten, lingering, retries), call.go and deadletter.go (the contents of a call),
// schedule.go and attributes.go (when records come back), batch.go (Lambda), policy.go
// (state that outlives a batch), warnings.go.
package settle
