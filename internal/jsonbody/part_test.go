package jsonbody_test

import (
	"encoding/json"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// FuzzPart compares with encoding/json: what it takes for an object whose first member has a
// name, Find finds, and what Find calls no JSON, encoding/json does, too.
func FuzzPart(f *testing.F) {
	for _, text := range []string{`{"a":{"b":1}}`, ` {"\u0061" : [1,{"a":2}] , "a":3}`, `{"a":tru}`, `{"x":{},"a":""}`, `{"a":1,}`, `null`, `{}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, body string) {
		value, bad := jsonbody.Find(body, "a")
		if bad != nil {
			if json.Valid([]byte(body)) {
				t.Fatalf("%q is valid, not %s", body, bad.Reason())
			}
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal([]byte(body), &members) != nil {
			return // it may be wrong behind what was read, and is no object
		}
		if _, has := members["a"]; has != (value != "") {
			t.Errorf("%q: found %q", body, value)
		}
		if value != "" && !json.Valid([]byte(value)) {
			t.Errorf("%q: %q is no value", body, value)
		}
	})
}
