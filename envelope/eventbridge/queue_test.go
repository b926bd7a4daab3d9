package eventbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// orderEvent is an event with an order, and notify what SNS makes of it.
func orderEvent(id string) string {
	return fmt.Sprintf(`{"version":"0","id":"e-1","detail-type":"Order Placed","source":"shop","detail":{"id":%q}}`, id)
}

func notify(t *testing.T, message string) string {
	t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return `{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-west-1:123456789012:t","Subject":"shop","Message":` + string(text) + `}`
}

// on sends bodies through a queue to h on Lambda, until nothing is left to do.
func on(t *testing.T, q *testqueue.Queue, h batch.Handler, bodies ...string) (log string) {
	t.Helper()
	q.SendTo("g", bodies...)
	var book bytes.Buffer
	l, err := handler.New(h, handler.Config{SQS: q.Client, Logger: slog.New(slog.NewJSONHandler(&book, nil))})
	if err != nil {
		t.Fatal(err)
	}
	q.Map(time.Minute, l.Invoke)
	return book.String()
}

func TestInSNSOnAQueue(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		t.Run(fmt.Sprintf("fifo=%v", fifo), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const canary = "swordfish"
				var mu sync.Mutex
				var got []string
				failed := false
				h := sns.Unwrap(eventbridge.JSON(func(ctx context.Context, e eventbridge.Event[order]) error {
					mu.Lock()
					defer mu.Unlock()
					n, enveloped := sns.From(ctx)
					got = append(got, fmt.Sprintf("%s %s %s%v", e.Source, e.Detail.ID, n.Subject, enveloped))
					if e.Detail.ID == "o-2" && !failed {
						failed = true
						return batch.RetryAfter(time.Second, errors.New("no stock"))
					}
					return nil
				}))
				q := testqueue.New(t, fifo)
				bad := notify(t, `{"source":"shop","detail-type":"Order Placed","detail":{"id":["`+canary+`"]}}`)
				log := on(t, q, h, notify(t, orderEvent("o-1")), orderEvent("o-2"), notify(t, orderEvent("o-3")), bad)
				want := []string{"shop o-1 shoptrue", "shop o-2 false", "shop o-2 false", "shop o-3 shoptrue"}
				if !fifo {
					slices.Sort(got)
				}
				if !slices.Equal(got, want) {
					t.Errorf("the function got %q, want %q", got, want)
				}
				dead := q.DeadLetters()
				if left, _ := q.Left(); left != 0 || len(dead) != 1 || *dead[0].Body != bad {
					t.Errorf("%d messages are left, dead letters: %+v", left, dead)
				}
				if strings.Contains(log, canary) || !strings.Contains(log, `field \"detail.id\": a JSON array does not go into string, at offset`) {
					t.Errorf("log %s", log)
				}
			})
		})
	}
}

func TestUnwrapOnAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		h := eventbridge.Unwrap(batch.JSON(func(ctx context.Context, o order) error {
			mu.Lock()
			defer mu.Unlock()
			e, _ := eventbridge.From(ctx)
			got = append(got, o.ID+" "+e.DetailType)
			return nil
		}))
		q := testqueue.New(t, testqueue.Standard)
		on(t, q, h, orderEvent("o-1"), orderEvent("o-2"), orderEvent(""), `{"id":"o-3"}`)
		slices.Sort(got)
		if left, dead := q.Left(); left != 0 || dead != 2 || !slices.Equal(got, []string{"o-1 Order Placed", "o-2 Order Placed"}) {
			t.Errorf("the function got %q, %d left, %d dead letters", got, left, dead)
		}
	})
}
