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

	"github.com/aws/aws-lambda-go/events"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/s3event"
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

const canary = "swordfish"

// notify is the body that SNS makes of a message.
func notify(message string) string {
	text, _ := json.Marshal(message)
	return `{"Type":"Notification","MessageId":"n-1","TopicArn":"arn:aws:sns:eu-west-1:123456789012:t","Subject":"shop","Message":` + string(text) +
		`,"MessageAttributes":{"kind":{"Type":"String","Value":"rush"}}}`
}

func event(detail string) string {
	return `{"source":"shop","detail-type":"Order Placed","detail":` + detail + `}`
}

func object(keys ...string) string {
	var list []string
	for _, key := range keys {
		list = append(list, `{"eventSource":"aws:s3","s3":{"bucket":{"name":"b"},"object":{"key":"`+key+`"}}}`)
	}
	return `{"Records":[` + strings.Join(list, ",") + `]}`
}

// In one queue: messages by way of a topic, those that were delivered raw, and one that
// cannot be decoded. The function fails at "2" once, which keeps a FIFO group's order.
func TestEnvelopesOnAQueue(t *testing.T) {
	for name, c := range map[string]struct {
		h      func(called func(context.Context, string) error) batch.Handler
		bodies []string // the last is malformed
		want   []string
		log    string
	}{
		"JSON in SNS": {
			func(called func(context.Context, string) error) batch.Handler {
				return sns.Unwrap(batch.JSON(func(ctx context.Context, o order) error { return called(ctx, o.ID) }))
			},
			[]string{notify(`{"id":"1"}`), `{"id":"2"}`, notify(`{"id":"3"}`), notify(`{"id":["` + canary + `"]}`)},
			[]string{"1shoprush", "2", "2", "3shoprush"}, `field \"id\": a JSON array does not go into string`,
		},
		"EventBridge in SNS": {
			func(called func(context.Context, string) error) batch.Handler {
				return sns.Unwrap(eventbridge.JSON(func(ctx context.Context, e eventbridge.Event[order]) error { return called(ctx, e.Detail.ID) }))
			},
			[]string{notify(event(`{"id":"1"}`)), event(`{"id":"2"}`), notify(event(`{"id":["` + canary + `"]}`))},
			[]string{"1shoprush", "2", "2"}, `field \"detail.id\": a JSON array does not go into string, at offset`,
		},
		"S3 in SNS": { // what failed begins again, with what had succeeded before it
			func(called func(context.Context, string) error) batch.Handler {
				return sns.Unwrap(s3event.Each(func(ctx context.Context, r events.S3EventRecord) error { return called(ctx, r.S3.Object.Key) }))
			},
			[]string{`{"Event":"s3:TestEvent"}`, notify(object("1", "2", "3")), object("4"), notify(`{"orderId":"` + canary + `"}`)},
			[]string{"1shoprush", "2shoprush", "1shoprush", "2shoprush", "3shoprush", "4"}, "it has no Records",
		},
	} {
		for _, fifo := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, FIFO %v", name, fifo), func(t *testing.T) {
				var got []string
				failed := false
				h := c.h(func(ctx context.Context, id string) error {
					n, _ := sns.From(ctx)
					r, _ := batch.RecordFrom(ctx)
					got = append(got, id+n.Subject+r.MessageAttributes["kind"].StringValue)
					if id == "2" && !failed {
						failed = true
						return batch.RetryAfter(time.Second, errors.New("no stock"))
					}
					return nil
				})
				var log bytes.Buffer
				cfg := sqstest.Config{FIFO: fifo, Handler: handler.Config{Concurrency: 1, Logger: slog.New(slog.NewJSONHandler(&log, nil))}}
				sqstest.RunWith(t, h, cfg, func(t *testing.T, q *sqstest.Queue) {
					q.Send(c.bodies...)
					q.UntilIdle()
					bad := q.Messages()[len(c.bodies)-1]
					if bad.DeadLetter.IsZero() { // it has another body than was sent, or is none
						t.Errorf("what is malformed: %s", bad)
					}
				})
				want := slices.Clone(c.want)
				if !fifo {
					slices.Sort(got)
					slices.Sort(want)
				}
				if !slices.Equal(got, want) {
					t.Errorf("the function got %q, want %q", got, want)
				}
				if strings.Contains(log.String(), canary) || !strings.Contains(log.String(), c.log) {
					t.Errorf("log %s", &log)
				}
			})
		}
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
