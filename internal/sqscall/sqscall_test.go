package sqscall_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/internal/sqscall"
)

// A lateReader is a client that answers at once, and looks at the body of the request later.
type lateReader struct{ body io.Reader }

func (c *lateReader) Do(r *http.Request) (*http.Response, error) {
	c.body = r.Body
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

func TestFromMemory_CanBeReadAfterTheAnswer(t *testing.T) {
	late := &lateReader{}
	endpoint := "http://127.0.0.1"
	client := sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: late}, sqscall.FromMemory)
	if _, err := client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: &endpoint}); err != nil {
		t.Fatal(err)
	}
	var rest strings.Builder
	if _, err := io.Copy(&rest, late.body); err != nil || rest.String() != `{"QueueUrl":"http://127.0.0.1"}` {
		t.Errorf("after the answer the request's body is %q, error %v", rest.String(), err)
	}
}
