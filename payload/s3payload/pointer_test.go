package s3payload_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

// FuzzPointer gives any body: it is handed on as it is, or followed into a bucket
// that may be read, or refused for good.
func FuzzPointer(f *testing.F) {
	for _, body := range []string{newer, older, pythons, order, newer[:60]} {
		f.Add(body, "33")
		f.Add(body, "")
	}
	f.Fuzz(func(t *testing.T, body, claim string) {
		fake := newS3(t)
		fake.fault = func(r *http.Request, bucket, key string) (*http.Response, error) {
			if bucket != "payloads" || key == "" || strings.Contains("/"+key+"/", "/../") {
				t.Errorf("%s %q %q", r.Method, bucket, key)
			}
			return fake.answer(r, 200, "from S3"), nil
		}
		r := record(body, nil)
		if claim != "" {
			r.MessageAttributes = map[string]batch.MessageAttribute{"ExtendedPayloadSize": text(claim)}
		}
		got, called, err := handle(context.Background(), fake, s3payload.Config{Buckets: buckets}, r)
		switch {
		case err != nil && (called || !batch.VerdictOf(err).Permanent):
			t.Errorf("called: %v, %v", called, err)
		case err == nil && got.Body != "from S3" && (got.Body != body || fake.called() != ""):
			t.Errorf("%q became %q; calls: %s", body, got.Body, fake.called())
		case err == nil && got.Body == "from S3" && fake.called() == "" && body != "from S3":
			t.Error("no call was made")
		}
	})
}

// BenchmarkSmallBody is a body of its own, which is what most are: what Unwrap
// adds is the difference to none, and to who parses each body to find out.
func BenchmarkSmallBody(b *testing.B) {
	ctx := context.Background()
	fn := batch.HandlerFunc(func(context.Context, batch.Record) error { return nil })
	byHand := batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		var parts []json.RawMessage
		if json.Unmarshal([]byte(r.Body), &parts) == nil && len(parts) == 2 {
			return errors.New("a pointer")
		}
		return fn(ctx, r)
	})
	with := map[string]batch.MessageAttribute{"traceparent": text("00-1-2-01"), "kind": text("order")}
	for _, c := range []struct {
		name string
		h    batch.Handler
		r    batch.Record
	}{
		{"object/impl=sqsbatch", s3payload.Unwrap(s3payload.Config{})(fn), record(order, nil)},
		{"object/impl=none", fn, record(order, nil)},
		{"object/impl=parse", byHand, record(order, nil)},
		{"attributes/impl=sqsbatch", s3payload.Unwrap(s3payload.Config{})(fn), record(order, with)},
		{"array/impl=sqsbatch", s3payload.Unwrap(s3payload.Config{})(fn), record(`["a","b","c"]`, nil)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = c.h.Handle(ctx, c.r)
			}
		})
	}
}
