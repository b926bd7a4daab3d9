// Package partialfailure decides what happens to records that fail. [Config] has the
// backoff of failed records, and chooses what happens to records that failed for good.
// [Origin] describes where a dead letter came from. [Failures] and [AppendResponse] write
// the partial batch response that tells Lambda which records to keep:
//
//	response := partialfailure.AppendResponse(nil, partialfailure.Failures(results))
//
// Most programs only set [Config]; packages handler and longpoll apply it. No record is
// lost because a call to SQS fails: if its visibility could not be set, the record comes
// back after the queue's own visibility timeout.
package partialfailure
