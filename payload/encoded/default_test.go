package encoded_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
)

// Senders that always compress have no attribute that says so.
func TestDefault(t *testing.T) {
	plain := func(body string) batch.Record {
		return batch.Record{Body: body, MD5OfBody: "x", MessageAttributes: map[string]batch.MessageAttribute{"tenant": {StringValue: "a"}}}
	}
	for name, c := range map[string]struct {
		record batch.Record
		want   string
	}{
		"compressed, and not said":     {plain(based(gzipped(order))), ""},
		"compressed, and said":         {record(based(zlibbed(order)), "deflate"), ""},
		"said to be nothing":           {record(order, "identity"), ""},
		"not compressed, and not said": {plain(order), "no attribute Content-Encoding, so gzip by Config.Default: not valid base64 at offset 0"},
		"damaged, and said":            {record(order, "gzip"), "not valid base64 at offset 0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, called, err := handle(t, encoded.Config{Default: "gzip"}, c.record)
			var malformed *batch.MalformedError
			if c.want != "" {
				if called || !errors.As(err, &malformed) || malformed.Reason != c.want {
					t.Fatalf("called: %v, %v, want %q", called, err, c.want)
				}
				return
			}
			if err != nil || got.Body != order || got.MD5OfBody != "" {
				t.Fatalf("%+v, %v", got, err)
			}
			_, kept := got.MessageAttributes["tenant"]
			if _, had := c.record.MessageAttributes["tenant"]; had != kept {
				t.Errorf("the function has the attributes %v", got.MessageAttributes)
			}
		})
	}
}

func TestDefaultIsChecked(t *testing.T) {
	h := encoded.Config{Default: "brotli"}.Unwrap(batch.HandlerFunc(func(context.Context, batch.Record) error { return nil }))
	if err := h.(interface{ Validate() error }).Validate(); err == nil || !strings.Contains(err.Error(), `Default has the unknown coding "brotli"`) {
		t.Errorf("Validate: %v", err)
	}
	if err := h.Handle(t.Context(), batch.Record{}); err == nil || batch.VerdictOf(err).Permanent {
		t.Errorf("Handle: %v", err)
	}
}

// What Gzip leaves as it is must not be taken for compressed.
func TestGzipWithADefault(t *testing.T) {
	c := encoded.Config{Default: "gzip"}
	body, attributes, err := c.Gzip("short", nil)
	if err != nil || body != "short" || aws.ToString(attributes["Content-Encoding"].StringValue) != "identity" {
		t.Fatalf("%q, %v, %v", body, attributes, err)
	}
	if got, _, err := handle(t, c, record(body, "identity")); err != nil || got.Body != "short" {
		t.Errorf("%q, %v", got.Body, err)
	}
}
