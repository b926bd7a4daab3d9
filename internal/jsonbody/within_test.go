package jsonbody_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

func TestOffset(t *testing.T) {
	const body = ` {"a" : [ 1 , {"b":"x", "B": {"c":null}} ], "A":[{"d":"{"}, 2 ] , "e":7}`
	for want, path := range map[string][]any{
		`[{"d"`:  {"a"}, // the last one, whatever its case
		`{"d"`:   {"a", 0},
		`"{"}`:   {"A", 0, "d"},
		`2 ] ,`:  {"A", 1},
		`7}`:     {"e"},
		` {"a" `: {"none"},
	} {
		if at := jsonbody.Offset(body, path...); !strings.HasPrefix(body[at:], want) {
			t.Errorf("%v: %s, want %s", path, body[at:], want)
		}
	}
	for _, path := range [][]any{{"e", 0}, {"e", "x"}, {"a", 2}, {"a", "x"}, {0}} { // breaks off
		if at := jsonbody.Offset(body, path...); at != jsonbody.Offset(body, path[:len(path)-1]...) {
			t.Errorf("%v: at %d", path, at)
		}
	}
	for _, body := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":[`, `[1,`, `{"a":1]`} { // no JSON: no place, and no panic
		_ = jsonbody.Offset(body, "a", 0)
		_ = jsonbody.Offset(body, 1)
	}
}

func TestWithin(t *testing.T) {
	at := func() int64 { return 100 }
	var v struct{ N int }
	for body, want := range map[string]string{
		`{"N":"x"}`: `field "part.N": a JSON string does not go into int, at offset 108`,
		`"x"`:       `field "part": a JSON string does not go into struct { N int }, at offset 103`,
		`{"N"`:      `not valid JSON at offset 104, where it ends too early`,
		`{"N":1}}`:  `not valid JSON at offset 108, behind the value`,
		`{"N"}`:     `not valid JSON at offset 105`,
	} {
		reason, err := jsonbody.Decode(body, &v, false)
		if got := jsonbody.Within("part", reason, err, at); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if got := jsonbody.Within("part", "it is empty", json.Unmarshal([]byte(`1`), new(int)), at); got != "part: it is empty" {
		t.Error(got)
	}
}
