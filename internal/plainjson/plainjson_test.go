package plainjson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// thing has a member of each sort.
type thing struct {
	Text  string
	Inner *thing
	Many  []thing
	Value json.RawMessage
}

// read reads an object that is all of the text.
func (o *thing) read(text string) bool {
	s := plainjson.NewScanner(text)
	return utf8.ValidString(text) && o.members(s) && s.End()
}

func (o *thing) members(s *plainjson.Scanner) bool {
	return s.Members(func(name string) (ok bool) {
		switch name {
		case "Text":
			o.Text, ok = s.Text()
		case "Value":
			var text string
			text, ok = s.Value()
			o.Value = json.RawMessage(text)
			ok = ok && json.Valid(o.Value)
		case "Inner":
			o.Inner = new(thing)
			ok = o.Inner.members(s)
		case "Many":
			o.Many = []thing{}
			ok = s.List(func() bool {
				o.Many = append(o.Many, thing{})
				return o.Many[len(o.Many)-1].members(s)
			})
		}
		return ok
	})
}

// What events look like is taken, as encoding/json has it.
func TestTakes(t *testing.T) {
	for _, text := range []string{
		`{}`,
		" { } \n",
		`{"Text":"","Inner":{},"Many":[]}`,
		"\t{ \"Text\" :\r\n\"a\" , \"Many\" : [ { } , { } ] } ",
		`{"Text":"a/b \u0041\u00e4\u20AC\\ \" \/ \b\f\n\r\t","Inner":{"Text":"{\"order\":1}"}}`,
		`{"Text":"a\ud834\udd1e\uD83D\uDE00"}`, `{"Text":"\ud834"}`, `{"Text":"\ud834\u0041"}`, `{"Text":"\udd1e\ud834"}`,
		`{"Text":"ä € 𝄞 and more than eight bytes, so that eight at a time are looked at"}`,
		`{"Text":"0123456\""}`, `{"Text":"01234567\"x\\"}`,
		`{"Inner":{"Inner":{"Many":[{"Text":"All"},{"Value":10}]}}}`,
		`{"Text":"a","Text":"b"}`,
		`{"Value":{"a":[1,{"b":"}]\\\""}],"c":"\u007d"}}`, `{"Value": [ ] ,"Text":""}`, `{"Value":"a\\","Text":""}`, `{"Value":-1.5e3}`, `{"Value":true ,"Text":""}`, `{"Value":null}`,
	} {
		var got, want thing
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if !got.read(text) {
			t.Errorf("%s is left to encoding/json", text)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, encoding/json has %+v", text, got, want)
		}
	}
}

// What encoding/json refuses, takes in a way of its own, or is rare.
func TestLeaves(t *testing.T) {
	for _, text := range []string{
		``, ` `, `[]`, `null`, `{`, `}`, `{}}`, `{}{}`, "{}\x00", `{"Text"}`, `{"Text":}`, `{"Text":"a",}`, `{,}`, `{"Text":"a" "Value":1}`, `{"Text" "a"}`,
		`{"text":"a"}`, `{"Other":1}`, `{"Text":null}`, `{"Text":1}`, `{"Text":"`, `{"Text":"a`, `{"Text":"a\`, `{"Text":"\`,
		`{"Text":"\"`, `{"Text":"\x"}`, `{"Text":"\u12"}`, `{"Text":"\u12`, `{"Text":"\u12G4"}`,
		"{\"Text\":\"\xff\"}", "{\"Text\":\"a\tb\"}", "{\"Text\":\"\\n\tb\"}", "\xff{}",
		`{"Value":}`, `{"Value":`, `{"Value":,"Text":""}`, `{"Value":[}`, `{"Value":{"a":1]}`, `{"Value":"a`, `{"Value":"a\`, `{"Value":tru}`, `{"Value":1 2}`, `{"Value":1]`, `{"Value":[[[[`, "{\"Value\":\"a\nb\"}",
		`{"Many":[{},]}`, `{"Many":[{} {}]}`, `{"Many":[{}`, `{"Many":{}}`, `{"Inner":[]}`,
	} {
		if new(thing).read(text) {
			t.Errorf("%q is taken", text)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"Text":"b\"\\\u0041","Inner":{},"Many":[{"Value":1},{}]}`,
		`{"Value":{"a":["]}\""]},"Text":""}`, `{"Value":1.5,"Value":[{}]}`,
		`{"Many":[{"Text":"a"}],"Many":[{}]}`, `{"Inner":{"Value":1},"Inner":{}}`, `{"text":"ä","Value":-0}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want thing
		if strings.Count(text, `"Inner"`) > 1 || strings.Count(text, `"Many"`) > 1 {
			return // encoding/json merges them, what a caller has to look for
		}
		if !got.read(text) {
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
