package eventbridge

import (
	"encoding/json"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// FuzzOpen holds what is opened to what an event is.
func FuzzOpen(f *testing.F) {
	for _, body := range []string{
		`{"version":"0","id":"1","detail-type":"d","source":"s","account":"1","time":"2026-11-21T18:43:48Z","region":"r","resources":["a","b"],"detail":{"a":[1,"]}\""]}}`,
		`{"source":"s","detail-type":"d","replay-name":"r","detail":-1.5e3}`,
		`{"Source":"s","detail-type":"\ud83d","x":[{}],"detail":null,"detail":{}}`,
		`{"source":"s","detail-type":"d","resources":null,"detail":{"a":1]}`,
		`{"id":"o-1"}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		e, reason, err := open(body)
		switch {
		case e != nil && (reason != "" || err != nil), e == nil && reason == "":
			t.Fatalf("opened %v, and %q, %v", e != nil, reason, err)
		case e != nil && (e.Source == "" || e.DetailType == "" || !json.Valid(e.Detail)):
			t.Fatalf("opened %+v", e)
		case e == nil:
			return
		}
		at := jsonbody.Offset(body, "detail")
		if at < 0 || at+len(e.Detail) > len(body) || body[at:at+len(e.Detail)] != string(e.Detail) {
			t.Fatalf("the detail %q is not at %d", e.Detail, at)
		}
	})
}
