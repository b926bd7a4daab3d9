// Package protobuf gives a function bodies that are Protocol Buffers messages:
//
//	handler.Run(protobuf.Handler(shipOrder))
//
//	func shipOrder(ctx context.Context, o *shop.Order) error
//
// The body of an SQS message is text, so the wire format comes as base64: with or
// without padding, of the standard or the URL alphabet. [JSON] is for senders that
// write protobuf's JSON, [Wire] for bodies that are bytes already.
package protobuf

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/base64text"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Handler makes a handler of a function that takes the record's body as a
// message M, a pointer to a generated type. A body that is none does not reach
// fn: the record fails with a [batch.MalformedError] that says where and quotes
// nothing, and goes to the dead-letter queue. So does a message without a
// required field (proto2, editions), or whose method Validate() error, if M has
// one, returns an error; what that says is in the reason, so it should name
// fields and not values.
//
// Unknown fields are those of senders that are newer: they are kept in the
// message, as protobuf does (JSON's are ignored), unless [DisallowUnknownFields]
// is given.
//
// Without fn, or when M is no generated type (an interface, or dynamicpb's
// Message, which alone does not say what it is), there is no handler: what runs
// handlers refuses the nil that Handler returns then.
func Handler[M proto.Message](fn func(ctx context.Context, m M) error, opts ...Option) batch.HandlerFunc {
	t := reflect.TypeFor[M]()
	if fn == nil || t.Kind() != reflect.Pointer || reflect.New(t.Elem()).Interface().(M).ProtoReflect().Descriptor() == nil {
		return nil
	}
	validates := t.Implements(reflect.TypeFor[interface{ Validate() error }]())
	o := options{decode: decodeBase64}
	for _, opt := range opts {
		opt(&o)
	}
	return func(ctx context.Context, r batch.Record) error {
		m := reflect.New(t.Elem()).Interface().(M)
		if err := o.decode(r.Body, m, o.strict); err != nil {
			return err
		}
		if err := proto.CheckInitialized(m); err != nil {
			return malformed(missing(err), err)
		}
		if validates {
			v := m // so that only messages with a Validate cost an allocation for it
			if reason, err := jsonbody.Validate(&v); err != nil {
				return malformed(reason, err)
			}
		}
		return fn(ctx, m)
	}
}

// Option changes how [Handler] decodes.
type Option func(*options)

type options struct {
	decode func(body string, m proto.Message, strict bool) error
	strict bool
}

// DisallowUnknownFields makes a field that M does not have, or a message in it, an error.
func DisallowUnknownFields() Option {
	return func(o *options) { o.strict = true }
}

// JSON is for bodies in protobuf's JSON mapping.
func JSON() Option {
	return func(o *options) { o.decode = decodeJSON }
}

// Wire is for bodies that are the wire format itself. No SQS message is, but what
// payload/encoded and payload/s3payload make of one may be.
func Wire() Option {
	return func(o *options) { o.decode = decodeWire }
}

func decodeBase64(body string, m proto.Message, strict bool) error {
	data, err := base64text.Append(nil, body)
	if err != nil {
		return malformed(err.Error(), err)
	}
	return unmarshal(data, m, strict)
}

func decodeWire(body string, m proto.Message, strict bool) error {
	return unmarshal([]byte(body), m, strict)
}

func unmarshal(data []byte, m proto.Message, strict bool) error {
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(data, m); err != nil {
		return malformed(whereWire(data, m.ProtoReflect().Descriptor()), err)
	}
	if strict {
		if where := unknown(m.ProtoReflect()); where != "" {
			return malformed(where, errUnknown)
		}
	}
	return nil
}

var errUnknown = errors.New("unknown field")

func decodeJSON(body string, m proto.Message, strict bool) error {
	if strings.TrimSpace(body) == "" {
		return malformed("it is empty", errEmpty)
	}
	err := (protojson.UnmarshalOptions{AllowPartial: true, DiscardUnknown: !strict}).Unmarshal([]byte(body), m)
	if err != nil {
		return malformed(whereJSON(err, m.ProtoReflect().Descriptor()), err)
	}
	return nil
}

var errEmpty = errors.New("empty body")

func malformed(reason string, err error) error {
	return &batch.MalformedError{Reason: reason, Err: err}
}
