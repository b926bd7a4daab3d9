// Package scannertest has the tests of scanners of JSON: of package plainjson, and of those
// that add to it.
package scannertest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Thing has a member of each sort.
type Thing struct {
	Text, Kept string
	Int        int
	Texts      []string
	Inner      *Thing
	Many       []Thing
	Value      ignored
}

// ignored is a value that is read and not kept.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// Reader reads a text with a scanner, and reports whether that is possible.
type Reader func(text string, o *Thing) bool

// Takes fails the test unless read reads what requests and answers look like, and the further
// texts, as encoding/json does.
func Takes(t *testing.T, read Reader, further ...string) {
	for _, text := range append(further,
		`{}`,
		" { } \n",
		`{"Text":"","Kept":"","Value":0,"Texts":[],"Inner":{},"Many":[]}`,
		"\t{ \"Text\" :\r\n\"a\" , \"Value\" : 43200 , \"Texts\" : [ \"a\" , \"b\" ] , \"Many\" : [ { } , { } ] } ",
		`{"Text":"a/b \u0041\u00e4\u20AC\\ \" \/ \b\f\n\r\t","Kept":"{\"order\":1}"}`,
		`{"Text":"a\ud834\udd1e\uD83D\uDE00"}`, `{"Text":"\ud834"}`, `{"Text":"\ud834\u0041"}`, `{"Text":"\udd1e\ud834"}`, `{"Text":"\ud834\ud834\udd1e"}`,
		`{"Text":"ä € 𝄞 and more than eight bytes, so that eight at a time are looked at"}`,
		`{"Kept":"0123456\"","Text":"01234567\"x\\"}`,
		`{"Inner":{"Inner":{"Many":[{"Texts":["All"]},{"Value":10}]}}}`,
		`{"Text":"a","Text":"b"}`,
		`{"Value":{"a":[1,{"b":"}]\\\""}],"c":"\u007d"}}`, `{"Value": [ ] ,"Value":1}`, `{"Value":"a\\","Value":1}`, `{"Value":-1.5e3}`, `{"Value":true ,"Value":1}`, `{"Value":null}`,
	) {
		var got, want Thing
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if !read(text, &got) {
			t.Errorf("%s is left to encoding/json", text)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, encoding/json has %+v", text, got, want)
		}
	}
}

// Leaves fails the test if read reads what encoding/json refuses, takes in a way of its own, or
// is rare, or one of the further texts.
func Leaves(t *testing.T, read Reader, further ...string) {
	for _, text := range append(further,
		``, ` `, `[]`, `null`, `{`, `}`, `{}}`, `{}{}`, "{}\x00", `{"Text"}`, `{"Text":}`, `{"Text":"a",}`, `{,}`, `{"Text":"a" "Value":1}`, `{"Text" "a"}`,
		`{"text":"a"}`, `{"Other":1}`, `{"Text":null}`, `{"Text":1}`, `{"Text":"`, `{"Text":"a`, `{"Text":"a\`, `{"Text":"\`,
		`{"Text":"\"`, `{"Text":"\x"}`, `{"Text":"\u12"}`, `{"Text":"\u12`, `{"Text":"\u12G4"}`,
		"{\"Text\":\"\xff\"}", "{\"Text\":\"a\tb\"}", "{\"Text\":\"\\n\tb\"}", "\xff{}",
		`{"Value":01}`, `{"Value":+1}`, `{"Value":1e}`, `{"Value":nul}`,
		`{"Texts":["a",]}`, `{"Texts":["a" "b"]}`, `{"Texts":[1]}`, `{"Texts":["a"`, `{"Texts":"a"}`,
		`{"Value":}`, `{"Value":`, `{"Value":,"Value":1}`, `{"Value":[}`, `{"Value":{"a":1]}`, `{"Value":"a`, `{"Value":"a\`, `{"Value":tru}`, `{"Value":1 2}`, `{"Value":1]`, `{"Value":[[[[`, "{\"Value\":\"a\nb\"}",
		`{"Many":[{},]}`, `{"Many":{}}`, `{"Inner":[]}`,
	) {
		if read(text, new(Thing)) {
			t.Errorf("%q is taken", text)
		}
	}
}

// Fuzz compares what read reads with encoding/json.
func Fuzz(f *testing.F, read Reader, further ...string) {
	for _, seed := range append(further,
		`{"Text":"a","Kept":"b\"\\\u0041","Value":10,"Texts":["a"],"Inner":{},"Many":[{"Value":1},{}]}`,
		`{"Value":{"a":["]}\""]},"Value":1}`, `{"Value":1.5,"Value":[{}]}`,
		`{"Many":[{"Text":"a","Kept":"b"},{"Text":"c","Kept":"d"},{"Kept":"e\\n","Text":"f"}]}`,
		`{"Many":[{"Text":"a"}],"Many":[{}]}`, `{"Inner":{"Value":1},"Inner":{}}`, `{"text":"ä","Value":-0}`,
	) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want Thing
		if strings.Count(text, `"Inner"`) > 1 || strings.Count(text, `"Many"`) > 1 {
			return // encoding/json merges them, what a caller has to look for
		}
		if !read(text, &got) {
			return
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%q is taken; encoding/json: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, encoding/json has %+v", text, got, want)
		}
	})
}
