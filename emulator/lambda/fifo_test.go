package lambda_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/lambda"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// groups tracks the groups in running invocations of a FIFO function.
type groups struct {
	*testing.T
	mu     sync.Mutex
	active map[string]bool
	most   int // largest number of concurrent groups
	log    []string
}

// enter fails the test if one of the batch's groups is already in an invocation.
func (g *groups) enter(e events.SQSEvent) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	mine := map[string]bool{}
	for _, r := range e.Records {
		mine[r.Attributes["MessageGroupId"]] = true
		g.log = append(g.log, r.Body[:min(len(r.Body), 3)])
	}
	for group := range mine {
		if g.active[group] {
			g.Errorf("group %s is invoked twice at once", group)
		}
		g.active[group] = true
	}
	g.most = max(g.most, len(g.active))
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		maps.DeleteFunc(g.active, func(group string, _ bool) bool { return mine[group] })
	}
}

func newGroups(t *testing.T) *groups { return &groups{T: t, active: map[string]bool{}} }

func (g *groups) want(log ...string) {
	g.Helper()
	if !slices.Equal(g.log, log) {
		g.Errorf("handled %v, want %v", g.log, log)
	}
}

func TestFIFOGroupsOneAtATime(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders.fifo", 60)
		g := newGroups(t)
		d := w.function(lambda.Function{Timeout: 30 * time.Second}, func(_ context.Context, e events.SQSEvent) (string, error) {
			defer g.enter(e)()
			time.Sleep(10 * time.Second)
			return "", nil
		})
		stop := w.run(lambda.Mapping{Function: d, QueueURL: url})
		for i, body := range []string{"a1", "b1", "a2", "a3", "b2", "c1"} {
			w.after(time.Duration(i) * time.Second)
			w.send(url, body)
		}
		w.after(time.Minute)
		stop()
		w.wantTimes("0s:1", "1s:1", "5s:1", "10s:2", "11s:1")
		g.want("a1", "b1", "c1", "a2", "a3", "b2")
		if g.most != 3 {
			t.Errorf("%d groups at once, want 3", g.most)
		}
	})
}

// A failed group waits for its visibility timeout and keeps its order. Other groups continue.
func TestFIFOFailureKeepsOrder(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders.fifo", 30)
		g := newGroups(t)
		d := w.function(lambda.Function{}, func(_ context.Context, e events.SQSEvent) (string, error) {
			defer g.enter(e)()
			var failed []string
			for _, r := range e.Records {
				if r.Body != "a3" && r.Body[0] == 'a' && r.Attributes["ApproximateReceiveCount"] == "1" {
					failed = append(failed, fmt.Sprintf(`{"itemIdentifier":%q}`, r.MessageId))
				}
			}
			return `{"batchItemFailures":[` + strings.Join(failed, ",") + `]}`, nil
		})
		w.send(url, "a1", "a2", "b1")
		stop := w.run(lambda.Mapping{Function: d, QueueURL: url, ReportBatchItemFailures: true})
		w.after(time.Second)
		w.send(url, "a3", "b2")
		w.after(time.Minute)
		stop()
		w.wantTimes("0s:3", "1s:1", "30s:3")
		g.want("a1", "a2", "b1", "b2", "a1", "a2", "a3")
		w.wantDeleted("a1", "a2", "a3", "b1", "b2")
	})
}

// A message beyond the 6 MB waits for its group. It returns to the queue if the message
// before it failed.
func TestFIFOPayloadCut(t *testing.T) {
	for _, fails := range []bool{false, true} {
		virtualRun(t, fmt.Sprintf("fails=%v", fails), func(w *world) {
			url := w.queue("orders.fifo", 60)
			g := newGroups(w.T)
			d := w.function(lambda.Function{Timeout: 30 * time.Second}, func(_ context.Context, e events.SQSEvent) (string, error) {
				defer g.enter(e)()
				time.Sleep(10 * time.Second)
				if last := e.Records[len(e.Records)-1]; fails && strings.HasPrefix(last.Body, "a5") && last.Attributes["ApproximateReceiveCount"] == "1" {
					return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, last.MessageId), nil
				}
				return "", nil
			})
			for i := range 8 {
				w.send(url, fmt.Sprintf("a%d", i)+strings.Repeat("x", 1_000_000))
			}
			w.runUntil(5*time.Minute, lambda.Mapping{Function: d, QueueURL: url, ReportBatchItemFailures: true})
			for i := range g.log {
				g.log[i] = g.log[i][:2]
			}
			if fails {
				w.wantTimes("0s:6", "1m0s:3")
				g.want("a0", "a1", "a2", "a3", "a4", "a5", "a5", "a6", "a7")
			} else {
				w.wantTimes("0s:6", "10s:2")
				g.want("a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7")
			}
			if n := len(w.server.Events(sqs.Deleted)); n != 8 {
				w.Errorf("deleted %d, want 8", n)
			}
		})
	}
}

// A function that makes its message visible does not get the group again before it ends.
func TestFIFOVisibleBeforeTheEnd(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders.fifo", 60)
		g := newGroups(t)
		d := w.function(lambda.Function{Timeout: 30 * time.Second}, func(ctx context.Context, e events.SQSEvent) (string, error) {
			defer g.enter(e)()
			r := e.Records[0]
			if r.Attributes["ApproximateReceiveCount"] != "1" {
				return "", nil
			}
			_, err := w.client.ChangeMessageVisibility(ctx, &awssqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: &r.ReceiptHandle})
			if err != nil {
				return "", err
			}
			time.Sleep(10 * time.Second)
			return fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, r.MessageId), nil
		})
		w.send(url, "a1")
		w.runUntil(30*time.Second, lambda.Mapping{Function: d, QueueURL: url, ReportBatchItemFailures: true})
		w.wantTimes("0s:1", "10s:1")
		if n := w.invocations[1].Records[0].Attempt; n != 2 {
			t.Errorf("attempt %d, want 2", n)
		}
		w.wantDeleted("a1")
	})
}

// On a standard queue (fair queues), a MessageGroupId implies no order.
func TestStandardQueueWithGroups(t *testing.T) {
	virtual(t, func(w *world) {
		url := w.queue("orders", 60)
		d := w.function(lambda.Function{Timeout: 30 * time.Second}, taking(10*time.Second))
		group := "tenant"
		for _, body := range []string{"a", "b"} {
			if _, err := w.client.SendMessage(w.ctx, &awssqs.SendMessageInput{QueueUrl: &url, MessageBody: &body, MessageGroupId: &group}); err != nil {
				t.Fatal(err)
			}
		}
		w.runUntil(30*time.Second, lambda.Mapping{Function: d, QueueURL: url, BatchSize: 1})
		w.wantTimes("0s:1", "0s:1")
	})
}
