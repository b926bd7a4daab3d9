package log

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/words"
)

// countName returns the name of the number of records with an outcome, such as notStarted.
func countName(o batch.Outcome) string {
	name, rest, _ := strings.Cut(o.String(), "-")
	if rest != "" {
		name += strings.ToUpper(rest[:1]) + rest[1:]
	}
	return name
}

// ofQueue begins a line with the queue's name, if that is known.
func ofQueue(name string) []slog.Attr {
	line := make([]slog.Attr, 0, 18)
	if name != "" {
		line = append(line, slog.String("queue", name))
	}
	return line
}

// head returns the attributes of every line about a record.
func head(r *batch.Result) []slog.Attr {
	return append(ofQueue(batch.QueueName(r.Record.QueueARN)),
		slog.String("messageId", r.Record.MessageID),
		slog.Int("attempt", r.Record.Attempt),
		slog.String("outcome", r.Outcome.String()),
	)
}

func (h *writer) attrs(r *batch.Result) []slog.Attr {
	line := head(r)
	if r.MaxReceiveCount > 0 {
		line = append(line, slog.Int("maxReceiveCount", r.MaxReceiveCount))
	}
	if !r.Started.IsZero() {
		line = append(line, ms("durationMs", r.Duration))
	}
	if r.Allowed > 0 {
		line = append(line, ms("allowedMs", r.Allowed))
	}
	line = appendAge(line, "ageMs", r.Record.SentAt)
	line = appendAge(line, "sinceFirstReceiveMs", r.Record.FirstReceivedAt)
	if r.VisibilitySet {
		line = append(line, ms("visibleInMs", r.VisibleIn))
	}
	if r.DeadLetterQueue != "" {
		line = append(line, slog.String("deadLetterQueue", r.DeadLetterQueue))
	}
	line, size := appendError(line, r.Err)
	return h.appendBody(line, r, maxTexts-size)
}

// appendAge appends the time since at, which is by SQS's clock.
func appendAge(line []slog.Attr, key string, at time.Time) []slog.Attr {
	if at.IsZero() {
		return line
	}
	return append(line, ms(key, max(0, time.Since(at))))
}

// appendBody appends the beginning of a body, if that is configured, as far as it fits into
// room.
func (h *writer) appendBody(line []slog.Attr, r *batch.Result, room int) []slog.Attr {
	switch r.Outcome {
	case batch.Retry, batch.DeadLettered, batch.Dropped, batch.Abandoned:
	default:
		return line // the record itself did not fail
	}
	if h.opts.BodyBytes <= 0 {
		return line
	}
	begin := words.Shorten(r.Record.Body, h.opts.BodyBytes)
	body := visible(begin)
	end, _ := fits(body, room)
	line = append(line, slog.String("body", body[:end]))
	if end < len(body) || len(begin) < len(r.Record.Body) {
		line = append(line, slog.Int("bodyBytes", len(r.Record.Body)))
	}
	return line
}

// appendError appends an error, the errors that it wraps, and a stack. size is their size in
// bytes of JSON.
func appendError(line []slog.Attr, err error) (with []slog.Attr, size int) {
	if err == nil {
		return line, 0
	}
	defer func() {
		if v := recover(); v != nil {
			with, size = append(line, unreadable(err, v)), maxReason
		}
	}()
	reason, size := shortened(err.Error(), maxReason)
	with = append(line, slog.String("reason", reason))
	if links, n := chain(err, reason); len(links) > 0 {
		with, size = append(with, slog.Any("errors", links)), size+n
	}
	if panicked, ok := errors.AsType[*batch.PanicError](err); ok {
		stack, n := shortened(string(panicked.Stack), maxStack)
		with, size = append(with, slog.String("stack", stack)), size+n
	}
	return with, size
}

// unreadable returns the reason for an error whose methods panic.
func unreadable(err error, panicked any) slog.Attr {
	reason, _ := shortened(fmt.Sprintf("an error of type %T, whose methods panic: %v", err, panicked), maxReason)
	return slog.String("reason", reason)
}

// ms returns an attribute with a duration in milliseconds, to a tenth.
func ms(key string, d time.Duration) slog.Attr {
	return slog.Float64(key, float64(d.Round(100*time.Microsecond))/float64(time.Millisecond))
}

// Limits of an error and a body in a line, in bytes of JSON. Together with the rest, about
// 1 KB, a line stays below 16 KiB. Container runtimes split longer lines.
const (
	maxReason = 2 << 10
	maxErrors = 3 << 10 // bytes of wrapped errors
	maxStack  = 8 << 10
	maxTexts  = 14_000 // the above and the body together
)

// fits returns how many bytes of s fit into n bytes of JSON, and how many bytes of JSON
// they take.
func fits(s string, n int) (end, size int) {
	for end < len(s) {
		r, width := utf8.DecodeRuneInString(s[end:])
		takes := width
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
			takes = 2
		case r < ' ' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError && width == 1:
			takes = 6
		}
		if size+takes > n {
			break
		}
		end, size = end+width, size+takes
	}
	return end, size
}

// shortened returns s if it fits into n bytes of JSON, or else its beginning and an
// ellipsis. size is the result's size in bytes of JSON.
//
// Control characters of terminals that neither JSON nor slog escapes become visible: errors
// may quote text from senders.
func shortened(s string, n int) (short string, size int) {
	const ellipsis = "…"
	s = visible(s)
	end, size := fits(s, n)
	if end == len(s) {
		return s, size
	}
	end, size = fits(s, n-len(ellipsis))
	return s[:end] + ellipsis, size + len(ellipsis)
}

// visible replaces controls above U+001F, changes of direction and ends of lines by their
// numbers. slog's handlers escape controls up to U+001F.
func visible(s string) string {
	obeyed := func(r rune) bool { return r >= 0x7f && words.Hidden(r) }
	if !strings.ContainsFunc(s, obeyed) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if obeyed(r) {
			fmt.Fprintf(&b, "U+%04X", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

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
	maxVisits = 64 // errors, including joined ones
	maxText   = 500
	maxType   = 200
)

// plain are types that add nothing to their texts, or to the stack of a panic.
var plain = map[string]bool{
	"*errors.errorString": true, "*errors.joinError": true, "*fmt.wrapError": true, "*fmt.wrapErrors": true, "*batch.PanicError": true,
}

// chain lists the errors in err, outermost first, whose type or text adds to the reason, up
// to maxErrors. size is their size in bytes of JSON.
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
	l := link{Type: words.Shorten(fmt.Sprintf("%T", err), maxType)}
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

// news returns a text, shortened, or "" if an earlier text contains it. size is its size in
// bytes of JSON.
func (c *chained) news(text string) (short string, size int) {
	text = visible(text)
	end, _ := fits(text, maxText-len("…"))
	for _, said := range c.said {
		if strings.Contains(said, text[:end]) {
			return "", 0
		}
	}
	c.said = append(c.said, text)
	return shortened(text, maxText)
}
