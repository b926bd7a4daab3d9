package plainjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// thing has a member of each sort.
type thing struct {
	Text  string
	Kept  string
	Int   int
	Texts []string
	Inner *thing
	Many  []thing
	Value any // is not kept
}

func (o *thing) Member(s *plainjson.Scanner, name string) (ok bool) {
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
		`{"Int":999999999}`,
		`{"Text":"a/b \u0041\u00e4\u20AC\\ \" \/ \b\f\n\r\t","Kept":"{\"order\":1}"}`,
		`{"Text":"a\ud834\udd1e\uD83D\uDE00"}`,
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
		want.Value = nil
		if !plainjson.NewScanner(text).Whole(&got) {
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
		`{"Text":"\"`, `{"Text":"\x"}`, `{"Text":"\u12"}`, `{"Text":"\u12`, `{"Text":"\u12G4"}`, `{"Text":"\ud834"}`, `{"Text":"\ud834\u0041"}`, `{"Text":"\udd1e\ud834"}`,
		"{\"Text\":\"\xff\"}", "{\"Text\":\"a\tb\"}", "{\"Text\":\"\\n\tb\"}", "\xff{}",
		`{"Int":01}`, `{"Int":-1}`, `{"Int":1.5}`, `{"Int":1e2}`, `{"Int":1000000000}`, `{"Int":"1"}`, `{"Int":}`, `{"Int":`,
		`{"Texts":["a",]}`, `{"Texts":["a" "b"]}`, `{"Texts":[1]}`, `{"Texts":["a"`, `{"Texts":"a"}`,
		`{"Value":}`, `{"Value":`, `{"Value":,"Int":1}`, `{"Value":[}`, `{"Value":{"a":1]}`, `{"Value":"a`, `{"Value":"a\`, `{"Value":tru}`, `{"Value":1 2}`, `{"Value":1]`, `{"Value":[[[[`, "{\"Value\":\"a\nb\"}",
		`{"Many":[{},]}`, `{"Many":{}}`, `{"Inner":[]}`,
	} {
		if plainjson.NewScanner(text).Whole(new(thing)) {
			t.Errorf("%q is taken", text)
		}
	}
}

// Values are as deep as encoding/json reads them; a thing is one of the levels.
func TestSkip_GoesAsDeepAsEncodingJSON(t *testing.T) {
	for depth, want := range map[int]bool{9_999: true, 10_001: false, 1_000_000: false} {
		for _, level := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			text := `{"Value":` + strings.Repeat(level[0], depth) + "1" + strings.Repeat(level[1], depth) + "}"
			if got := plainjson.NewScanner(text).Whole(new(thing)); got != want || json.Valid([]byte(text)) != want {
				t.Errorf("%d times %s is taken: %v, want %v", depth, level[0], got, want)
			}
		}
	}
}

// A string that is kept must not keep the whole text in memory.
func TestKeptIsACopy(t *testing.T) {
	text := strings.Repeat(`"abc"`, 100)
	kept, ok := plainjson.NewScanner(text).Kept()
	if !ok || kept != "abc" || unsafe.StringData(kept) == unsafe.StringData(text[1:]) {
		t.Errorf("%q, %t: a part of the text", kept, ok)
	}
	part, ok := plainjson.NewScanner(text).Text()
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
		if !plainjson.NewScanner(text).Whole(&got) {
			return
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%q is taken; encoding/json: %v", text, err)
		}
		want.Value = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, encoding/json has %+v", text, got, want)
		}
	})
}

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
		// How encoding/json writes what is not UTF-8 depends on the version of Go,
		// what it says does not.
		var ours, theirs string
		if err := errors.Join(json.Unmarshal(got[1:], &ours), json.Unmarshal(want.Bytes(), &theirs)); err != nil || ours != theirs || !utf8.Valid(got) {
			t.Errorf("%q: %s says %q, encoding/json %q, %v", text, got[1:], ours, theirs, err)
		}
	})
}
