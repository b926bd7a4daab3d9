// Package handler runs a function that handles one SQS record, on AWS Lambda
// behind an SQS event source mapping with ReportBatchItemFailures, or in a
// container that polls a queue:
//
//	func main() {
//		handler.Run(batch.JSON(shipOrder))
//	}
//
// Records of a batch run concurrently, each under a deadline derived from the
// invocation's remaining time. Those that failed are reported to Lambda, which
// keeps them in the queue, after their next visibility was set so that they
// come back with backoff. In a container [Poll] does the same, one record at a
// time for each slot, and deletes what succeeded.
//
// [Run] takes its [Config] from the environment, [RunWith] from code as well,
// and [New] gives a handler for programs that have a main of their own.
package handler
