package s3payload_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/payload/s3payload"
)

// The client that is made finds an endpoint as it is named, and writes nothing of
// objects that have no checksum.
func TestClientFromTheEnvironment(t *testing.T) {
	paths := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		_, _ = io.WriteString(w, "body")
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": server.URL, "AWS_REGION": "eu-west-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_CONFIG_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	read, write, err := os.Pipe()
	ok(t, err)
	before := os.Stderr
	os.Stderr = write
	var body string
	err = s3payload.Unwrap(s3payload.Config{Buckets: []string{"orders"}})(batch.HandlerFunc(func(_ context.Context, r batch.Record) error {
		body = r.Body
		return nil
	})).Handle(t.Context(), batch.Record{Body: `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"orders","s3Key":"key"}]`})
	os.Stderr = before
	_ = write.Close()
	lines, _ := io.ReadAll(read)
	if err != nil || body != "body" || len(lines) != 0 {
		t.Errorf("%v, body %q, on standard error %q", err, body, lines)
	}
	if path := <-paths; path != "/orders/key" {
		t.Errorf("asked for %s", path)
	}
}
