// Package sqscall has the SDK make a call of SQS so that its caller knows what became of it.
package sqscall

import (
	"bytes"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Once is an option for callers that repeat a call themselves: the SDK does not. The SDK's
// own waits follow the header X-Amz-Retry-After without a limit, and could be longer than
// the time that a caller has. The request is sent from memory, see [FromMemory].
func Once(o *sqs.Options) {
	o.Retryer = aws.NopRetryer{}
	FromMemory(o)
}

// FromMemory is an option that sends the body of a request from memory.
//
// When an answer has come, the SDK closes the body of its request, and reading from it then
// returns io.EOF as an error of copying. net/http may not have finished with a body that it does
// not know to be in memory: it still looks whether there is more. It takes the error for one
// of the connection and closes that, and the rest of the answer is lost. With a server on
// the same busy machine that happens to one call in a thousand. The messages of a receive
// whose answer is lost stay hidden for their visibility timeout. It also saves a packet:
// net/http sends the header of a request first if the body may take time.
func FromMemory(o *sqs.Options) { o.HTTPClient = &client{o.HTTPClient} }

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
