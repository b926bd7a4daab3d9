package checks_test

import (
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.uber.org/goleak"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of the server whose calls go through wrap.
func newClient(server *sqs.Server, wrap func(http.RoundTripper) http.RoundTripper) *awssqs.Client {
	client := server.HTTPClient()
	if wrap != nil {
		client.Transport = wrap(client.Transport)
	}
	return server.Client(func(o *awssqs.Options) { o.HTTPClient, o.Retryer = client, aws.NopRetryer{} })
}
