// Package protobuf makes handlers of functions that take Protocol Buffers messages:
//
//	handler.Run(protobuf.Handler(shipOrder))
//
//	func shipOrder(ctx context.Context, o *shop.Order) error
//
// The body of an SQS message is text, so the wire format is in base64: padded or not, in
// the standard or the URL alphabet. [JSON] is for senders that write protobuf's JSON, [Wire] for
// bodies that other middleware has decoded to bytes.
package protobuf

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
	base64text "github.com/sqsbatch/sqsbatch/payload/internal"
)

// Handler returns a handler that decodes the record's body into a message M, a pointer to a
// generated type, and calls fn. If the body is not such a message, fn is not called: the record
// fails with a [batch.MalformedError] and goes to the dead-letter queue. The error has the
// position in the body, and quotes nothing.
//
// A body is also malformed if a required field is missing (proto2, editions), or if M has a
// method Validate() error that returns an error. The text of that error appears in the
// reason, so it should name fields, not values.
//
// Unknown fields, of newer senders, are kept in the message, except in JSON, where they are
// dropped. [Config].DisallowUnknownFields makes them an error.
//
// Handler takes one Config at most. It returns nil if fn is nil, if Config.Format is unknown, or
// if M is not a generated type, such as an interface or dynamicpb.Message.
func Handler[M proto.Message](fn func(ctx context.Context, m M) error, cfg ...Config) batch.HandlerFunc {
	t := reflect.TypeFor[M]()
	if fn == nil || t.Kind() != reflect.Pointer || reflect.New(t.Elem()).Interface().(M).ProtoReflect().Descriptor() == nil {
		return nil
	}
	validates := t.Implements(reflect.TypeFor[interface{ Validate() error }]())
	c := wrapped.Last(cfg)
	decode, known := map[Format]func(string, proto.Message, bool) error{"": decodeBase64, Base64: decodeBase64, JSON: decodeJSON, Wire: decodeWire}[c.Format]
	if !known {
		return nil
	}
	return func(ctx context.Context, r batch.Record) error {
		m := reflect.New(t.Elem()).Interface().(M)
		if err := decode(r.Body, m, c.DisallowUnknownFields); err != nil {
			return err
		}
		if err := proto.CheckInitialized(m); err != nil {
			return malformed(missing(err), err)
		}
		if validates {
			v := m // a copy, so that only messages with Validate cost an allocation
			if reason, err := jsonbody.Validate(&v); err != nil {
				return malformed(reason, err)
			}
		}
		return fn(ctx, m)
	}
}

// Format is the format of a message in a body.
type Format string

// The formats.
const (
	// Base64 is the wire format in base64. It is the default.
	Base64 Format = "base64"
	// JSON is protobuf's JSON mapping.
	JSON Format = "json"
	// Wire is the wire format without base64. No SQS message has one, but payload/encoded
	// and payload/s3payload may make one.
	Wire Format = "wire"
)

// Config configures [Handler]. The zero value is ready to use.
type Config struct {
	// Format is the format of bodies. Defaults to Base64.
	Format Format

	// DisallowUnknownFields makes an unknown field an error, also in nested messages.
	// Defaults to false.
	DisallowUnknownFields bool
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

// maxDepth is the deepest nesting of messages, for the decoder and for the search for errors
// and unknown fields. maxPath limits the path in an error's text.
const (
	maxDepth = protowire.DefaultRecursionLimit
	maxPath  = 200
)

// join adds a field to a path.
func join(path string, number protowire.Number, field protoreflect.FieldDescriptor) string {
	switch {
	case len(path) > maxPath:
		return path
	case field == nil:
		return path + fmt.Sprint(number)
	}
	return path + string(field.Name())
}

// whereWire describes an error in the wire format of a message by field and offset, which the
// decoder does not report. It is called only after an error.
func whereWire(data []byte, message protoreflect.MessageDescriptor) string {
	if where := inWire(data, 0, message, "", maxDepth); where != "" {
		return where
	}
	return fmt.Sprintf("not a valid %s", message.FullName())
}

// within returns the path of the contents of a field.
func within(name string) string {
	if len(name) > maxPath {
		return name
	}
	return name + "."
}

func inWire(data []byte, offset int, message protoreflect.MessageDescriptor, path string, depth int) string {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return fmt.Sprintf("not a valid %s at offset %d", message.FullName(), offset)
		}
		field := message.Fields().ByNumber(number)
		name := join(path, number, field)
		size := protowire.ConsumeFieldValue(number, kind, data[n:])
		if size < 0 {
			return fmt.Sprintf("field %q is damaged or cut at offset %d", name, offset)
		}
		if field != nil && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data[n:])
			at := offset + n + size - len(value)
			if where := inValue(value, at, field, name, depth-1); where != "" {
				return where
			}
		}
		data, offset = data[n+size:], offset+n+size
	}
	return ""
}

func inValue(value []byte, offset int, field protoreflect.FieldDescriptor, name string, depth int) string {
	switch field.Kind() {
	case protoreflect.MessageKind:
		if depth > 0 {
			return inWire(value, offset, field.Message(), within(name), depth)
		}
		return fmt.Sprintf("field %q is in a message too deep at offset %d", name, offset)
	case protoreflect.StringKind:
		if !utf8.Valid(value) {
			return fmt.Sprintf("field %q is not valid UTF-8 at offset %d", name, offset)
		}
	}
	return ""
}

// unknown describes the first unknown field of the message, or of one in it.
func unknown(m protoreflect.Message) string { return unknownIn(m, "", maxDepth) }

func unknownIn(m protoreflect.Message, path string, depth int) (where string) {
	if raw := m.GetUnknown(); len(raw) > 0 {
		number, _, _ := protowire.ConsumeTag(raw)
		return fmt.Sprintf("unknown field %q", join(path, number, nil))
	}
	if depth == 0 {
		return fmt.Sprintf("field %q is in a message too deep", strings.TrimSuffix(path, "."))
	}
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		below := func(v protoreflect.Value) bool {
			where = unknownIn(v.Message(), within(join(path, 0, field)), depth-1)
			return where == ""
		}
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { return below(v) })
			}
		case field.Message() == nil:
		case field.IsList():
			for i := range v.List().Len() {
				if !below(v.List().Get(i)) {
					break
				}
			}
		default:
			below(v)
		}
		return where == ""
	})
	return where
}

// linePattern finds the position in protojson's errors. The text after it quotes values.
var linePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(line (\d+):(\d+)\)`) })

func whereJSON(err error, message protoreflect.MessageDescriptor) string {
	at := linePattern().FindStringSubmatch(err.Error())
	if at == nil {
		return fmt.Sprintf("not valid JSON of %s", message.FullName())
	}
	return fmt.Sprintf("not valid JSON of %s at line %s, column %s", message.FullName(), at[1], at[2])
}

// missing describes an error of proto.CheckInitialized, which names the field.
func missing(err error) string {
	text := err.Error()
	if i := strings.Index(text, "required field"); i >= 0 {
		return text[i:]
	}
	return "a required field is not set"
}
