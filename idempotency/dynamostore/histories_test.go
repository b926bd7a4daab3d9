package dynamostore_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/idempotency/dynamostore"
	"github.com/sqsbatch/sqsbatch/idempotency/internal/histories"
)

// The faults are between AWS's client, which retries, and a server. In real time many histories
// are made at once, since they mostly wait. storetest finds each part of the conditions that is
// missing, and the mutants of package histories show that it finds mistakes.
func TestHistories(t *testing.T) {
	for _, s := range servers(t, "id") {
		t.Run(s.name, func(t *testing.T) {
			c := histories.Config{
				Few: 100, Many: 100, Lease: time.Second, Lag: 100 * time.Millisecond, Slack: 2 * time.Millisecond, Test: s.test,
				Store: func(f *histories.Faults) idempotency.Store {
					return dynamostore.New(clientOf(f.Transport(s.transport()), s.endpoint, func(o *dynamodb.Options) {
						o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = s.backoff })
					}), plainTable)
				},
			}
			if s.name != "fake" {
				c.Few, c.Many, c.AtOnce, c.Lease, c.Lag = 40, 40, 10, 200*time.Millisecond, 10*time.Millisecond
			}
			histories.Check(t, c)
		})
	}
}
