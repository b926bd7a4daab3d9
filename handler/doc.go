// Package handler runs a function that handles one SQS record. It runs on AWS Lambda,
// behind an SQS event source mapping with ReportBatchItemFailures, or in a container that
// polls a queue:
//
//	func main() {
//		handler.Run(batch.JSON(shipOrder))
//	}
//
// On Lambda, the records of a batch run concurrently, each under a deadline derived from
// the invocation's remaining time. The response reports failed records to Lambda, which
// keeps them in the queue. Before that, their visibility is set, so that they come back
// with backoff. In a container, [Poll] does the same for each record as soon as it has
// finished, and deletes records that succeeded.
//
// [Run] takes its [Config] from the environment. [RunWith] also takes one from code. [New]
// returns a Lambda handler, and [NewPoller] a poller, for programs with a main function of
// their own.
package handler
