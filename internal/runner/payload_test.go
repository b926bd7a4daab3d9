package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
)

type order struct {
	ID       string    `json:"id"`
	Quantity int8      `json:"quantity"`
	At       time.Time `json:"at"`
	Lines    []struct {
		SKU string `json:"sku"`
	} `json:"lines"`
}

func TestJSONDecodes(t *testing.T) {
	var got order
	h := batch.JSON(func(_ context.Context, o order) error { got = o; return nil })
	if err := h.Handle(t.Context(), batch.Record{Body: ` {"id":"o-1","quantity":2,"more":1} `}); err != nil || got.ID != "o-1" || got.Quantity != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestJSONMalformed(t *testing.T) {
	const secret = "swordfish"
	for name, c := range map[string]struct {
		body   string
		strict bool
		want   string // in the reason; empty: accepted
	}{
		"empty":           {"", false, "it is empty"},
		"empty, strict":   {"", true, "empty"},
		"syntax":          {`{"id":"` + secret + `"x}`, false, "not valid JSON at offset 17"},
		"wrong type":      {`{"id":7}`, false, `field "id": a JSON number does not go into string`},
		"trailing":        {`{} {"id":"` + secret + `"}`, false, "not valid JSON at offset 3, behind the value"},
		"unknown":         {`{"nope":1}`, false, ""},
		"unknown, strict": {`{"nope":1}`, true, `unknown field in runner_test.order, at offset 1`},
		"long, strict":    {`{"` + strings.Repeat("n", 60) + secret + `":1}`, true, "unknown field"},
		"good, strict":    {`{"id":"o-1"}`, true, ""},
		"invalid UTF-8":   {"{\"id\":\"\xff\"}", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			called := false
			h := batch.JSON(func(context.Context, order) error { called = true; return nil }, batch.JSONConfig{DisallowUnknownFields: c.strict})
			err := h.Handle(t.Context(), batch.Record{Body: c.body})
			if c.want == "" {
				if err != nil || !called {
					t.Errorf("error %v, called %v", err, called)
				}
				return
			}
			var malformed *batch.MalformedError
			if !errors.As(err, &malformed) || called {
				t.Fatalf("error %v, called %v", err, called)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q, want %q in it", err, c.want)
			}
			// Rule 25: the body's values stay out of the text.
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error quotes the body: %q", err)
			}
			if errors.Unwrap(err) == nil {
				t.Error("the decoder's error is lost")
			}
		})
	}
}

type checked struct{ N int }

func (c *checked) Validate() error {
	switch {
	case c.N < 0:
		return errors.New("n is negative")
	case c.N == 0:
		return errors.New(strings.Repeat("ü", 150))
	}
	return nil
}

type byValue struct{ N int }

func (c byValue) Validate() error { return (*checked)(&c).Validate() }

// A body whose type says that it is not valid is malformed, whatever T is.
func TestJSONAsksValidate(t *testing.T) {
	for body, want := range map[string]string{
		`{"N":1}`:  "",
		`{"N":-1}`: "malformed body: Validate: n is negative",
		`{"N":0}`:  "malformed body: Validate: " + strings.Repeat("ü", 100) + "…",
	} {
		called := 0
		for _, h := range []batch.Handler{
			batch.JSON(func(context.Context, checked) error { called++; return nil }),
			batch.JSON(func(context.Context, *checked) error { called++; return nil }),
			batch.JSON(func(context.Context, byValue) error { called++; return nil }),
			batch.JSON(func(context.Context, *byValue) error { called++; return nil }, batch.JSONConfig{DisallowUnknownFields: true}),
		} {
			err := h.Handle(t.Context(), batch.Record{Body: body})
			var malformed *batch.MalformedError
			if want == "" && err != nil || want != "" && (!errors.As(err, &malformed) || err.Error() != want) {
				t.Errorf("%s: %v, want %q", body, err, want)
			}
		}
		if want == "" && called != 4 || want != "" && called != 0 {
			t.Errorf("%s: called %d times", body, called)
		}
	}
}

// orNothing is a struct for which null is a value.
type orNothing struct{ known, null bool }

func (o *orNothing) UnmarshalJSON(text []byte) error {
	o.known, o.null = true, string(text) == "null"
	return nil
}

// null is not an order: it would reach the function as one without any field, and
// be done with.
func TestJSONOfNull(t *testing.T) {
	called := 0
	strict := batch.JSONConfig{DisallowUnknownFields: true}
	for name, c := range map[string]struct {
		h     batch.Handler
		takes bool
	}{
		"a struct":                {batch.JSON(func(context.Context, checked) error { called++; return nil }), false},
		"a struct, strict":        {batch.JSON(func(context.Context, struct{ ID string }) error { called++; return nil }, strict), false},
		"a pointer":               {batch.JSON(func(context.Context, *struct{}) error { called++; return nil }), false},
		"a pointer with Validate": {batch.JSON(func(context.Context, *checked) error { called++; return nil }), false},
		"a struct that reads null": {batch.JSON(func(_ context.Context, o orNothing) error {
			called++
			return map[bool]error{false: errors.New("not told")}[o.null]
		}), true},
		"what may be anything":         {batch.JSON(func(_ context.Context, v any) error { called++; return nil }), true},
		"a map":                        {batch.JSON(func(_ context.Context, v map[string]int) error { called++; return nil }), true},
		"JSON that is decoded later":   {batch.JSON(func(_ context.Context, v json.RawMessage) error { called++; return nil }, strict), true},
		"a text, as encoding/json has": {batch.JSON(func(context.Context, string) error { called++; return nil }), true},
	} {
		for _, body := range []string{"null", " \n null\t"} {
			called = 0
			err := c.h.Handle(t.Context(), batch.Record{Body: body})
			if c.takes && (err != nil || called != 1) || !c.takes && (called != 0 || err == nil || err.Error() != "malformed body: the JSON value is null") {
				t.Errorf("%s: called %d times, %v", name, called, err)
			}
		}
	}
}

func TestText(t *testing.T) {
	const body = "a\x00b\xff"
	var text string
	errOwn := errors.New("own")
	h := batch.Text(func(_ context.Context, s string) error { text = s; return errOwn })
	if err := h.Handle(t.Context(), batch.Record{Body: body}); !errors.Is(err, errOwn) || text != body {
		t.Errorf("%q, %v", text, err)
	}
	if batch.Text(nil) != nil || batch.JSON[int](nil) != nil {
		t.Error("a nil function makes a handler")
	}
}
