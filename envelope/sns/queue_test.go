package sns_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notify is the body that SNS makes of a message.
func notify(t testing.TB, message string) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"Type": "Notification", "MessageId": "n-1", "TopicArn": "arn:aws:sns:eu-west-1:123456789012:orders", "Subject": "orders",
		"Message": message, "Timestamp": "2026-11-21T05:12:16.901Z", "SignatureVersion": "1", "Signature": "x", "SigningCertURL": "x", "UnsubscribeURL": "x",
		"MessageAttributes": map[string]any{"kind": map[string]string{"Type": "String", "Value": "rush"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// invoke sends bodies through the queue to h on Lambda, and returns how many
// records the response has as failed, and the log.
func invoke(t *testing.T, q *testqueue.Queue, h batch.Handler, bodies ...string) (failed int, log string) {
	t.Helper()
	q.SendTo("g", bodies...)
	var book bytes.Buffer
	l, err := handler.New(h, handler.Config{SQS: q.Client, Logger: slog.New(slog.NewJSONHandler(&book, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	answer, err := l.Invoke(ctx, testqueue.Event(q.Receive(len(bodies))))
	var response struct{ BatchItemFailures []any }
	if err != nil || json.Unmarshal(answer, &response) != nil {
		t.Fatalf("%s, %v", answer, err)
	}
	return len(response.BatchItemFailures), book.String()
}

func TestOnAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const canary = "swordfish"
		confirmation := strings.Replace(notify(t, canary), `"Notification"`, `"SubscriptionConfirmation"`, 1)
		var mu sync.Mutex
		var got []string
		h := sns.Unwrap(batch.JSON(func(ctx context.Context, o order) error {
			mu.Lock()
			defer mu.Unlock()
			n, _ := sns.From(ctx)
			r, _ := batch.RecordFrom(ctx)
			got = append(got, o.ID+n.Subject+r.MessageAttributes["kind"].StringValue)
			if o.ID == "o-3" {
				return errors.New("no stock")
			}
			return nil
		}))
		q := testqueue.New(t, testqueue.Standard)
		failed, log := invoke(t, q, h, notify(t, `{"id":"o-1"}`), `{"id":"o-2"}`, notify(t, `{"id":"o-3"}`), confirmation, notify(t, `{"id":"`+canary))
		slices.Sort(got)
		if !slices.Equal(got, []string{"o-1ordersrush", "o-2", "o-3ordersrush"}) || failed != 1 {
			t.Errorf("the function got %q, %d failed", got, failed)
		}
		// What is malformed is there as SQS has had it.
		var dead []string
		for _, m := range q.DeadLetters() {
			dead = append(dead, *m.Body)
		}
		if len(dead) != 2 || !slices.Contains(dead, confirmation) || !slices.Contains(dead, notify(t, `{"id":"`+canary)) {
			t.Errorf("dead letters %q", dead)
		}
		if strings.Contains(log, canary) || !strings.Contains(log, "Open its SubscribeURL") || !strings.Contains(log, "malformed body: not valid JSON") && !strings.Contains(log, "malformed body: the JSON ends too early") {
			t.Errorf("log %s", log)
		}
	})
}

func TestOnAFIFOQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		h := sns.Unwrap(batch.JSON(func(_ context.Context, o order) error {
			got = append(got, o.ID)
			if o.ID == "o-2" {
				return errors.New("no stock")
			}
			return nil
		}))
		q := testqueue.New(t, testqueue.FIFO)
		failed, _ := invoke(t, q, h, notify(t, `{"id":"o-1"}`), notify(t, `{"id":"o-2"}`), `{"id":"o-3"}`)
		if !slices.Equal(got, []string{"o-1", "o-2"}) || failed != 2 {
			t.Errorf("the function got %q, %d failed", got, failed)
		}
	})
}
