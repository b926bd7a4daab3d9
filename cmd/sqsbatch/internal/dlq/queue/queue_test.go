package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/dlq/queue"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/message"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sqscall"
)

// virtual runs a test with a queue in virtual time.
func virtual(t *testing.T, test func(t *testing.T, server *sqs.Server, q *queue.Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := sqs.New(sqs.Config{})
		defer server.Close()
		client := server.Client(sqscall.Once)
		if _, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("q")}); err != nil {
			t.Fatal(err)
		}
		q, err := queue.New(client).Open(t.Context(), "q", queue.Opening)
		if err != nil {
			t.Fatal(err)
		}
		test(t, server, q)
	})
}

func messages(n, size int) (list []message.Message) {
	for i := range n {
		list = append(list, message.Message{Body: fmt.Sprint(i, strings.Repeat("x", size))})
	}
	return list
}

func inject(t *testing.T, server *sqs.Server, f sqs.Fault) {
	t.Helper()
	if err := server.Inject(f); err != nil {
		t.Fatal(err)
	}
}

// A call has ten messages and 1 MiB at most.
func TestSend_DividesByNumberAndSize(t *testing.T) {
	for _, c := range []struct{ n, size, calls int }{{10, 10, 1}, {11, 10, 2}, {4, 1 << 19, 4}, {3, 1<<20 - 10, 3}, {0, 0, 0}} {
		virtual(t, func(t *testing.T, server *sqs.Server, q *queue.Queue) {
			errs, unsure := q.Send(t.Context(), messages(c.n, c.size))
			if err := errors.Join(errs...); err != nil || len(errs) != c.n || len(unsure) != c.n {
				t.Errorf("%+v: %v", c, err)
			}
			if n := len(server.Calls("SendMessageBatch")); n != c.calls {
				t.Errorf("%+v: %d calls", c, n)
			}
		})
	}
}

// One message that SQS refuses fails no other.
func TestSend_HalvesACallThatIsRefused(t *testing.T) {
	virtual(t, func(t *testing.T, _ *sqs.Server, q *queue.Queue) {
		list := messages(10, 1)
		list[3].Body = "\x01" // refused
		errs, unsure := q.Send(t.Context(), list)
		for i, err := range errs {
			if (err != nil) != (i == 3) || unsure[i] {
				t.Errorf("%d: %v, unsure %v", i, err, unsure[i])
			}
		}
	})
}

// Throttling is waited out for two minutes.
func TestCalls_OutlastThrottling(t *testing.T) {
	virtual(t, func(t *testing.T, server *sqs.Server, q *queue.Queue) {
		inject(t, server, sqs.Fault{Kind: sqs.Throttled, Probability: 1})
		time.AfterFunc(90*time.Second, server.ClearFaults)
		errs, unsure := q.Send(t.Context(), messages(1, 1))
		if errs[0] != nil || unsure[0] {
			t.Errorf("%v, %v", errs, unsure)
		}
		inject(t, server, sqs.Fault{Kind: sqs.Throttled, Probability: 1})
		time.AfterFunc(90*time.Second, server.ClearFaults)
		if err := q.Refresh(t.Context()); err != nil || q.Visible != 1 {
			t.Errorf("%v, %d visible", err, q.Visible)
		}
		inject(t, server, sqs.Fault{Kind: sqs.Throttled, Probability: 1})
		began := time.Now()
		if _, err := q.Receive(t.Context(), 10, time.Minute); err == nil || !strings.Contains(err.Error(), "throttles") || time.Since(began) > queue.Patience {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
