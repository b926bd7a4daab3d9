package sqs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/test/random"
)

// mutant makes a server wrong: it stands between the clients of a history and the server.
type mutant func(caller) caller

// TestHistoriesMutants shows that the histories find servers that are wrong.
func TestHistoriesMutants(t *testing.T) {
	n := 0
	unique := func(old any) any { n++; return fmt.Sprint(old, n) }
	more := func(old any) any { return old.(int) + 1 }
	for name, wrong := range map[string]mutant{
		"an empty receive returns the messages of the receive before": answering("ReceiveMessage", "Messages", func(now, before any) any {
			if now == nil {
				return before
			}
			return now
		}),
		"a receive loses a message": answering("ReceiveMessage", "Messages", func(now, _ any) any {
			if list, _ := now.([]any); len(list) > 2 {
				return list[1:]
			}
			return now
		}),
		"a receive returns messages in another order": answering("ReceiveMessage", "Messages", func(now, _ any) any {
			if list, _ := now.([]any); len(list) > 1 {
				list[0], list[1] = list[1], list[0]
			}
			return now
		}),
		"a count is that of the call before": answering("GetQueueAttributes", "Attributes", func(now, before any) any {
			if before == nil {
				return now
			}
			return before
		}),
		"a long poll does not see new messages until its end": instead("ReceiveMessage", func(next caller, in map[string]any) map[string]any {
			time.Sleep(time.Duration(in["WaitTimeSeconds"].(int)) * time.Second)
			in["WaitTimeSeconds"] = 0
			answer, _ := next(context.Background(), "ReceiveMessage", in)
			return answer
		}),
		"a delete takes effect a second after its answer": instead("DeleteMessage", func(next caller, in map[string]any) map[string]any {
			time.AfterFunc(time.Second, func() { next(context.Background(), "DeleteMessage", in) })
			return map[string]any{}
		}),
		"a delete has no effect":                            instead("DeleteMessage", func(caller, map[string]any) map[string]any { return map[string]any{} }),
		"a purge has no effect":                             instead("PurgeQueue", func(caller, map[string]any) map[string]any { return map[string]any{} }),
		"the visibility timeout is a second longer":         asking("ReceiveMessage", "VisibilityTimeout", more),
		"a changed visibility timeout is a second longer":   asking("ChangeMessageVisibility", "VisibilityTimeout", more),
		"a message's delay is a second longer":              asking("SendMessage", "DelaySeconds", more),
		"a receive returns one message more":                asking("ReceiveMessage", "MaxNumberOfMessages", more),
		"a message in flight does not block its FIFO group": asking("SendMessage", "MessageGroupId", unique),
		"duplicates are messages of their own":              asking("SendMessage", "MessageDeduplicationId", unique),
		"a receive attempt is not repeated":                 asking("ReceiveMessage", "ReceiveRequestAttemptId", unique),
		"a move task is slower":                             asking("StartMessageMoveTask", "MaxNumberOfMessagesPerSecond", func(any) any { return 1 }),
		"messages are received once more before they are dead letters": asking("CreateQueue", "Attributes", func(old any) any {
			attributes := old.(map[string]string)
			for from := 3; from > 0; from-- {
				attributes["RedrivePolicy"] = strings.Replace(attributes["RedrivePolicy"], fmt.Sprintf(":%d}", from), fmt.Sprintf(":%d}", from+1), 1)
			}
			return attributes
		}),
	} {
		t.Run(name, func(t *testing.T) {
			random.Catch(t, 300, func(t *testing.T, seed uint64) string { return drawHistory(seed).find(t, wrong, random.Seen{}) })
		})
	}
}

// asking changes a parameter of an operation, if it is given; in batches, that of each entry.
func asking(operation, parameter string, change func(old any) any) mutant {
	return func(next caller) caller {
		var mu sync.Mutex
		return func(ctx context.Context, name string, in map[string]any) (map[string]any, string) {
			mu.Lock()
			if strings.TrimSuffix(name, "Batch") == operation {
				entries, _ := in["Entries"].([]map[string]any)
				for _, e := range append(entries, in) {
					if old, given := e[parameter]; given {
						e[parameter] = change(old)
					}
				}
			}
			mu.Unlock()
			return next(ctx, name, in)
		}
	}
}

// answering changes a member of an operation's answers. before is what the server last answered.
func answering(operation, member string, change func(now, before any) any) mutant {
	return func(next caller) caller {
		var mu sync.Mutex
		var before any
		return func(ctx context.Context, name string, in map[string]any) (map[string]any, string) {
			answer, code := next(ctx, name, in)
			if mu.Lock(); name == operation && answer != nil {
				now := answer[member]
				answer[member], before = change(now, before), now
			}
			mu.Unlock()
			return answer, code
		}
	}
}

// instead replaces an operation.
func instead(operation string, do func(next caller, in map[string]any) (answer map[string]any)) mutant {
	return func(next caller) caller {
		return func(ctx context.Context, name string, in map[string]any) (map[string]any, string) {
			if name == operation {
				return do(next, in), ""
			}
			return next(ctx, name, in)
		}
	}
}
