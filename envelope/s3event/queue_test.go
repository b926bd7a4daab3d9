package s3event_test

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

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notify is the body that SNS makes of a message.
func notify(t *testing.T, message string) string {
	t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	return `{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-west-1:123456789012:photos","Subject":"Amazon S3 Notification","Message":` + string(text) + `}`
}

// In one queue: notifications by way of a topic, of one that delivers raw, and
// of the bucket itself; the test of each; and what is none.
func TestInSNSOnAQueue(t *testing.T) {
	for _, fifo := range []bool{false, true} {
		t.Run(fmt.Sprintf("fifo=%v", fifo), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const canary = "swordfish"
				var mu sync.Mutex
				var got []string
				failed := false
				h := sns.Unwrap(s3event.Each(func(ctx context.Context, r events.S3EventRecord) error {
					mu.Lock()
					defer mu.Unlock()
					_, enveloped := sns.From(ctx)
					got = append(got, fmt.Sprintf("%s %v", r.S3.Object.Key, enveloped))
					if r.S3.Object.Key == "b 2" && !failed {
						failed = true
						return batch.RetryAfter(time.Second, errors.New("no such album"))
					}
					return nil
				}))
				bad := notify(t, `{"orderId":"`+canary+`"}`)
				q := testqueue.New(t, fifo)
				q.SendTo("g", testEvent, notify(t, testEvent), notify(t, notification("a+1")), notify(t, notification("b+1", "b+2", "b+3")), notification("c+1"), bad)
				var log bytes.Buffer
				l, err := handler.New(h, handler.Config{SQS: q.Client, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				q.Map(time.Minute, l.Invoke)

				// What failed begins again, with what had succeeded before it.
				want := []string{"a 1 true", "b 1 true", "b 2 true", "b 1 true", "b 2 true", "b 3 true", "c 1 false"}
				if !fifo {
					slices.Sort(got)
					slices.Sort(want)
				}
				if !slices.Equal(got, want) {
					t.Errorf("the function got %q, want %q", got, want)
				}
				dead := q.DeadLetters()
				if left, _ := q.Left(); left != 0 || len(dead) != 1 || *dead[0].Body != bad {
					t.Errorf("%d messages are left, dead letters: %+v", left, dead)
				}
				if strings.Contains(log.String(), canary) || !strings.Contains(log.String(), "it has no Records") || !strings.Contains(log.String(), "record 2 of 3 of the S3 notification: no such album") {
					t.Errorf("log %s", &log)
				}
			})
		})
	}
}
