package partialfailure_test

import (
	"fmt"
	"time"

	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// A backoff of your own is a function of the attempt that failed.
func ExampleBackoff() {
	night := partialfailure.Backoff(func(attempt int) time.Duration {
		if attempt > 3 {
			return 8 * time.Hour // the partner's office opens
		}
		return time.Minute
	})
	fmt.Println(night(3), night(4))
	// Output: 1m0s 8h0m0s
}

// Records survive a dependency that is down for three hours, on a queue with any
// maxReceiveCount above 2.
func ExampleConfig() {
	cfg := partialfailure.Config{Outage: 3 * time.Hour, OnPermanent: partialfailure.DeadLetter} // handler.Config{Failures: cfg}
	fmt.Println(cfg.Outage, cfg.OnPermanent)
	// Output: 3h0m0s dead-letter
}

// The attribute of a dead letter says where it came from, and why it failed.
func ExampleParseOrigin() {
	origin, err := partialfailure.ParseOrigin(`{"v":1,"reason":"no such SKU","messageId":"m-1","attempts":2,"queue":"arn:aws:sqs:eu-west-1:123456789012:orders"}`)
	fmt.Println(origin.Reason, origin.Attempts, err)
	// Output: no such SKU 2 <nil>
}
