// Package wirejson reads and writes the JSON of the emulators' protocols as package plainjson
// does: fast, and only texts that encoding/json certainly reads in the same way.
//
// When go.mod requires Go 1.27, encoding/json/v2 can replace it, without the experiment: it
// compares names exactly, like the protocol of SQS.
//
//	s := wirejson.NewScanner(string(body))
//	if !s.Whole(request) {
//		err = json.Unmarshal(body, other) // another value: request may be half filled
//	}
package wirejson

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// Object is a value that a [Scanner] can fill.
type Object interface {
	// Member reads the value of the member name. It returns false for an unknown name, and
	// otherwise the result of the scanner's methods.
	Member(s *Scanner, name string) bool
}

// Scanner reads one JSON text.
type Scanner struct {
	plainjson.Scanner
	text string
}

// NewScanner returns a scanner at the beginning of a text.
func NewScanner(text string) *Scanner {
	return &Scanner{Scanner: *plainjson.NewScanner(text), text: text}
}

// Whole reads the text, which must be one object.
func (s *Scanner) Whole(o Object) bool {
	return utf8.ValidString(s.text) && s.Object(o) && s.End()
}

// Object reads an object.
func (s *Scanner) Object(o Object) bool {
	return s.Members(func(name string) bool { return o.Member(s, name) })
}

// Texts reads an array of strings into to, which is not nil afterwards.
func (s *Scanner) Texts(to *[]string) bool {
	list := []string{}
	ok := s.List(func() bool {
		text, ok := s.Text()
		list = append(list, text)
		return ok
	})
	*to = list
	return ok
}

// Int reads a whole number of at least 0.
func (s *Scanner) Int(to *int) bool {
	s.Peek()
	start := s.Pos
	if !s.Skip() {
		return false
	}
	n, err := strconv.Atoi(s.text[start:s.Pos])
	*to = n
	return err == nil && n >= 0
}

// Kept is like Text, for strings that outlive the text: it returns a copy.
func (s *Scanner) Kept() (text string, ok bool) {
	text, ok = s.Text()
	return strings.Clone(text), ok
}
