// Package protobuf makes handlers of functions whose bodies are Protocol Buffers messages:
//
//	handler.Run(protobuf.Handler(shipOrder))
//
//	func shipOrder(ctx context.Context, o *shop.Order) error
//
// The body of an SQS message is text, so the wire format is in base64: padded or not, in
// the standard or the URL alphabet. [JSON] is for senders that write protobuf's JSON,
// [Wire] for bodies that other middleware has already turned into bytes.
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

// Handler makes a handler of a function that takes the record's body as a message M, a
// pointer to a generated type. If the body is not such a message, fn is not called: the
// record fails with a [batch.MalformedError] and goes to the dead-letter queue. The error
// says where the body is wrong and quotes nothing.
//
// A body is also malformed if a required field is missing (proto2, editions), or if M has a
// method Validate() error that returns an error. The text of that error appears in the
// reason, so it should name fields, not values.
//
// Unknown fields come from newer senders. They are kept in the message, as protobuf does
// (those of JSON are dropped), unless [DisallowUnknownFields] is given.
//
// Handler returns nil if fn is nil, or if M is not a generated type, such as an interface
// or dynamicpb.Message.
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
			v := m // so that only messages with Validate cost an allocation for it
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

// DisallowUnknownFields makes an unknown field an error, also in nested messages.
func DisallowUnknownFields() Option {
	return func(o *options) { o.strict = true }
}

// JSON is for bodies in protobuf's JSON mapping.
func JSON() Option {
	return func(o *options) { o.decode = decodeJSON }
}

// Wire is for bodies in the wire format without base64. No SQS message has one, but
// payload/encoded and payload/s3payload may make one.
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
