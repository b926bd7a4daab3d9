package base64text_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	base64text "github.com/sqsbatch/sqsbatch/payload/internal"
)

func TestAppend(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "",
		"+/8=":             "\xfb\xff",
		"+/8":              "\xfb\xff",
		"-_8=":             "\xfb\xff",
		"-_8":              "\xfb\xff",
		"aGVs\r\nbG8=\r\n": "hello",
		" aGVsbG8 ":        "hello",
		"aGVsbG8h":         "hello!",
	} {
		got, err := base64text.Append([]byte("> "), text)
		if string(got) != "> "+want || err != nil {
			t.Errorf("Append of %q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestWhatIsNoBase64SaysWhere(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`:   "offset 0",
		"aGVs{bG8":  "offset 4",
		"+/8_":      "offset 0", // one alphabet or the other
		"aGVsbG8==": "offset 8",
		"a":         "offset 0",
		"a=b=":      "offset 1",
	} {
		got, err := base64text.Append([]byte("> "), text)
		if string(got) != "> " || err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Append of %q: %q, %v, want an error at %s", text, got, err, want)
		}
	}
}

func FuzzAppend(f *testing.F) {
	f.Add([]byte("hello"), "aGVsbG8=")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if got, err := base64text.Append(nil, e.EncodeToString(data)); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%q became %q: %v", data, got, err)
			}
		}
		if out, err := base64text.Append(nil, text); err == nil && len(out) > len(text) {
			t.Fatalf("%d bytes of %d", len(out), len(text))
		}
	})
}
