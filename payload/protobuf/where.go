package protobuf

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxDepth is how deep the decoder, and the search for errors and unknown fields, go into
// nested messages. maxPath limits the path in an error's text.
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

// whereWire describes, by field and offset, what is wrong with the wire format of a
// message. The decoder does not report that. It is called only after an error.
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

// linePattern finds the position in protojson's errors. The text behind it quotes values.
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
