// Package settle tells SQS what became of records: it deletes them, sets when they are
// visible again, and sends those that failed for good to the dead-letter queue.
//
// A [Policy] is made once and serves the process. Each owner gets a settler: an invocation
// a [Batch], a poller a [Settler] for its life. A settler belongs to its owner's goroutine,
// and has no lock. Its calls are made by goroutines that have copies ([call]), and hand
// what SQS answered to the owner.
//
//	Fail, Release, Delete, DeadLetter → enqueue → a lane → Flush → a call → answered → Settled
//
// No call that fails loses a record. A record whose visibility could not be set comes back
// when SQS shows it by itself; one that could not be deleted is delivered again.
//
// Read in this order: settler.go (from a failure to what is asked of SQS), lane.go (tens,
// lingering, tries), call.go and deadletter.go (what a call says), schedule.go and
// attributes.go (when records come back), batch.go (Lambda), policy.go (what outlives a
// batch), warnings.go (what the hooks are warned of).
package settle
