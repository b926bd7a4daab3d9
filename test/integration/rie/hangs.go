//go:build linux

package rie

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/test/integration/internal/sample"
	"github.com/sqsbatch/sqsbatch/test/integration/internal/stage"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// Invocations mostly wait, so several functions run side by side. Each is warm:
// what one invocation has abandoned is still there in those after it.
const (
	functions   = 25
	invocations = 8 // of each function
)

// What an order's sku says (examples/orders), and whether it then fails. What
// succeeds takes far less time than there is; what hangs, an hour.
var (
	ships = []string{"ok", "ok", "ok", "slow:%dms", "hang:%dms"}
	fails = []string{"hang:1h", "hang:1h", "slow:1h", "unknown", "panic", "down"}
)

// hangs invokes the function with random batches. Every answer must come, which
// it does not after the timeout, and list the records that fail and no other.
func hangs(ctx context.Context, s *stage.Stage, program, bootstrap string) error {
	var mu sync.Mutex
	var wrong []error
	var hung int
	var slowest time.Duration
	var wait sync.WaitGroup
	for f := range uint64(functions) {
		wait.Go(func() {
			h, took, err := hang(ctx, s, program, bootstrap, rand.New(rand.NewPCG(1, f)))
			mu.Lock()
			defer mu.Unlock()
			hung, slowest = hung+h, max(slowest, took)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("function %d: %w", f, err))
			}
		})
	}
	wait.Wait()
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	fmt.Printf("%d invocations of %d functions, %d with records that hang: each answered as it must, the slowest after %d ms of %d\n",
		functions*invocations, functions, hung, slowest.Milliseconds(), sample.Timeout.Milliseconds())
	if hung < functions*invocations/4 {
		return fmt.Errorf("only %d invocations hung", hung)
	}
	return nil
}

// hang invokes one function again and again, and returns how many invocations
// had a record that hung, and the longest that one took.
func hang(ctx context.Context, s *stage.Stage, program, bootstrap string, random *rand.Rand) (hung int, slowest time.Duration, err error) {
	defer must.Return(&err)
	e := must.Get(start(ctx, program, bootstrap))
	defer func() {
		e.Stop()
		fmt.Fprintf(s.Log, "\nhanging records:\n%s", e.Log())
	}()
	for i := range invocations {
		payload, want, hangs := randomEvent(i, random)
		answer, took := must.Get2(e.Invoke(ctx, payload))
		var got struct {
			BatchItemFailures []struct{ ItemIdentifier string }
		}
		var listed []string
		err := json.Unmarshal(answer, &got)
		for _, f := range got.BatchItemFailures {
			listed = append(listed, f.ItemIdentifier)
		}
		if err != nil || got.BatchItemFailures == nil || !slices.Equal(listed, want) {
			return 0, 0, fmt.Errorf("invocation %d: answer is %s (%v), want %v, for %s", i, answer, err, want, payload)
		}
		if hangs {
			hung++
		}
		slowest = max(slowest, took)
	}
	return hung, slowest, nil
}

// randomEvent is a batch of up to ten records, and the ids of those that fail.
func randomEvent(i int, random *rand.Rand) (event []byte, failing []string, hangs bool) {
	records := make([]map[string]any, 1+random.IntN(10))
	for r := range records {
		id, sku := fmt.Sprintf("%d-%d", i, r), ships[random.IntN(len(ships))]
		if random.IntN(6) == 0 {
			sku = fails[random.IntN(len(fails))]
			failing = append(failing, id)
			hangs = hangs || sku == "hang:1h" || sku == "slow:1h"
		} else if sku != "ok" {
			sku = fmt.Sprintf(sku, random.IntN(300))
		}
		records[r] = map[string]any{
			"messageId": id, "receiptHandle": id, "body": fmt.Sprintf(`{"id":%q,"sku":%q,"quantity":1}`, id, sku),
			"attributes":  map[string]string{"ApproximateReceiveCount": "1", "SentTimestamp": "1763000000000"},
			"eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:orders", "awsRegion": "us-east-1",
		}
	}
	event, _ = json.Marshal(map[string]any{"Records": records}) // strings
	return event, failing, hangs
}
