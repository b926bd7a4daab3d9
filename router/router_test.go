package router_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/router"
)

type order struct {
	ID string `json:"id"`
}

// says is a handler that fails with its name and the order's id.
func says(name string) batch.Handler {
	return batch.JSON(func(_ context.Context, o order) error { return fmt.Errorf("%s %s", name, o.ID) })
}

func body(b string) batch.Record { return batch.Record{MessageID: "m-1", Body: b} }

func TestRoute_IsFoundByEachKindOfKey(t *testing.T) {
	attribute := body(`{"id":"o-1"}`)
	attribute.MessageAttributes = map[string]batch.MessageAttribute{"type": {DataType: "String", StringValue: "a"}}
	group, queue := body(`{"id":"o-1"}`), body(`{"id":"o-1"}`)
	group.GroupID, queue.QueueARN = "a", "arn:aws:sqs:eu-west-1:123456789012:a"
	routes := router.Routes{"a": says("a"), "3": says("three"), "true": says("yes")}
	for name, c := range map[string]struct {
		key  router.Key
		r    batch.Record
		want string
	}{
		"a field":           {router.Field("type"), body(`{"id":"o-1","type":"a"}`), "a o-1"},
		"a number":          {router.Field("type"), body(`{"id":"o-1","type":3}`), "three o-1"},
		"a bool":            {router.Field("type"), body(`{"id":"o-1","type":true}`), "yes o-1"},
		"escapes":           {router.Field("type"), body(`{"id":"o-1","t\u0079pe" : "\u0061"}`), "a o-1"},
		"a path":            {router.Field("meta", "type"), body(` {"x":[{"type":"b"}], "meta":{"y":{},"type":"a"},"id":"o-1"}`), "a o-1"},
		"the name twice":    {router.Field("type"), body(`{"type":"b","Type":"a"}`), `malformed body: field "type": the name occurs twice, ignoring case, at offset 12`},
		"an attribute":      {router.Attribute("type"), attribute, "a o-1"},
		"the group":         {router.Group, group, "a o-1"},
		"the queue":         {router.Queue, queue, "a o-1"},
		"a function's own":  {func(r batch.Record) (string, error) { return r.MessageID[:0] + "a", nil }, body(`{"id":"o-1"}`), "a o-1"},
		"no JSON after it":  {router.Field("type"), body(`{"type":"a",`), "malformed body: not valid JSON at offset 12, where it ends too early"},
		"case is different": {router.Field("type"), body(`{"Type":"a"}`), `no handler: the body has no field "type" with a string, a number or a bool`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := router.New(c.key, routes).Handle(t.Context(), c.r); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestNoRoute_FailsForGoodAndQuotesOnlyNames(t *testing.T) {
	h := router.New(router.Field("type"), router.Routes{"a": says("a")})
	for text, want := range map[string]string{
		`{"type":"order.placed/v2 #1"}`:              `no handler for type "order.placed/v2 #1"`,
		`{"type":"alice@example.com"}`:               `no handler for its type, which is not a plain name`,
		`{"type":"` + strings.Repeat("a", 65) + `"}`: `no handler for its type, which has 65 bytes`,
		`{"type":""}`:      `no handler for an empty type`,
		`{"type":null}`:    `no handler: the body has no field "type" with a string, a number or a bool`,
		`{"type":{"a":1}}`: `no handler: the body has no field "type" with a string, a number or a bool`,
		`{}`:               `no handler: the body has no field "type" with a string, a number or a bool`,
		`[1]`:              `no handler: the body has no field "type" with a string, a number or a bool`,
		``:                 `malformed body: it is empty`,
		`{"x" 1}`:          `malformed body: not valid JSON at offset 5`,
		`{"x":`:            `malformed body: not valid JSON at offset 5, where it ends too early`,
		`{"x`:              `malformed body: not valid JSON at offset 3, where it ends too early`,
		`{"type"`:          `malformed body: not valid JSON at offset 7, where it ends too early`,
		`{"x":1`:           `malformed body: not valid JSON at offset 6, where it ends too early`,
		`{"x":1,}`:         `malformed body: not valid JSON at offset 7`,
		`{`:                `malformed body: not valid JSON at offset 1, where it ends too early`,
		`nil`:              `malformed body: not valid JSON at offset 1`,
		`{"x":` + strings.Repeat("[", 10_001) + `,"type":`: `malformed body: JSON nested too deeply, at offset 10004`,
	} {
		err := h.Handle(t.Context(), body(text))
		if err == nil || err.Error() != want || !batch.VerdictOf(err).Permanent {
			t.Errorf("%.40s: %v, want %s", text, err, want)
		}
	}
	noText := body("")
	noText.MessageAttributes = map[string]batch.MessageAttribute{"type": {DataType: "Binary", BinaryValue: []byte("a")}}
	for key, r := range map[string]batch.Record{
		"an attribute": noText,
		"a group":      body(""),
	} {
		by := map[string]router.Key{"an attribute": router.Attribute("type"), "a group": router.Group}[key]
		if err := router.New(by, router.Routes{"": says("a")}).Handle(t.Context(), r); !batch.VerdictOf(err).Permanent {
			t.Errorf("without %s: %v", key, err)
		}
	}
}

func TestOtherwise_Decides(t *testing.T) {
	h := router.New(router.Field("type"), router.Routes{"a": says("a")})
	for name, c := range map[string]struct {
		otherwise func(context.Context, batch.Record, error) error
		want      string
		permanent bool
	}{
		"retries":                {func(_ context.Context, _ batch.Record, err error) error { return err }, `no handler for type "b"`, false},
		"drops":                  {func(context.Context, batch.Record, error) error { return nil }, "<nil>", false},
		"hands on":               {func(ctx context.Context, r batch.Record, _ error) error { return says("other").Handle(ctx, r) }, "other o-1", false},
		"is nil: fails for good": {nil, `no handler for type "b"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := h.Otherwise(c.otherwise).Handle(t.Context(), body(`{"type":"b","id":"o-1"}`))
			if fmt.Sprint(err) != c.want || batch.VerdictOf(err).Permanent != c.permanent {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestPart_IsTheBody(t *testing.T) {
	var got batch.Record
	h := router.Part(batch.JSON(func(ctx context.Context, o order) error {
		got, _ = batch.RecordFrom(ctx)
		return errors.New(o.ID)
	}), "job", "args")
	r := body(`{"job": {"class":"Ship", "args" : {"id":"o-1"} }}`)
	r.MD5OfBody = "of the whole"
	if err := h.Handle(t.Context(), r); err == nil || err.Error() != "o-1" || got.Body != `{"id":"o-1"}` || got.MessageID != "m-1" || got.MD5OfBody != "" {
		t.Errorf("%v, %+v", err, got)
	}
	for text, want := range map[string]string{
		`{"job":{"args":{"id":7}}}`: `malformed body: in "job.args": field "id": a JSON number does not go into string, at offset 6`,
		`{"job":{"args":null}}`:     `malformed body: in "job.args": the JSON value is null`,
		`{"job":{}}`:                `malformed body: the body has no field "job.args"`,
		`{"job":7}`:                 `malformed body: the body has no field "job.args"`,
		`{"job":{"args":[1,}}`:      `malformed body: not valid JSON at offset 18`,
	} {
		err := h.Handle(t.Context(), body(text))
		if err == nil || err.Error() != want || !batch.VerdictOf(err).Malformed {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestFirst_TriesUntilOneIsNotMalformed(t *testing.T) {
	type v2 struct {
		Ref string `json:"ref"`
	}
	tried := 0
	h := router.First(
		batch.JSON(func(_ context.Context, o order) error { tried++; return errors.New("v1 " + o.ID) }, batch.JSONConfig{DisallowUnknownFields: true}),
		batch.JSON(func(_ context.Context, o v2) error { tried++; return errors.New("v2 " + o.Ref) }, batch.JSONConfig{DisallowUnknownFields: true}),
	)
	for text, want := range map[string]string{
		`{"id":"o-1"}`: "v1 o-1",
		`{"ref":"r"}`:  "v2 r",
		`{"x":1}`:      "malformed body: unknown field in router_test.order, at offset 1; or: unknown field in router_test.v2, at offset 1",
	} {
		tried = 0
		if err := h.Handle(t.Context(), body(text)); err == nil || err.Error() != want || tried > 1 {
			t.Errorf("%s: %v, want %s; %d functions were called", text, err, want, tried)
		}
	}
}

type asks struct {
	n   int
	err error
}

func (asks) Handle(context.Context, batch.Record) error { return nil }
func (a asks) Concurrency() int                         { return a.n }
func (a asks) Validate() error                          { return a.err }

func TestMistakes_AreNamed(t *testing.T) {
	var none batch.HandlerFunc
	for want, h := range map[string]*router.Router{
		"router: there are no routes":                                        router.New(router.Queue, nil),
		"router: the key is nil, must be one such as router.Field(\"type\")": router.New(nil, router.Routes{"a": says("a")}),
		"router: the handler of route \"a\" is nil\nrouter: route \"b\": EOF": router.New(router.Queue, router.Routes{
			"a": none, "b": router.Part(asks{err: io.EOF}, "data"), "c": router.First(says("c"))}),
	} {
		if err := h.Validate(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if router.Part(none) != nil || router.First() != nil || router.First(says("a"), none) != nil {
		t.Error("what has no handler is one")
	}
	if err := router.First(says("a"), asks{err: io.EOF}).(interface{ Validate() error }).Validate(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if n := router.New(router.Queue, router.Routes{"a": asks{n: 3}, "b": router.Part(asks{n: 7}, "x"), "c": says("c")}).Concurrency(); n != 7 {
		t.Errorf("Concurrency is %d, want the largest, 7", n)
	}
}
