package envelope_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

type order struct {
	ID    string `json:"id"`
	Items []struct {
		SKU string `json:"sku"`
		Qty int    `json:"qty"`
	} `json:"items"`
}

// notify is the body that SNS makes of a message.
func notify(message string) string {
	text, _ := json.Marshal(message)
	return `{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-west-1:123456789012:t","Subject":"shop","Message":` + string(text) +
		`,"MessageAttributes":{"kind":{"Type":"String","Value":"rush"}}}`
}

// In one queue: an event by way of a topic, one that was delivered raw, and one that cannot
// be decoded, which becomes a dead letter as it came. No body is in the log.
func TestEnvelopesOnAQueue(t *testing.T) {
	const canary = "swordfish"
	event := func(detail string) string {
		return `{"source":"shop","detail-type":"Order Placed","detail":` + detail + `}`
	}
	var got []string
	h := sns.Unwrap(eventbridge.JSON(func(ctx context.Context, e eventbridge.Event[order]) error {
		n, _ := sns.From(ctx)
		r, _ := batch.RecordFrom(ctx)
		if got = append(got, e.Detail.ID+n.Subject+r.MessageAttributes["kind"].StringValue); len(got) == 2 {
			return batch.RetryAfter(time.Second, errors.New("no stock"))
		}
		return nil
	}))
	var log bytes.Buffer
	cfg := sqstest.Config{FIFO: true, Handler: handler.Config{Concurrency: 1, Logger: slog.New(slog.NewJSONHandler(&log, nil))}}
	sqstest.RunWith(t, h, cfg, func(t *testing.T, q *sqstest.Queue) {
		q.Send(notify(event(`{"id":"1"}`)), event(`{"id":"2"}`), notify(event(`{"id":["`+canary+`"]}`)))
		q.UntilIdle()
		q.Want("succeeded", "retry, succeeded", "skipped, dead-letter")
		if bad := q.Messages()[2]; bad.DeadLetter.IsZero() { // it has another body than was sent
			t.Errorf("what is malformed: %s", bad)
		}
	})
	if want := []string{"1shoprush", "2", "2"}; !slices.Equal(got, want) {
		t.Errorf("the function got %q, want %q", got, want)
	}
	if strings.Contains(log.String(), canary) || !strings.Contains(log.String(), `field \"detail.id\": a JSON array does not go into string, at offset`) {
		t.Errorf("log %s", &log)
	}
}

type refused struct{ batch.HandlerFunc }

func (refused) Validate() error { return errors.New("MaxItems is -1") }

// What runs handlers asks them for mistakes in their options.
func TestValidateAsksTheHandlerWithin(t *testing.T) {
	h := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	for name, unwrap := range map[string]func(batch.Handler) batch.Handler{"sns": sns.Unwrap, "eventbridge": eventbridge.Unwrap} {
		for want, inner := range map[string]batch.Handler{"<nil>": h, "MaxItems is -1": refused{h}} {
			if err := unwrap(inner).(interface{ Validate() error }).Validate(); fmt.Sprint(err) != want {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
}
