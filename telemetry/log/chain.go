package log

import (
	"fmt"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
)

// link is an error that is wrapped in a record's, or that itself.
type link struct {
	Type string `json:"type"`
	// Text is empty where the reason, or the text of another link, has it.
	Text string `json:"text,omitempty"`
}

// String is for logs that are no JSON.
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
)

// plain are the types that say nothing: their texts do, and of a panic its stack.
var plain = map[string]bool{
	"*errors.errorString": true, "*errors.joinError": true, "*fmt.wrapError": true, "*fmt.wrapErrors": true, "*batch.PanicError": true,
}

// chain lists the errors in err, outer ones first, that add something to the
// reason, which is err's text: a type of their own, or a text that is not in it.
func chain(err error, reason string) []link {
	c := chained{said: []string{reason}}
	c.walk(err, false)
	return c.links
}

type chained struct {
	links  []link
	said   []string // texts
	visits int
}

// walk visits an error and what it wraps. Nothing is told of the texts within a
// [batch.MalformedError]: a decoder's may quote the body.
func (c *chained) walk(err error, secret bool) {
	c.visits++
	if err == nil || c.visits > maxVisits || len(c.links) == maxLinks {
		return
	}
	l := link{Type: fmt.Sprintf("%T", err)}
	if !secret {
		l.Text = c.news(err.Error())
	}
	if l.Text != "" || !plain[l.Type] {
		c.links = append(c.links, l)
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

// news returns a text unless it was said, cut to what helps.
func (c *chained) news(text string) string {
	for _, said := range c.said {
		if strings.Contains(said, text) {
			return ""
		}
	}
	c.said = append(c.said, text)
	if len(text) > maxText {
		return cut(text, maxText) + "…"
	}
	return text
}
