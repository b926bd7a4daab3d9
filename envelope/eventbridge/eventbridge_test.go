package eventbridge_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
)

const placed = `{
  "version": "0", "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718", "detail-type": "Order Placed", "source": "com.example.shop",
  "account": "111122223333", "time": "2026-11-21T18:43:48Z", "region": "eu-west-1",
  "resources": ["arn:aws:s3:::one", "arn:aws:s3:::two"],
  "detail": {"id": "o-1", "items": [ {"sku":"A","qty":2} ]}
}`

const placedDetail = `{"id": "o-1", "items": [ {"sku":"A","qty":2} ]}`

type order struct {
	ID    string `json:"id"`
	Items []item `json:"items"`
}

type item struct {
	SKU string `json:"sku"`
	Qty int    `json:"qty"`
}

var errNoID = errors.New("no id")

func (o *order) Validate() error {
	if o.ID == "" {
		return errNoID
	}
	return nil
}

func TestJSON(t *testing.T) {
	var got eventbridge.Event[order]
	var record batch.Record
	h := eventbridge.JSON(func(ctx context.Context, e eventbridge.Event[order]) error {
		got = e
		record, _ = batch.RecordFrom(ctx)
		return errNoID
	})
	for name, body := range map[string]string{
		"as EventBridge writes it": placed,
		"from an archive":          strings.Replace(placed, `"region"`, `"replay-name": "again", "region"`, 1),
		"with what comes later":    strings.Replace(placed, `"region"`, `"trace": {"a":[1.5,null]}, "region"`, 1),
		"with escapes":             strings.Replace(placed, `"Order Placed"`, `"\u004frder Placed"`, 1),
		"white space":              strings.ReplaceAll(placed, ",", " ,\r\n\t") + "\n",
	} {
		got = eventbridge.Event[order]{}
		r := batch.Record{MessageID: "m-1", Body: body}
		err := h.Handle(batch.WithRecord(t.Context(), r), r)
		want := eventbridge.Event[order]{
			ID: "6a7e8feb-b491-4cf7-a9f1-bf3703467718", Source: "com.example.shop", DetailType: "Order Placed",
			Time: time.Date(2026, 11, 21, 18, 43, 48, 0, time.UTC), AccountID: "111122223333", Region: "eu-west-1",
			Resources: []string{"arn:aws:s3:::one", "arn:aws:s3:::two"}, Detail: order{"o-1", []item{{"A", 2}}},
		}
		if err != errNoID || !reflect.DeepEqual(got, want) || record.Body != body {
			t.Errorf("%s: got %+v, %v; RecordFrom gives %q", name, got, err, record.Body)
		}
	}
}

func TestUnwrap(t *testing.T) {
	var seen, inner batch.Record
	var event events.EventBridgeEvent
	var ok bool
	h := eventbridge.Unwrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		seen = r
		inner, _ = batch.RecordFrom(ctx)
		event, ok = eventbridge.From(ctx)
		return errNoID
	}))
	r := batch.Record{MessageID: "m-1", Attempt: 2, Body: placed, MD5OfBody: "x", MD5OfMessageAttributes: "y", MessageAttributes: map[string]batch.MessageAttribute{"a": {DataType: "String"}}}
	if err := h.Handle(batch.WithRecord(t.Context(), r), r); err != errNoID {
		t.Fatal(err)
	}
	want := r
	want.Body, want.MD5OfBody = placedDetail, ""
	if !reflect.DeepEqual(seen, want) || !reflect.DeepEqual(inner, want) {
		t.Errorf("the handler got %+v, RecordFrom %+v", seen, inner)
	}
	if !ok || event.ID != "6a7e8feb-b491-4cf7-a9f1-bf3703467718" || event.Source != "com.example.shop" || event.DetailType != "Order Placed" ||
		event.Version != "0" || event.AccountID != "111122223333" || event.Region != "eu-west-1" || len(event.Resources) != 2 ||
		!event.Time.Equal(time.Date(2026, 11, 21, 18, 43, 48, 0, time.UTC)) || string(event.Detail) != placedDetail {
		t.Errorf("From: %+v", event)
	}
}

func TestMalformedEvent_IsRefusedAndNotQuoted(t *testing.T) {
	const canary = "swordfish"
	head := `{"source":"shop","detail-type":"` + canary + `"`
	for name, c := range map[string]struct {
		body, want string
		strict     bool // only for strict JSON
		json       bool // only for JSON
	}{
		"nothing":                       {body: ``, want: "it is empty"},
		"no JSON":                       {body: canary, want: "not valid JSON at offset 0"},
		"a list":                        {body: `["` + canary + `"]`, want: "a JSON array does not go into"},
		"cut off":                       {body: head + `,"detail":{"id":"` + canary, want: "not valid JSON at offset"},
		"two":                           {body: head + `,"detail":{"id":"` + canary + `"}}{}`, want: "not valid JSON at offset"},
		"the detail alone":              {body: `{"id":"` + canary + `"}`, want: "the event has no source: it is not an event of EventBridge, or the rule has an input transformer"},
		"no detail-type":                {body: `{"source":"` + canary + `","detail":{"id":"o"}}`, want: "the event has no detail-type"},
		"no detail":                     {body: head + `}`, want: "the event has no detail:"},
		"null detail":                   {body: head + `,"detail":null}`, want: "the event has no detail:"},
		"null detail, by encoding/json": {body: head + `,"x":1,"detail": null }`, want: "the event has no detail:"},
		"no time":                       {body: head + `,"time":"` + canary + `","detail":{"id":"o"}}`, want: "the event's time is not a valid time"},
		"a source of its own":           {body: `{"source":{"a":"` + canary + `"},"detail-type":"x","detail":{}}`, want: `field "source": a JSON object does not go into string`},
		"detail that does not end":      {body: head + `,"detail":{"id":"o"],"a":"` + canary + `"}`, want: "not valid JSON at offset"},
		"a wrong field":                 {json: true, body: head + `,"detail":{"id":"o","items":[{"qty":"` + canary + `"}]}}`, want: `field "detail.items.qty": a JSON string does not go into int, at offset `},
		"no object":                     {json: true, body: head + `,"detail":"` + canary + `"}`, want: `field "detail": a JSON string does not go into eventbridge_test.order`},
		"not valid":                     {json: true, body: head + `,"detail":{}}`, want: "detail: Validate: no id"},
		"an unknown field":              {strict: true, body: head + `,"new":1,"detail":{"id":"o","extra":"` + canary + `"}}`, want: `field "detail": unknown field in eventbridge_test.order, at offset `},
		"a wrong field, strict":         {strict: true, body: head + `,"detail":{"items":7}}`, want: `field "detail.items": a JSON number does not go into []eventbridge_test.item`},
		"deep":                          {body: head + `,"detail":` + strings.Repeat(`{"a":`, 100_000), want: "JSON nested too deeply"},
		"deep and whole":                {body: head + `,"detail":` + strings.Repeat(`[`, 100_000) + strings.Repeat(`]`, 100_000) + `}`, want: "JSON nested too deeply"},
	} {
		called := false
		lenient := eventbridge.JSON(func(context.Context, eventbridge.Event[order]) error { called = true; return nil })
		strict := eventbridge.JSON(func(context.Context, eventbridge.Event[order]) error { called = true; return nil }, batch.JSONConfig{DisallowUnknownFields: true})
		handlers := map[string]batch.Handler{"JSON": lenient, "Unwrap": eventbridge.Unwrap(batch.HandlerFunc(func(context.Context, batch.Record) error { called = true; return nil }))}
		switch {
		case c.strict:
			handlers = map[string]batch.Handler{"strict JSON": strict}
		case c.json:
			delete(handlers, "Unwrap")
		}
		for how, h := range handlers {
			err := h.Handle(t.Context(), batch.Record{Body: c.body})
			var malformed *batch.MalformedError
			if !errors.As(err, &malformed) || !strings.Contains(err.Error(), c.want) || called || strings.Contains(err.Error(), canary) {
				t.Errorf("%s: %s: called %v, %v, want %q in it, and nothing of the body", name, how, called, err, c.want)
			}
		}
		if name == "an unknown field" && lenient.Handle(t.Context(), batch.Record{Body: c.body}) != nil {
			t.Errorf("%s: refused without strict decoding", name)
		}
	}
}

// An offset is where the value begins in the body, wherever the detail is.
func TestOffsets(t *testing.T) {
	h := eventbridge.JSON(func(context.Context, eventbridge.Event[order]) error { return nil })
	for _, before := range []string{``, `"resources":["a"] , `, `"other":{"detail":{"items":[{"qty":"x"}]}},`, `"Detail":{"items":[{"qty":"x"}]},`} {
		body := `{"source":"s","detail-type":"d",` + before + `"detail" :  {"items":[{"qty":"x"}]} ,"id":"1"}`
		at := strings.LastIndex(body, `"x"`)
		err := h.Handle(t.Context(), batch.Record{Body: body})
		if err == nil || !strings.HasSuffix(err.Error(), "at offset "+strconv.Itoa(at)) {
			t.Errorf("%s: %v, want %d", body, err, at)
		}
	}
}

func TestNoHandlerStaysNone(t *testing.T) {
	if eventbridge.JSON[order](nil) != nil || eventbridge.Unwrap(nil) != nil || eventbridge.Unwrap(batch.HandlerFunc(nil)) != nil {
		t.Error("there is a handler of none")
	}
	if _, ok := eventbridge.From(t.Context()); ok {
		t.Error("From finds an event where there is none")
	}
	if e, ok := eventbridge.From(eventbridge.With(t.Context(), events.EventBridgeEvent{ID: "1"})); !ok || e.ID != "1" {
		t.Error("With's event is not found")
	}
}
