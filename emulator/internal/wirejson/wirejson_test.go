package wirejson_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/sqsbatch/sqsbatch/emulator/internal/wirejson"
)

// thing has a member of each sort.
type thing struct {
	Text  string
	Kept  string
	Int   int
	Texts []string
	Inner *thing
	Many  []thing
	Value ignored
}

// ignored is a value that is read and not kept.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

func (o *thing) Member(s *wirejson.Scanner, name string) (ok bool) {
	switch name {
	case "Text":
		o.Text, ok = s.Text()
	case "Kept":
		o.Kept, ok = s.Kept()
	case "Int":
		ok = s.Int(&o.Int)
	case "Texts":
		ok = s.Texts(&o.Texts)
	case "Value":
		ok = s.Skip()
	case "Inner":
		o.Inner = new(thing)
		ok = s.Object(o.Inner)
	case "Many":
		o.Many = []thing{}
		ok = s.List(func() bool {
			o.Many = append(o.Many, thing{})
			return s.Object(&o.Many[len(o.Many)-1])
		})
	}
	return ok
}

// What requests and answers look like must not be left to encoding/json.
func TestTakes(t *testing.T) {
	for _, text := range []string{
		`{}`,
		" { } \n",
		`{"Text":"","Kept":"","Int":0,"Texts":[],"Inner":{},"Many":[]}`,
		"\t{ \"Text\" :\r\n\"a\" , \"Int\" : 43200 , \"Texts\" : [ \"a\" , \"b\" ] , \"Many\" : [ { } , { } ] } ",
		`{"Int":1000000000}`,
		`{"Text":"a/b \u0041\u00e4\u20AC\\ \" \/ \b\f\n\r\t","Kept":"{\"order\":1}"}`,
		`{"Text":"a\ud834\udd1e\uD83D\uDE00"}`, `{"Text":"\ud834"}`, `{"Text":"\ud834\u0041"}`, `{"Text":"\udd1e\ud834"}`, `{"Text":"\ud834\ud834\udd1e"}`,
		`{"Text":"ä € 𝄞 and more than eight bytes, so that eight at a time are looked at"}`,
		`{"Kept":"0123456\"","Text":"01234567\"x\\"}`,
		`{"Inner":{"Inner":{"Many":[{"Texts":["All"]},{"Int":10}]}}}`,
		`{"Text":"a","Text":"b"}`,
		`{"Value":{"a":[1,{"b":"}]\\\""}],"c":"\u007d"}}`, `{"Value": [ ] ,"Int":1}`, `{"Value":"a\\","Int":1}`, `{"Value":-1.5e3}`, `{"Value":true ,"Int":1}`, `{"Value":null}`,
	} {
		var got, want thing
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if !wirejson.NewScanner(text).Whole(&got) {
			t.Errorf("%s is left to encoding/json", text)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, encoding/json has %+v", text, got, want)
		}
	}
}

// What encoding/json refuses, takes in a way of its own, or is rare.
func TestLeaves(t *testing.T) {
	for _, text := range []string{
		``, ` `, `[]`, `null`, `{`, `}`, `{}}`, `{}{}`, "{}\x00", `{"Text"}`, `{"Text":}`, `{"Text":"a",}`, `{,}`, `{"Text":"a" "Int":1}`, `{"Text" "a"}`,
		`{"text":"a"}`, `{"Other":1}`, `{"Text":null}`, `{"Text":1}`, `{"Text":"`, `{"Text":"a`, `{"Text":"a\`, `{"Text":"\`,
		`{"Text":"\"`, `{"Text":"\x"}`, `{"Text":"\u12"}`, `{"Text":"\u12`, `{"Text":"\u12G4"}`,
		"{\"Text\":\"\xff\"}", "{\"Text\":\"a\tb\"}", "{\"Text\":\"\\n\tb\"}", "\xff{}",
		`{"Int":01}`, `{"Int":-1}`, `{"Int":1.5}`, `{"Int":1e2}`, `{"Int":"1"}`, `{"Int":}`, `{"Int":`,
		`{"Texts":["a",]}`, `{"Texts":["a" "b"]}`, `{"Texts":[1]}`, `{"Texts":["a"`, `{"Texts":"a"}`,
		`{"Value":}`, `{"Value":`, `{"Value":,"Int":1}`, `{"Value":[}`, `{"Value":{"a":1]}`, `{"Value":"a`, `{"Value":"a\`, `{"Value":tru}`, `{"Value":1 2}`, `{"Value":1]`, `{"Value":[[[[`, "{\"Value\":\"a\nb\"}",
		`{"Many":[{},]}`, `{"Many":{}}`, `{"Inner":[]}`,
	} {
		if wirejson.NewScanner(text).Whole(new(thing)) {
			t.Errorf("%q is taken", text)
		}
	}
}

// A string that is kept must not keep the whole text in memory.
func TestKeptIsACopy(t *testing.T) {
	text := strings.Repeat(`"abc"`, 100)
	kept, ok := wirejson.NewScanner(text).Kept()
	if !ok || kept != "abc" || unsafe.StringData(kept) == unsafe.StringData(text[1:]) {
		t.Errorf("%q, %t: a part of the text", kept, ok)
	}
	part, ok := wirejson.NewScanner(text).Text()
	if !ok || part != "abc" || unsafe.StringData(part) != unsafe.StringData(text[1:]) {
		t.Errorf("%q, %t: Text copies", part, ok)
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"Text":"a","Kept":"b\"\\\u0041","Int":10,"Texts":["a"],"Inner":{},"Many":[{"Int":1},{}]}`,
		`{"Value":{"a":["]}\""]},"Int":1}`, `{"Value":1.5,"Value":[{}]}`,
		`{"Many":[{"Text":"a"}],"Many":[{}]}`, `{"Inner":{"Int":1},"Inner":{}}`, `{"text":"ä","Int":-0}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want thing
		if strings.Count(text, `"Inner"`) > 1 || strings.Count(text, `"Many"`) > 1 {
			return // encoding/json merges them, what a caller has to look for
		}
		if !wirejson.NewScanner(text).Whole(&got) {
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
