package encoded_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/sender"
)

var long = strings.Repeat(order, 100)

func TestGzip(t *testing.T) {
	kind := map[string]types.MessageAttributeValue{"kind": {DataType: aws.String("String"), StringValue: aws.String("order")}}
	text, attributes, err := encoded.Gzip(long, kind)
	if err != nil || len(text) > len(long)/10 || len(attributes) != 2 || *attributes["Content-Encoding"].StringValue != "gzip" {
		t.Fatalf("%d bytes of %d, %v, %v", len(text), len(long), attributes, err)
	}
	if len(kind) != 1 {
		t.Error("the attributes that it was given were changed")
	}
	if got, _, err := handle(t, encoded.Config{}, record(text, "gzip")); err != nil || got.Body != long {
		t.Errorf("it does not come back: %v", err)
	}

	if text, attributes, err = encoded.Gzip("short", kind); text != "short" || len(attributes) != 1 || err != nil {
		t.Errorf("a short body became %q, %v, %v", text, attributes, err)
	}
	text, attributes, err = encoded.Config{Attribute: "encoding"}.Gzip(long, nil)
	if _, there := attributes["encoding"]; !there || err != nil {
		t.Errorf("%v, %v", attributes, err)
	}
	if again, same, err := (encoded.Config{Attribute: "encoding"}).Gzip(text, attributes); err == nil || again != text || len(same) != 1 {
		t.Errorf("compressed twice: %v", err)
	}
	ten := map[string]types.MessageAttributeValue{}
	for i := range 10 {
		ten[fmt.Sprint("a", i)] = kind["kind"]
	}
	if text, attributes, err = encoded.Gzip(long, ten); err == nil || !strings.Contains(err.Error(), "10 attributes") || text != long || len(attributes) != 10 {
		t.Errorf("with ten attributes: %d, %v", len(attributes), err)
	}
}

// What a sender has compressed reaches the function as text, through a queue and
// the real handler; what cannot be decoded reaches the dead-letter queue as it came.
func TestThroughAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := testqueue.New(t, testqueue.Standard)
		send := func(body, coding string) {
			q.SendInput(&awssqs.SendMessageInput{MessageBody: &body, MessageAttributes: map[string]types.MessageAttributeValue{
				"Content-Encoding": {DataType: aws.String("String"), StringValue: &coding},
			}})
		}
		text, attributes, err := encoded.Gzip(long, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.SendInput(&awssqs.SendMessageInput{MessageBody: &text, MessageAttributes: attributes})
		send("not at all", "gzip")
		q.Send("plain")

		bodies := map[string]bool{}
		q.Poll(t.Context(), time.Minute, encoded.Unwrap(batch.Text(func(_ context.Context, body string) error {
			bodies[body] = true
			return nil
		})), handler.Config{Concurrency: 1})
		if len(bodies) != 2 || !bodies[long] || !bodies["plain"] {
			t.Errorf("%d bodies", len(bodies))
		}
		dead := q.DeadLetters()
		if len(dead) != 1 || *dead[0].Body != "not at all" || *dead[0].MessageAttributes["Content-Encoding"].StringValue != "gzip" {
			t.Errorf("%d dead letters", len(dead))
		}
		if left, _ := q.Left(); left != 0 {
			t.Errorf("%d messages are left", left)
		}
	})
}

func TestPrepare(t *testing.T) {
	full := map[string]batch.MessageAttribute{}
	for i := range 10 {
		full[fmt.Sprint("a", i)] = batch.MessageAttribute{DataType: "String", StringValue: "v"}
	}
	there := map[string]batch.MessageAttribute{encoded.Attribute: {DataType: "String", StringValue: "identity"}}
	for name, c := range map[string]struct {
		cfg        encoded.Config
		body       string
		attributes map[string]batch.MessageAttribute
		coding     string // "" if it is left unchanged
		err        bool
	}{
		"long":                          {body: long, coding: "gzip"},
		"short":                         {body: "x"},
		"short, with a default":         {cfg: encoded.Config{Default: "gzip"}, body: "x", coding: "identity"},
		"encoded already":               {body: long, attributes: there},
		"encoded already, with default": {cfg: encoded.Config{Default: "gzip"}, body: long, attributes: there},
		"ten attributes":                {body: long, attributes: full},
		"ten attributes, with default":  {cfg: encoded.Config{Default: "gzip"}, body: long, attributes: full, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := sender.Message{Body: c.body, Attributes: c.attributes}
			err := c.cfg.Prepare(t.Context(), &m)
			changed := len(m.Attributes) > len(c.attributes)
			if (err != nil) != c.err || changed != (c.coding != "") || changed && m.Attributes[encoded.Attribute].StringValue != c.coding || (c.coding == "gzip") != (m.Body != c.body) {
				t.Errorf("%v: %v", err, m.Attributes)
			}
			if !changed || err != nil {
				return
			}
			h := c.cfg.Unwrap(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
				if r.Body != c.body {
					t.Errorf("it arrives as %.40q", r.Body)
				}
				return nil
			}))
			if err := h.Handle(t.Context(), batch.Record{Body: m.Body, MessageAttributes: m.Attributes}); err != nil {
				t.Error(err)
			}
		})
	}
}
