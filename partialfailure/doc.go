// Package partialfailure decides what happens to records that fail. [Config] is the field
// Failures of handler.Config: how long failed records are retried, and what happens to records
// that failed for good. [Origin] is the source and the reason of a dead letter.
//
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{
//		Failures: partialfailure.Config{Outage: 3 * time.Hour},
//	})
//
// No record is lost because a call to SQS fails: if its visibility could not be set, the record
// comes back after the queue's own visibility timeout.
package partialfailure
