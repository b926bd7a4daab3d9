package plainjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

func FuzzAppendString(f *testing.F) {
	for _, seed := range []string{"", "abc", `{"a":"b\c"}`, "ä€𝄞", "\x00\x1f\b\f\n\r\t\x7f", "\u2028 \u2029\u202a", "a\xffb\xc3", "<&>", "\ufffd", "plain and long, with ä at its end: ä"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		got := plainjson.AppendString([]byte("x"), text)
		if utf8.ValidString(text) {
			if string(got)+"\n" != "x"+want.String() {
				t.Errorf("%q: %s, encoding/json has %s", text, got[1:], want.String())
			}
			return
		}
		// encoding/json's text for bytes that are not UTF-8 depends on the version of Go, the
		// decoded value does not.
		var ours, theirs string
		if err := errors.Join(json.Unmarshal(got[1:], &ours), json.Unmarshal(want.Bytes(), &theirs)); err != nil || ours != theirs || !utf8.Valid(got) {
			t.Errorf("%q: %s says %q, encoding/json %q, %v", text, got[1:], ours, theirs, err)
		}
	})
}
