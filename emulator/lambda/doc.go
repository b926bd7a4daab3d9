// Package lambda emulates AWS Lambda for tests and local runs: functions that run in
// environments, and the event source mapping that feeds them from an SQS queue.
//
// Start deploys a Function. Its code is either a program that speaks Lambda's Runtime API,
// such as a bootstrap built with aws-lambda-go, or a Go function in this process. A Go
// function also works in the virtual time of testing/synctest.
//
//	fn, err := lambda.Start(lambda.Function{
//		Name:    "orders",
//		Timeout: 10 * time.Second,
//		Command: []string{"./bootstrap"},
//	})
//	if err != nil {
//		return err
//	}
//	defer fn.Close()
//	result, err := fn.Invoke(ctx, []byte(`{"Records":[]}`))
//
// A Mapping feeds a Deployment from a queue, by the rules of Lambda's event source mapping:
// batch size and window, the limit of 6 MB, maximum concurrency, FIFO groups, filters, and
// the messages that each response deletes (see Mapping and the example).
//
// Environments start and end as on Lambda. A new one is started if no warm one is free, up
// to Function.Concurrency. It runs one invocation at a time, or
// Function.ConcurrencyPerEnvironment. After a crash, and at the timeout, its process group
// is killed, and the next invocation starts a new process. Exception: at a timeout, an
// environment with several invocations goes on.
//
// Like Lambda, the mapping does not change the visibility of failed messages, so that a
// function's own ChangeMessageVisibility stays in effect.
//
// Differences from Lambda:
//
//   - A process is not frozen between invocations, and its memory is not limited.
//   - A process that does not start within 10 s plus the function's timeout is not started a second time for the same invocation.
//   - Extensions get no events.
//   - The mapping keeps one receive open, where Lambda starts with five (Mapping.Pollers), and does not scale their number.
//   - The mapping reads the queue's visibility timeout only once, at its start.
//   - Filters on anything but the body are refused.
//   - The servers listen on loopback only.
package lambda
