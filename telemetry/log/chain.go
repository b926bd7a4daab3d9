package log

import (
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/shorten"
)

// link is a record's error, or an error that it wraps.
type link struct {
	Type string `json:"type"`
	// Text is empty if the reason or the text of another link contains it.
	Text string `json:"text,omitempty"`
}

// String is for logs that are not JSON.
func (l link) String() string {
	if l.Text == "" {
		return l.Type
	}
	return l.Type + ": " + l.Text
}

const (
	maxLinks  = 16
	maxVisits = 64 // of errors, joined ones are many
	maxText   = 500
	maxType   = 200
)

// plain are types without a meaning of their own: their texts have it, and for a panic the
// stack.
var plain = map[string]bool{
	"*errors.errorString": true, "*errors.joinError": true, "*fmt.wrapError": true, "*fmt.wrapErrors": true, "*batch.PanicError": true,
}

// chain lists the errors in err, outermost first, whose type or text adds to the reason, up
// to maxErrors. It also returns how many bytes they take.
func chain(err error, reason string) (links []link, size int) {
	c := chained{said: []string{reason}}
	c.walk(err, false)
	return c.links, c.size
}

type chained struct {
	links  []link
	said   []string // texts
	visits int
	size   int
	full   bool
}

// walk visits an error and the errors that it wraps. It leaves out texts within a
// [batch.MalformedError], because a decoder's text may quote the body.
func (c *chained) walk(err error, secret bool) {
	c.visits++
	if err == nil || c.visits > maxVisits || len(c.links) == maxLinks || c.full {
		return
	}
	l := link{Type: shorten.To(fmt.Sprintf("%T", err), maxType)}
	size := len(`{"type":"","text":""},`) + len(l.Type)
	if !secret {
		text, n := c.news(err.Error())
		l.Text, size = text, size+n
	}
	if l.Text != "" || !plain[l.Type] {
		if c.size+size > maxErrors {
			c.full = true
			return
		}
		c.links, c.size = append(c.links, l), c.size+size
	}
	_, malformed := err.(*batch.MalformedError)
	secret = secret || malformed
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		c.walk(err.Unwrap(), secret)
	case interface{ Unwrap() []error }:
		for _, e := range err.Unwrap() {
			c.walk(e, secret)
		}
	}
}

// news returns a text, shortened, if it is new, and how many bytes it takes.
func (c *chained) news(text string) (short string, size int) {
	end, _ := fits(text, maxText-len("…"))
	for _, said := range c.said {
		if strings.Contains(said, text[:end]) {
			return "", 0
		}
	}
	c.said = append(c.said, text)
	return shortened(text, maxText)
}
