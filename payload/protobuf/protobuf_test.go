package protobuf_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/protobuf"
)

// file has fields of every kind that matters, and a required one far within.
func file() *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{
		Name: proto.String("shop.proto"), Dependency: []string{"other.proto"}, PublicDependency: []int32{1, 2, 3},
		MessageType: []*descriptorpb.DescriptorProto{{Name: proto.String("Order"), Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("sku"), Number: proto.Int32(1)}, {Name: proto.String("quantity"), Number: proto.Int32(2)},
		}}},
		Options: &descriptorpb.FileOptions{UninterpretedOption: []*descriptorpb.UninterpretedOption{
			{Name: []*descriptorpb.UninterpretedOption_NamePart{{NamePart: proto.String("a"), IsExtension: proto.Bool(true)}}},
		}},
	}
}

func wire(t testing.TB, m proto.Message) string {
	t.Helper()
	data, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func text(data string) string { return base64.StdEncoding.EncodeToString([]byte(data)) }

// handle gives a body to a handler of M, and returns the message that reached its function.
func handle[M proto.Message](body string, cfg ...protobuf.Config) (got M, called bool, err error) {
	h := protobuf.Handler(func(_ context.Context, m M) error {
		got, called = m, true
		return nil
	}, cfg...)
	err = h.Handle(context.Background(), batch.Record{Body: body})
	return got, called, err
}

func TestDecodes(t *testing.T) {
	want, data := file(), wire(t, file())
	json, err := protojson.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body string
		cfg  protobuf.Config
	}{
		"base64":                  {text(data), protobuf.Config{}},
		"base64 without padding":  {base64.RawStdEncoding.EncodeToString([]byte(data)), protobuf.Config{}},
		"base64 for URLs":         {base64.URLEncoding.EncodeToString([]byte(data)), protobuf.Config{}},
		"known fields only":       {text(data), protobuf.Config{DisallowUnknownFields: true}},
		"JSON":                    {string(json), protobuf.Config{Format: protobuf.JSON}},
		"JSON, known fields only": {string(json), protobuf.Config{Format: protobuf.JSON, DisallowUnknownFields: true}},
		"the wire format":         {data, protobuf.Config{Format: protobuf.Wire}},
	} {
		got, _, err := handle[*descriptorpb.FileDescriptorProto](c.body, c.cfg)
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, called, err := handle[*wrapperspb.StringValue](""); err != nil || !called || got.Value != "" {
		t.Errorf("the message without fields: %v, %v", got, err)
	}
	got, _, err := handle[*structpb.Struct](`{"a":{"b":[1,null]}}`, protobuf.Config{Format: protobuf.JSON, DisallowUnknownFields: true})
	if err != nil || len(got.Fields) != 1 {
		t.Errorf("a map: %v, %v", got, err)
	}
}

const canary = "canary-4711"

func TestWhatIsMalformedSaysWhere(t *testing.T) {
	data := wire(t, file())
	json := protobuf.Config{Format: protobuf.JSON}
	in := strings.Index(data, "sku")
	required := file()
	required.Options.UninterpretedOption[0].Name[0].NamePart = nil
	alien := file()
	alien.MessageType[0].Field[1].ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 1))
	for name, c := range map[string]struct {
		body, reason string
		cfg          protobuf.Config
	}{
		"no base64":               {"{" + canary, "not valid base64 at offset 0", protobuf.Config{}},
		"cut":                     {text(data[:len(data)-1]), `field "public_dependency" is damaged or cut at offset 73`, protobuf.Config{}},
		"damaged within":          {text(data[:in-1] + "\x7f" + data[in:]), `field "message_type.field.name" is damaged or cut at offset`, protobuf.Config{}},
		"no field number":         {text("\x00"), "not a valid google.protobuf.FileDescriptorProto at offset 0", protobuf.Config{}},
		"a field that is missing": {text(wire(t, required)), "required field google.protobuf.UninterpretedOption.NamePart.name_part not set", protobuf.Config{}},
		"an unknown field":        {text(wire(t, alien)), `unknown field "message_type.field.77"`, protobuf.Config{DisallowUnknownFields: true}},
		"JSON, empty":             {" ", "it is empty", json},
		"JSON, syntax":            {"{\n  \"name\": " + canary + "}", "not valid JSON of google.protobuf.FileDescriptorProto at line 2, column 11", json},
		"JSON, cut":               {`{"name": "` + canary, "not valid JSON of google.protobuf.FileDescriptorProto", json},
		"JSON, a wrong type":      {`{"name": {"` + canary + `":1}}`, "not valid JSON of google.protobuf.FileDescriptorProto at line 1, column 10", json},
		"JSON, a wrong value":     {`{"syntax":"a","messageType":[{"field":[{"number":"` + canary + `"}]}]}`, "not valid JSON of google.protobuf.FileDescriptorProto at line 1, column 50", json},
		"JSON, something behind":  {`{} ` + canary, "not valid JSON of google.protobuf.FileDescriptorProto at line 1, column 4", json},
		"JSON, unknown":           {`{"` + canary + `":1}`, "not valid JSON of google.protobuf.FileDescriptorProto at line 1, column 2", protobuf.Config{Format: protobuf.JSON, DisallowUnknownFields: true}},
	} {
		_, called, err := handle[*descriptorpb.FileDescriptorProto](c.body, c.cfg)
		var malformed *batch.MalformedError
		if called || !errors.As(err, &malformed) || !strings.HasPrefix(malformed.Reason, c.reason) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: called: %v, %v, want %q", name, called, err, c.reason)
		}
	}
}

func TestWhatIsNoTextSaysWhere(t *testing.T) {
	m := &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewStringValue("xyz")}}
	data := strings.Replace(wire(t, m), "xyz", "x\xffz", 1)
	_, called, err := handle[*structpb.Struct](text(data))
	if called || err == nil || err.Error() != `malformed body: field "fields.value.string_value" is not valid UTF-8 at offset 9` {
		t.Error(err)
	}
}

func TestNestingHasABound(t *testing.T) {
	var heads []string // from the innermost on
	size := 0
	for range 10_010 { // a Value that is a list with a Value that is a list …
		for _, field := range []protowire.Number{1, 6} {
			head := protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.BytesType), uint64(size))
			heads, size = append(heads, string(head)), size+len(head)
		}
	}
	slices.Reverse(heads)
	_, called, err := handle[*structpb.Value](text(strings.Join(heads, "")))
	var malformed *batch.MalformedError
	if called || !errors.As(err, &malformed) || len(malformed.Reason) > 400 || !strings.Contains(malformed.Reason, "is in a message too deep") {
		t.Errorf("called: %v, %v", called, err)
	}
	if _, called, err = handle[*structpb.Value](strings.Repeat("[", 20_000), protobuf.Config{Format: protobuf.JSON}); called || !batch.VerdictOf(err).Permanent {
		t.Errorf("JSON: called: %v, %v", called, err)
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	newer := wire(t, wrapperspb.String("a")) + "\x98\x06\x01"
	got, _, err := handle[*wrapperspb.StringValue](text(newer))
	if err != nil || wire(t, got) != newer {
		t.Errorf("%q, %v", wire(t, got), err)
	}
	if _, _, err := handle[*descriptorpb.FileDescriptorProto](`{"name":"a","newer":{"b":1}}`, protobuf.Config{Format: protobuf.JSON}); err != nil {
		t.Error("JSON: ", err)
	}
}

// order is a message with a Validate of its own, as generators make them.
type order struct{ wrapperspb.StringValue }

func (o *order) Validate() error {
	if o.Value == "" {
		return errors.New("value is missing")
	}
	return nil
}

func TestValidateIsAsked(t *testing.T) {
	if got, _, err := handle[*order](text(wire(t, wrapperspb.String("hat")))); err != nil || got.Value != "hat" {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range []struct {
		body string
		cfg  protobuf.Config
	}{{"", protobuf.Config{}}, {`""`, protobuf.Config{Format: protobuf.JSON}}} {
		_, called, err := handle[*order](c.body, c.cfg)
		if called || !batch.VerdictOf(err).Permanent || !strings.Contains(err.Error(), "Validate: value is missing") {
			t.Errorf("%q: called: %v, %v", c.body, called, err)
		}
	}
}

func TestWithoutAFunctionThereIsNoHandler(t *testing.T) {
	for name, h := range map[string]batch.HandlerFunc{
		"no function":        protobuf.Handler[*order](nil),
		"no type":            protobuf.Handler(func(context.Context, proto.Message) error { return nil }),
		"no type of its own": protobuf.Handler(func(context.Context, *dynamicpb.Message) error { return nil }),
	} {
		if h != nil {
			t.Errorf("%s: there is a handler", name)
		}
	}
}

func TestTheFunctionsErrorIsItsOwn(t *testing.T) {
	want := errors.New("no")
	h := protobuf.Handler(func(context.Context, *wrapperspb.StringValue) error { return want })
	if err := h.Handle(t.Context(), batch.Record{}); err != want {
		t.Error(err)
	}
}

func FuzzHandler(f *testing.F) {
	f.Add(wire(f, file()))
	f.Add(`{"name":"a"}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, cfg := range []protobuf.Config{{}, {Format: protobuf.Wire}, {Format: protobuf.Wire, DisallowUnknownFields: true}, {Format: protobuf.JSON}} {
			_, called, err := handle[*descriptorpb.FileDescriptorProto](body, cfg)
			var malformed *batch.MalformedError
			if called == (err != nil) || err != nil && (!errors.As(err, &malformed) || malformed.Reason == "") {
				t.Fatalf("called: %v, %v", called, err)
			}
		}
	})
}

// The message would be one of yours, such as *shop.Order.
func Example() {
	h := protobuf.Handler(func(_ context.Context, sku *wrapperspb.StringValue) error {
		fmt.Println("shipping", sku.Value)
		return nil
	}) // for handler.Run

	for _, body := range []string{"CgVoYXQtMQ==", "CgVoYXQ", "{}"} {
		if err := h.Handle(context.Background(), batch.Record{Body: body}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// shipping hat-1
	// malformed body: field "value" is damaged or cut at offset 0
	// malformed body: not valid base64 at offset 0
}
