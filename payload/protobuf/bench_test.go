package protobuf_test

import (
	"context"
	"encoding/base64"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/protobuf"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// BenchmarkHandler gives a function a message of some 100 bytes in a dozen
// fields, against what one would write without this package.
func BenchmarkHandler(b *testing.B) {
	json, _ := protojson.Marshal(file())
	n := 0
	use := func(_ context.Context, m *descriptorpb.FileDescriptorProto) error {
		n += len(m.MessageType)
		return nil
	}
	byHand := func(decode func(batch.Record, proto.Message) error) batch.HandlerFunc {
		return func(ctx context.Context, r batch.Record) error {
			m := new(descriptorpb.FileDescriptorProto)
			if err := decode(r, m); err != nil {
				return err
			}
			return use(ctx, m)
		}
	}
	for _, c := range []struct {
		name, body string
		h          batch.HandlerFunc
	}{
		{"base64/impl=sqsbatch", text(wire(b, file())), protobuf.Handler(use)},
		{"base64/impl=by-hand", text(wire(b, file())), byHand(func(r batch.Record, m proto.Message) error {
			data, err := base64.StdEncoding.DecodeString(r.Body)
			if err != nil {
				return err
			}
			return proto.Unmarshal(data, m)
		})},
		{"json/impl=sqsbatch", string(json), protobuf.Handler(use, protobuf.JSON())},
		{"json/impl=by-hand", string(json), byHand(func(r batch.Record, m proto.Message) error {
			return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal([]byte(r.Body), m)
		})},
	} {
		b.Run(c.name, func(b *testing.B) {
			ctx, r := context.Background(), batch.Record{Body: c.body}
			b.ReportAllocs()
			for b.Loop() {
				if err := c.h(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
