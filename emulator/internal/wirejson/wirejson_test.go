package wirejson_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/sqsbatch/sqsbatch/emulator/internal/wirejson"
	"github.com/sqsbatch/sqsbatch/internal/plainjson/scannertest"
)

// thing is an Object.
type thing scannertest.Thing

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
		o.Inner = new(scannertest.Thing)
		ok = s.Object((*thing)(o.Inner))
	case "Many":
		o.Many = []scannertest.Thing{}
		ok = s.List(func() bool {
			o.Many = append(o.Many, scannertest.Thing{})
			return s.Object((*thing)(&o.Many[len(o.Many)-1]))
		})
	}
	return ok
}

func whole(text string, o *scannertest.Thing) bool {
	return wirejson.NewScanner(text).Whole((*thing)(o))
}

func TestTakes(t *testing.T) {
	scannertest.Takes(t, whole,
		`{"Text":"","Kept":"","Int":0,"Texts":[],"Inner":{},"Many":[]}`,
		"\t{ \"Text\" :\r\n\"a\" , \"Int\" : 43200 , \"Texts\" : [ \"a\" , \"b\" ] , \"Many\" : [ { } , { } ] } ",
		`{"Int":1000000000}`,
		`{"Inner":{"Inner":{"Many":[{"Texts":["All"]},{"Int":10}]}}}`,
		`{"Value": [ ] ,"Int":1}`, `{"Value":"a\\","Int":1}`, `{"Value":true ,"Int":1}`)
}

func TestLeaves(t *testing.T) {
	scannertest.Leaves(t, whole,
		`{"Text":"a" "Int":1}`,
		`{"Int":01}`, `{"Int":-1}`, `{"Int":1.5}`, `{"Int":1e2}`, `{"Int":"1"}`, `{"Int":}`, `{"Int":`,
		`{"Value":,"Int":1}`)
}

func FuzzScanner(f *testing.F) {
	scannertest.Fuzz(f, whole,
		`{"Text":"a","Kept":"b\"\\\u0041","Int":10,"Texts":["a"],"Inner":{},"Many":[{"Int":1},{}]}`,
		`{"Value":{"a":["]}\""]},"Int":1}`, `{"Inner":{"Int":1},"Inner":{}}`, `{"text":"ä","Int":-0}`)
}

// A string from Kept must not keep the whole text in memory.
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
