// Package lambda emulates AWS Lambda for tests and local runs: functions that
// are invoked in environments, and the event source mapping that feeds them
// from an SQS queue.
//
// Start deploys a Function. Its code is either a program that speaks Lambda's
// Runtime API, such as a bootstrap built with aws-lambda-go, or a Go function
// in this process, which also works in the virtual time of testing/synctest:
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
// A Mapping feeds a Deployment from a queue, by the rules of Lambda's event
// source mapping: batch size and window, the 6 MB cut, maximum concurrency,
// FIFO groups, filters, and what each response deletes (see Mapping and the
// example).
//
// Environments come and go as on Lambda: one is started when no warm one is
// free, up to Function.Concurrency; it runs one invocation at a time, or
// Function.ConcurrencyPerEnvironment; at the timeout (unless it is shared so),
// and after a crash, its process group is killed and the next invocation starts
// a new process.
//
// What the mapping leaves to the queue it leaves as Lambda does: the visibility
// of failed messages is untouched, so that a function's own
// ChangeMessageVisibility holds.
//
// What differs from Lambda: a process is not frozen between invocations, memory
// is not limited, and a process that does not start within 10 s plus the
// function's timeout is not tried a second time within the same invocation.
// Extensions get no events. The mapping keeps one receive open where Lambda
// starts with five (Mapping.Pollers), and does not scale their number; it reads
// the queue's visibility timeout once, at its start, and refuses filters on
// anything but the body. The servers listen on loopback only.
package lambda
