// Package encoded decodes bodies that are compressed or base64-coded, as their
// message attribute Content-Encoding says, before a function gets them:
//
//	handler.Run(encoded.Unwrap(batch.JSON(shipOrder)))
//
// The attribute has what HTTP's header of that name has: gzip, deflate (zlib's
// format) and base64, separated by commas in the order in which they were
// applied. The body of an SQS message is text, so what is compressed comes as
// base64, whether the attribute says so ("gzip, base64") or not ("gzip"); with or
// without padding, of the standard or the URL alphabet. A message without the
// attribute is handed on as it is, so that senders can change one by one. Where
// senders always compress and have no attribute for it, [Config.Default] says so.
//
// The function's record, also that of [batch.RecordFrom], has the decoded body,
// and neither the attribute nor SQS's digests, which are of what was sent.
//
// What cannot be decoded is a [batch.MalformedError]: an unknown coding, data that
// is damaged, cut or followed by other data, and what would become larger than
// [Config.MaxBytes]. [Gzip] is the other side.
package encoded

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

const (
	// Attribute is the default of [Config.Attribute].
	Attribute = "Content-Encoding"
	// MaxBytes is the default of [Config.MaxBytes], 16 MiB.
	MaxBytes = 16 << 20
)

// Config says what is read, and how large a body may be. The zero value is good.
type Config struct {
	// Attribute is the message attribute's name. Defaults to "Content-Encoding".
	Attribute string

	// Default is the coding of messages without the attribute, such as "gzip" for
	// senders that always compress and do not say so. A message that is not coded
	// must say that then, by the attribute with "identity": [Config.Gzip] does.
	// Defaults to none: such a message is handed on as it is.
	Default string

	// MaxBytes is how large a decoded body may be, at least 1. A larger one is
	// malformed. While a body is decoded it takes up to twice that, and as many
	// are decoded at a time as records are handled; gzip, which says at its end
	// how long the text is, takes no more than it needs. Defaults to 16 MiB.
	MaxBytes int
}

// Unwrap is [Config.Unwrap] with the defaults.
func Unwrap(h batch.Handler) batch.Handler { return Config{}.Unwrap(h) }

// Unwrap returns a handler that decodes a record's body and hands it to h. Without
// h there is no handler: what runs handlers refuses the nil that Unwrap returns
// then.
func (c Config) Unwrap(h batch.Handler) batch.Handler {
	if wrapped.IsNil(h) {
		return nil
	}
	u := &unwrapper{next: h, attribute: c.attribute(), fallback: c.Default, max: c.MaxBytes}
	if u.max == 0 {
		u.max = MaxBytes
	}
	if u.max < 1 {
		u.err = fmt.Errorf("encoded: MaxBytes is %d, must be 1 or more (0 for %d)", c.MaxBytes, MaxBytes)
	}
	if _, unknown := parse(c.Default); unknown != "" && u.err == nil {
		u.err = fmt.Errorf("encoded: Default has the unknown coding %q; gzip, deflate and base64 are known", unknown)
	}
	return u
}

func (c Config) attribute() string {
	if c.Attribute == "" {
		return Attribute
	}
	return c.Attribute
}

type unwrapper struct {
	next      batch.Handler
	attribute string
	fallback  string // Config.Default
	max       int
	err       error // of the configuration
}

// Validate returns an error that names an option which is out of its bounds.
func (u *unwrapper) Validate() error {
	return cmp.Or(u.err, wrapped.Validate(u.next))
}

// Handle decodes the body, if the attribute is there or there is a default.
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
		return &batch.MalformedError{Reason: fmt.Sprintf("attribute %s is of type %.20q, not String", u.attribute, a.DataType)}
	}
	codings, unknown := parse(a.StringValue)
	if unknown != "" {
		return &batch.MalformedError{Reason: fmt.Sprintf("attribute %s: coding %.60q is unknown", u.attribute, unknown)}
	}
	body, reason, err := codings.decode(r.Body, u.max)
	if reason != "" {
		if !there {
			reason = fmt.Sprintf("no attribute %s, so %s by Config.Default: %s", u.attribute, u.fallback, reason)
		}
		return &batch.MalformedError{Reason: reason, Err: err}
	}
	r.Body, r.MessageAttributes = body, without(r.MessageAttributes, u.attribute)
	r.MD5OfBody, r.MD5OfMessageAttributes = "", "" // SQS's are of what was sent
	return u.next.Handle(batch.WithRecord(ctx, r), r)
}

// without returns attributes that lack one: a copy, since they are the record's.
func without(attributes map[string]batch.MessageAttribute, name string) map[string]batch.MessageAttribute {
	if _, there := attributes[name]; !there {
		return attributes
	}
	if len(attributes) == 1 {
		return nil
	}
	attributes = maps.Clone(attributes)
	delete(attributes, name)
	return attributes
}
