package plainjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
	"github.com/sqsbatch/sqsbatch/internal/plainjson/scannertest"
)

func read(s *plainjson.Scanner, o *scannertest.Thing) bool {
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
			o.Inner = new(scannertest.Thing)
			ok = read(s, o.Inner)
		case "Many":
			o.Many = []scannertest.Thing{}
			ok = s.List(func() bool {
				o.Many = append(o.Many, scannertest.Thing{})
				return read(s, &o.Many[len(o.Many)-1])
			})
		}
		return ok
	})
}

// takes reads a text, and reports whether that is possible.
func takes(text string, o *scannertest.Thing) bool {
	s := plainjson.NewScanner(text)
	return utf8.ValidString(text) && read(s, o) && s.End()
}

func TestTakes(t *testing.T)   { scannertest.Takes(t, takes) }
func TestLeaves(t *testing.T)  { scannertest.Leaves(t, takes) }
func FuzzScanner(f *testing.F) { scannertest.Fuzz(f, takes) }

func TestNamesThatComeAgain_AreReadAgain(t *testing.T) {
	var many strings.Builder // more than a scanner remembers
	for i := range 50 {
		fmt.Fprintf(&many, `,"n%d":%d`, i, i)
	}
	all := many.String()[1:]
	scannertest.Takes(t, takes,
		`{"Many":[{"Text":"a","Kept":"b"},{"Text":"c","Kept":"d"},{"Kept":"e","Text":"f"},{"Text":"g"},{},{"Text":"h","Kept":"i"}]}`,
		`{"Many":[ { "Text" : "a" , "Inner":{"Text":"x"}}, { "Text" : "b" , "Inner":{"Text":"y"}},{"Text":"c"}]}`,
		`{"Many":[{"T\u0065xt":"a"},{"T\u0065xt":"b"},{"Text":"c"}]}`,
		`{"Value":[{`+all+`},{`+all+`}],"Many":[{"Text":"a"},{"Text":"b"}]}`,
	)
	scannertest.Leaves(t, takes,
		`{"Many":[{"T\u0065xt":"a"},{"T\u0065xt":"b"},{"Text065xt":"c"}]}`, // what is left in the memory where the escape was read
		`{"Many":[{"Text":"a"},{"Text"}]}`, `{"Many":[{"Text":"a"},{"Text":}]}`, `{"Many":[{"Text":"a","Kept":"b"},{"Text":"c" "Kept":"d"}]}`,
		`{"Many":[{"Text":"a"},{"Text" "b"}]}`, `{"Many":[{"Text":"a"},{"Textual":"b"}]}`,
	)
}

// Values are as deep as encoding/json reads them; a thing is one of the levels.
func TestSkip_GoesAsDeepAsEncodingJSON(t *testing.T) {
	for depth, want := range map[int]bool{9_999: true, 10_001: false, 1_000_000: false} {
		for _, level := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
			text := `{"Value":` + strings.Repeat(level[0], depth) + "1" + strings.Repeat(level[1], depth) + "}"
			if got := takes(text, new(scannertest.Thing)); got != want || json.Valid([]byte(text)) != want {
				t.Errorf("%d times %s is taken: %v, want %v", depth, level[0], got, want)
			}
		}
	}
}

func TestSpaceEnd(t *testing.T) {
	for _, c := range []struct {
		text     string
		from, to int
	}{{"", 0, 0}, {" \t\r\n", 0, 4}, {" \t\r\n", 4, 4}, {"a  b", 0, 0}, {"a  b", 1, 3}, {"\f", 0, 0}, {"\u00a0", 0, 0}} {
		if got := plainjson.SpaceEnd(c.text, c.from); got != c.to {
			t.Errorf("%q from %d: %d, want %d", c.text, c.from, got, c.to)
		}
	}
}

func TestUnescape(t *testing.T) {
	escapes := `"\/bfnrt`
	for i, want := range []byte("\"\\/\b\f\n\r\t") {
		if got := plainjson.Unescape(escapes[i]); got != want {
			t.Errorf("%q stands for %q, want %q", escapes[i], got, want)
		}
	}
	for c := range 256 {
		if got := plainjson.Unescape(byte(c)); strings.IndexByte(escapes, byte(c)) < 0 && got != 0 {
			t.Errorf("%q stands for %q, want nothing", byte(c), got)
		}
	}
}

func TestHex4(t *testing.T) {
	for text, want := range map[string]rune{
		"0000": 0, "00e4": 'ä', "20AC": '€', "ffff": 0xffff, "D83Dx": 0xd83d,
		"": -1, "00e": -1, "00g0": -1, "00G0": -1, "+123": -1, "12 4": -1, "00/:": -1, "00@`": -1,
	} {
		if got := plainjson.Hex4(text); got != want {
			t.Errorf("%q: %#x, want %#x", text, got, want)
		}
	}
}

func FuzzPlainEnd(f *testing.F) {
	f.Add("0123456789abcdef\x1f", 3)
	f.Add(`01234567"`, 0)
	f.Add("ab\x7f !\\", 1)
	f.Fuzz(func(t *testing.T, text string, from int) {
		if from < 0 || from > len(text) {
			return
		}
		want := from
		for want < len(text) && text[want] >= ' ' && text[want] < 0x80 && text[want] != '"' && text[want] != '\\' {
			want++
		}
		if got := plainjson.PlainEnd(text, from); got != want {
			t.Errorf("%q from %d: %d, want %d", text, from, got, want)
		}
	})
}
