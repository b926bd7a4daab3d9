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
	Text, Kept string
	Texts      []string
	Inner      *thing
	Many       []thing
	Value      ignored
}

// ignored is a value that is read and not kept.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

func (o *thing) read(s *plainjson.Scanner) bool {
	return s.Members(func(name string) (ok bool) {
		switch name {
		case "Text":
			o.Text, ok = s.Text()
		case "Kept":
			o.Kept, ok = s.Text()
		case "Texts":
			o.Texts = []string{}
			ok = s.List(func() bool {
				text, ok := s.Text()
				o.Texts = append(o.Texts, text)
				return ok
			})
		case "Value":
			ok = s.Skip()
		case "Inner":
			o.Inner = new(thing)
			ok = o.Inner.read(s)
		case "Many":
			o.Many = []thing{}
			ok = s.List(func() bool {
				o.Many = append(o.Many, thing{})
				return o.Many[len(o.Many)-1].read(s)
			})
		}
		return ok
	})
}

// takes reads a text, and reports whether that is possible.
func takes(text string, o *thing) bool {
	s := plainjson.NewScanner(text)
	return utf8.ValidString(text) && o.read(s) && s.End()
}

// What requests and answers look like must not be left to encoding/json.
func TestTakes(t *testing.T) {
	for _, text := range []string{
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
	} {
		var got, want thing
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if !takes(text, &got) {
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
		`{"Value":01}`, `{"Value":+1}`, `{"Value":1e}`, `{"Value":nul}`,
		`{"Texts":["a",]}`, `{"Texts":["a" "b"]}`, `{"Texts":[1]}`, `{"Texts":["a"`, `{"Texts":"a"}`,
		`{"Value":}`, `{"Value":`, `{"Value":,"Value":1}`, `{"Value":[}`, `{"Value":{"a":1]}`, `{"Value":"a`, `{"Value":"a\`, `{"Value":tru}`, `{"Value":1 2}`, `{"Value":1]`, `{"Value":[[[[`, "{\"Value\":\"a\nb\"}",
		`{"Many":[{},]}`, `{"Many":{}}`, `{"Inner":[]}`,
	} {
		if takes(text, new(thing)) {
			t.Errorf("%q is taken", text)
		}
	}
}

// Values are as deep as encoding/json reads them; a thing is one of the levels.
func TestSkip_GoesAsDeepAsEncodingJSON(t *testing.T) {
	for depth, want := range map[int]bool{9_999: true, 10_001: false, 1_000_000: false} {
		for _, level := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			text := `{"Value":` + strings.Repeat(level[0], depth) + "1" + strings.Repeat(level[1], depth) + "}"
			if got := takes(text, new(thing)); got != want || json.Valid([]byte(text)) != want {
				t.Errorf("%d times %s is taken: %v, want %v", depth, level[0], got, want)
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"Text":"a","Kept":"b\"\\\u0041","Value":10,"Texts":["a"],"Inner":{},"Many":[{"Value":1},{}]}`,
		`{"Value":{"a":["]}\""]},"Value":1}`, `{"Value":1.5,"Value":[{}]}`,
		`{"Many":[{"Text":"a"}],"Many":[{}]}`, `{"Inner":{"Value":1},"Inner":{}}`, `{"text":"ä","Value":-0}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want thing
		if strings.Count(text, `"Inner"`) > 1 || strings.Count(text, `"Many"`) > 1 {
			return // encoding/json merges them, what a caller has to look for
		}
		if !takes(text, &got) {
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
