// Package partialfailure says what becomes of records that fail: [Config] has the
// backoff with which they come back, and what is done with those that failed for good;
// [Origin] is what a dead letter says about itself; [Failures] and [AppendResponse] make
// the partial batch response that tells Lambda which records to keep.
//
// Packages handler and longpoll do it. No call to SQS that fails loses a record: one whose
// visibility could not be set comes back after the queue's own visibility timeout.
package partialfailure
