package dlq

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
)

// Use has the commands call a client until the test ends.
func Use(t *testing.T, client *sqs.Client) {
	before := connect
	connect = func(context.Context, queue.Settings, string) (*queue.Account, error) { return queue.New(client), nil }
	t.Cleanup(func() { connect = before })
}
