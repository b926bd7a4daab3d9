// Package handler runs a function that handles one SQS record, on AWS Lambda
// behind an SQS event source mapping with ReportBatchItemFailures:
//
//	func main() {
//		handler.Run(batch.JSON(shipOrder))
//	}
//
// Records of a batch run concurrently, each under a deadline derived from the
// invocation's remaining time. Those that failed are reported to Lambda, which
// keeps them in the queue, after their next visibility was set so that they
// come back with backoff.
//
// [Run] takes its [Config] from the environment, [RunWith] from code as well,
// and [New] gives a handler for programs that have a main of their own.
package handler
