package jsonbody_test

import (
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
