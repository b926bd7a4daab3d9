// Package encoded decodes bodies that are compressed or in base64, by the message attribute
// Content-Encoding:
//
//	handler.Run(encoded.Unwrap(batch.JSON(shipOrder)))
//
// The attribute has the values of HTTP's header of that name: gzip, deflate (zlib's format)
// and base64, separated by commas in the order in which they were applied. The body of an
// SQS message is text. So compressed data is always in base64, even if the attribute does
// not say so ("gzip" means "gzip, base64"). Base64 may be padded or not, in the standard or
// the URL alphabet.
//
// A message without the attribute is passed on unchanged, so that senders can change one by
// one. If senders always compress and set no attribute, set [Config.Default].
//
// The handler's record, also from [batch.RecordFrom], has the decoded body. It has neither the
// attribute nor SQS's digests, which are of the encoded body.
//
// A body that cannot be decoded is a [batch.MalformedError]: its coding is unknown; its
// data is damaged, cut off, or followed by other data; or its text would be larger than
// [Config.MaxBytes]. [Prepare] is for senders.
package encoded

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

const (
	// Attribute is the default of [Config.Attribute].
	Attribute = "Content-Encoding"
	// MaxBytes is the default of [Config.MaxBytes], 1 MiB: the limit of a message that is not
	// compressed.
	MaxBytes = 1 << 20
)

// Config configures [Config.Unwrap] and [Config.Prepare]. The zero value is ready to use.
type Config struct {
	// Attribute is the name of the message attribute. Defaults to "Content-Encoding".
	Attribute string

	// Default is the coding of messages without the attribute, such as "gzip" for senders
	// that always compress and do not set it. A message that is not encoded must then have
	// the attribute with the value "identity", as [Config.Prepare] sets it. Defaults to none:
	// messages without the attribute are passed on unchanged.
	Default string

	// MaxBytes is the largest size of a decoded body, at least 1. A larger body is malformed
	// for [Unwrap], and an error for [Prepare]. Defaults to 1 MiB, SQS's limit for a message
	// without compression.
	//
	// Cost: decoding takes up to twice MaxBytes of memory, for as many records at a time as
	// there are processors; others wait for their turn. Gzip takes only the size of the text,
	// which is at the end of its data. Values that the function decodes from the body take
	// more: small JSON objects in maps take 50 times the memory of their text.
	MaxBytes int
}

// Unwrap is [Config.Unwrap] with the defaults.
func Unwrap(h batch.Handler) batch.Handler { return Config{}.Unwrap(h) }

// Unwrap returns a handler that decodes a record's body and passes it to h. It returns nil
// if h is nil.
func (c Config) Unwrap(h batch.Handler) batch.Handler {
	if wrapped.IsNil(h) {
		return nil
	}
	u := &unwrapper{next: h, attribute: cmp.Or(c.Attribute, Attribute), fallback: c.Default, max: cmp.Or(c.MaxBytes, MaxBytes), turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if u.max < 1 {
		u.err = fmt.Errorf("encoded: MaxBytes is %d, must be 1 or more (0 for %d)", c.MaxBytes, MaxBytes)
	}
	if _, problem := parse(c.Default); problem != "" && u.err == nil {
		u.err = fmt.Errorf("encoded: Default is %q: %s; gzip, deflate and base64 are known", c.Default, problem)
	}
	return u
}

type unwrapper struct {
	next      batch.Handler
	attribute string
	fallback  string // Config.Default
	max       int
	turns     chan struct{} // an element for each body that is being decoded
	err       error         // of the configuration
}

// Validate reports an invalid configuration.
func (u *unwrapper) Validate() error {
	return cmp.Or(u.err, wrapped.Validate(u.next))
}

// Handle decodes the body, if there is an attribute or a default.
func (u *unwrapper) Handle(ctx context.Context, r batch.Record) error {
	a, there := r.MessageAttributes[u.attribute]
	if !there {
		if u.fallback == "" {
			return u.next.Handle(ctx, r)
		}
		a.StringValue = u.fallback
	}
	if u.err != nil {
		return u.err
	}
	if a.BinaryValue != nil {
		return &batch.MalformedError{Reason: fmt.Sprintf("attribute %s is Binary, not String", u.attribute)}
	}
	codings, problem := parse(a.StringValue)
	if problem != "" {
		return &batch.MalformedError{Reason: fmt.Sprintf("attribute %s: %s", u.attribute, problem)}
	}
	body, bad, err := u.decode(ctx, codings, r.Body)
	if err != nil {
		return err
	}
	if bad != nil {
		if !there {
			bad.Reason = fmt.Sprintf("no attribute %s, so %s by Config.Default: %s", u.attribute, u.fallback, bad.Reason)
		}
		return bad
	}
	r.Body, r.MessageAttributes = body, maps.Clone(r.MessageAttributes) // the record's map is shared
	delete(r.MessageAttributes, u.attribute)
	r.MD5OfBody, r.MD5OfMessageAttributes = "", "" // digests of the encoded message
	return u.next.Handle(batch.WithRecord(ctx, r), r)
}

// decode decodes a body when one of turns is free, or returns the error of ctx.
func (u *unwrapper) decode(ctx context.Context, c codings, text string) (body string, bad *batch.MalformedError, err error) {
	select {
	case u.turns <- struct{}{}:
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	defer func() { <-u.turns }()
	body, bad = c.decode(text, u.max)
	return body, bad, nil
}
