package plainjson_test

import (
	"encoding/json"
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
