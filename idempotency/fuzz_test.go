package idempotency_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/idempotency"
)

// FuzzField: the key is the value that the handler decodes. Else a sender could have one work
// done again and again under keys that differ.
func FuzzField(f *testing.F) {
	for _, body := range []string{`{"id":"a"}`, `{"id":"x","ID":"o-42"}`, `{"\u0069d":7}`, `{"id":1e400}`, `{"id":true}`, `{"id":"\ud800"}`, `{"id":"a"}x`, `{"id":["a"]}`, `{"ıd":1,"id":"a"}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		key, err := idempotency.Field("id")(context.Background(), batch.Record{Body: body})
		if err != nil {
			return
		}
		var v struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatalf("%q has key %q, and encoding/json says %v", body, key, err)
		}
		var id any = string(v.ID)
		if v.ID[0] == '"' {
			if err := json.Unmarshal(v.ID, &id); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(id); got != key || key == "" {
			t.Errorf("%q has key %q, and its handler decodes %q", body, key, got)
		}
	})
}
