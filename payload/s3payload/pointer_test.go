package s3payload_test

import (
	"context"
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
