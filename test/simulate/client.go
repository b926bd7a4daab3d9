package simulate

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sqsbatch/sqsbatch/test/random"
)

// client returns an SQS client that makes its calls by next; each call ends after a time, if it is
// not 0. Waits between tries are drawn from the plan's seed. The SDK validates, encodes, retries
// and decodes as it always does. What it does besides is left out, since it takes half of its time
// and changes nothing here: signatures, endpoints and request ids.
func (w *world) client(next http.RoundTripper, timeout time.Duration) *awssqs.Client {
	return w.server.Client(func(o *awssqs.Options) {
		o.HTTPClient = plainClient{next, timeout}
		o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
			s.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) {
				return time.Duration(random.Mix(w.plan.Seed+uint64(attempt)) % uint64(time.Second<<min(attempt, 4))), nil
			})
		})
		to := &url.URL{Scheme: "http", Host: "sqs", Path: "/"}
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			stack.Build.Clear()
			for _, id := range []string{"ResolveAuthScheme", "GetIdentity", "ResolveEndpointV2", "disableHTTPS", "ComputePayloadHash", "setLegacyContextSigningOptions", "Signing"} {
				if _, err := stack.Finalize.Remove(id); err != nil {
					return err
				}
			}
			for _, id := range []string{"AddRawResponseToMetadata", "RequestIDRetriever", "RecordResponseTiming", "RequestResponseLogger"} {
				if _, err := stack.Deserialize.Remove(id); err != nil {
					return err
				}
			}
			return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("to", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
				in.Request.(*smithyhttp.Request).URL = to
				return next.HandleFinalize(ctx, in)
			}), middleware.After)
		})
	})
}

// plainClient is an http.Client that only makes calls, which end after a time if it is not 0.
type plainClient struct {
	next    http.RoundTripper
	timeout time.Duration
}

// Do makes a call. Its answer is all there when it returns.
func (c plainClient) Do(r *http.Request) (*http.Response, error) {
	if c.timeout > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), c.timeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	return c.next.RoundTrip(r)
}

var _ aws.HTTPClient = plainClient{}
