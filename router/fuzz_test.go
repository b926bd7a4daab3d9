package router_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/router"
)

var routed = []string{
	`{"type":"a"}`, `{"type":"a","Type":"b"}`, `{"t\u0079pe":"a"}`, `{"type":"a","TYPE":null}`, `{"type":1e2}`, `{"type":1e999}`, `{"type":true,"x":{"type":2}}`,
	`{"type":{"type":"a"}}`, `{"type":["a"]}`, `{"type":"\ud800"}`, `{"type":"\xff"}`, `[{"type":"a"}]`, `{"type":"a"}{}`, `{"tſype":1,"type":"a"}`, `{"type":"","type ":"b"}`, `null`, ``,
}

// FuzzField: the handler of the route decodes the same value as the key, whatever the body.
// Else a sender could have a message pass one route's checks and be another's for the handler.
func FuzzField(f *testing.F) {
	for _, body := range routed {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		key, err := router.Field("type")(batch.Record{Body: body})
		if err != nil {
			return
		}
		var v struct {
			Type json.RawMessage `json:"type"`
		}
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatalf("%q has key %q, and encoding/json says %v", body, key, err)
		}
		got := string(v.Type) // a number, true or false
		if v.Type[0] == '"' {
			if err := json.Unmarshal(v.Type, &got); err != nil {
				t.Fatal(err)
			}
		}
		if got != key {
			t.Errorf("%q has key %q, and its handler decodes %q", body, key, got)
		}
	})
}

// FuzzPart: the handler gets what encoding/json finds at the path, as it is written.
func FuzzPart(f *testing.F) {
	for _, body := range routed {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var got string
		err := router.Part(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
			got = r.Body
			return nil
		}), "type").Handle(context.Background(), batch.Record{Body: body})
		if malformed := new(batch.MalformedError); err != nil {
			if !errors.As(err, &malformed) {
				t.Errorf("%q: %v, which is not malformed", body, err)
			}
			return
		}
		var v struct {
			Type json.RawMessage `json:"type"`
		}
		if err := json.Unmarshal([]byte(body), &v); err != nil || string(v.Type) != got {
			t.Errorf("%q: the part is %q, and encoding/json has %q, %v", body, got, v.Type, err)
		}
	})
}
