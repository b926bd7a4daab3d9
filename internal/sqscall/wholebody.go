// Package wholebody has the SDK's client for SQS send the bodies of its requests from memory:
//
//	client := sqs.NewFromConfig(cfg, wholebody.Use)
//
// When the answer has come, the SDK closes the body of the request, and copying from it then
// returns io.EOF as an error. net/http may not have finished with the body: it still looks
// whether there is more. It takes the error for one of the request and closes the connection,
// and the rest of the answer is lost. With a server on the same busy machine that happens to
// one call in a thousand. A receive whose answer is lost hides its messages.
package wholebody

import (
	"bytes"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Use is an option of sqs.New and sqs.NewFromConfig.
func Use(o *sqs.Options) { o.HTTPClient = &client{o.HTTPClient} }

type client struct{ next sqs.HTTPClient }

// Do makes a request.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		var body bytes.Buffer
		body.Grow(int(max(0, r.ContentLength)) + bytes.MinRead)
		if _, err := body.ReadFrom(r.Body); err != nil {
			return nil, err
		}
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body.Bytes())), nil }
		r.Body, _ = r.GetBody()
	}
	return c.next.Do(r)
}
