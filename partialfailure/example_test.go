package partialfailure_test

import (
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// The response names the messages that Lambda must not delete.
func ExampleAppendResponse() {
	results := []batch.Result{
		{Record: &batch.Record{MessageID: "m-1"}, Outcome: batch.Succeeded},
		{Record: &batch.Record{MessageID: "m-2"}, Outcome: batch.Retry},
		{Record: &batch.Record{MessageID: "m-3"}, Outcome: batch.DeadLettered},
		{Record: &batch.Record{MessageID: "m-4"}, Outcome: batch.NotStarted},
	}
	fmt.Println(string(partialfailure.AppendResponse(nil, partialfailure.Failures(results))))
	// Output: {"batchItemFailures":[{"itemIdentifier":"m-2"},{"itemIdentifier":"m-4"}]}
}

// A backoff of your own is a function of the attempt that failed.
func ExampleBackoff() {
	backoff := partialfailure.Linear(30*time.Second, 2*time.Minute)
	fmt.Println(backoff(1), backoff(2), backoff(5))

	night := partialfailure.Backoff(func(attempt int) time.Duration {
		if attempt > 3 {
			return 8 * time.Hour // the partner's office opens
		}
		return time.Minute
	})
	fmt.Println(night(3), night(4))
	// Output:
	// 30s 1m0s 2m0s
	// 1m0s 8h0m0s
}
