package payload_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
	"github.com/sqsbatch/sqsbatch/payload/protobuf"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
	"github.com/sqsbatch/sqsbatch/sender"
)

const line = `{"sku":"hat-1","quantity":3,"price":"12.90","text":"one of ours, with a band, wide, and a feather if there is one left"},`

func succeed(context.Context, batch.Record) error { return nil }

// BenchmarkPayload makes a record's body ready for its function, against what one would
// write without these packages.
func BenchmarkPayload(b *testing.B) {
	message, err := structpb.NewStruct(map[string]any{"sku": "hat-1", "quantity": 3, "price": "12.90", "tags": []any{"a", "b", "c"}, "customer": map[string]any{"id": "c-1", "name": "Ann"}})
	if err != nil {
		b.Fatal(err)
	}
	wire, err := proto.Marshal(message)
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]struct {
		body      string
		attribute string // Content-Encoding
		own, hand batch.Handler
	}{
		"gzip-2KB":    {zipped(b, 20), "gzip", encoded.Unwrap(batch.HandlerFunc(succeed)), batch.HandlerFunc(unzip)},
		"gzip-70KB":   {zipped(b, 540), "gzip", encoded.Unwrap(batch.HandlerFunc(succeed)), batch.HandlerFunc(unzip)},
		"not-encoded": {line, "", encoded.Unwrap(batch.HandlerFunc(succeed)), batch.HandlerFunc(succeed)},
		"protobuf": {base64.StdEncoding.EncodeToString(wire), "",
			protobuf.Handler(func(context.Context, *structpb.Struct) error { return nil }),
			batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
				data, err := base64.StdEncoding.DecodeString(r.Body)
				if err != nil {
					return err
				}
				return proto.Unmarshal(data, new(structpb.Struct))
			})},
		"no-pointer": {line, "", s3payload.Unwrap(s3payload.Config{})(batch.HandlerFunc(succeed)),
			batch.HandlerFunc(func(_ context.Context, r batch.Record) error { // who parses each body to find out
				var parts []json.RawMessage
				_ = json.Unmarshal([]byte(r.Body), &parts)
				return nil
			})},
	} {
		r := batch.Record{Body: c.body, MessageAttributes: map[string]batch.MessageAttribute{"traceparent": {}}}
		if c.attribute != "" {
			r.MessageAttributes["Content-Encoding"] = batch.MessageAttribute{DataType: "String", StringValue: c.attribute}
		}
		for impl, h := range map[string]batch.Handler{"sqsbatch": c.own, "by-hand": c.hand} {
			b.Run(name+"/impl="+impl, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := h.Handle(b.Context(), r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func zipped(b *testing.B, lines int) string {
	m := sender.Text(strings.Repeat(line, lines))
	if err := encoded.Prepare(b.Context(), &m); err != nil {
		b.Fatal(err)
	}
	return m.Body
}

func unzip(_ context.Context, r batch.Record) error {
	data, err := base64.StdEncoding.DecodeString(r.Body)
	if err != nil {
		return err
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(z)
	r.Body = string(text)
	return err
}
