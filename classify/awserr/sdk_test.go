package awserr_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/classify/awserr"
	"github.com/sqsbatch/sqsbatch/internal/testqueue"
)

// service answers every call with the error that it is named after.
type service string

func (s service) RoundTrip(r *http.Request) (*http.Response, error) {
	switch s {
	case "throttled":
		response, err := testqueue.Answer(r, 400, "RequestThrottled", "")
		response.Header.Set("Retry-After", "7")
		return response, err
	case "down":
		return testqueue.Answer(r, 503, "", "<html>")
	case "denied":
		return testqueue.Answer(r, 403, "AccessDeniedException", "")
	case "nowhere":
		return nil, &net.OpError{Op: "dial", Err: errors.New("no route")}
	}
	return testqueue.Answer(r, 400, string(s), "")
}

// send makes a call of the SDK that fails.
func send(ctx context.Context, kind string) error {
	keys := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
	})
	options := awssqs.Options{Region: "eu-west-1", Credentials: keys, Retryer: aws.NopRetryer{}, HTTPClient: &http.Client{Transport: service(kind)}}
	if kind == "no credentials" {
		other := awssqs.New(options, func(o *awssqs.Options) { o.HTTPClient = &http.Client{Transport: service("denied")} })
		options.Credentials = aws.CredentialsProviderFunc(func(ctx context.Context) (aws.Credentials, error) {
			_, err := other.ListQueues(ctx, nil)
			return aws.Credentials{}, err
		})
	}
	in := &awssqs.SendMessageInput{QueueUrl: aws.String("https://sqs.eu-west-1.amazonaws.com/1/q"), MessageBody: &kind}
	if kind == "invalid" {
		in.MessageBody = nil
	}
	_, err := awssqs.New(options).SendMessage(ctx, in)
	return err
}

// The verdict must not depend on how the SDK wraps its errors.
func TestErrorsOfTheSDK(t *testing.T) {
	classify := awserr.New(awserr.Options{Permanent: awserr.Validation | awserr.AccessDenied})
	for kind, want := range map[string]string{
		"InvalidParameterValue": "permanent", "invalid": "permanent", "denied": "permanent",
		"QueueDoesNotExist": "", "down": "", "nowhere": "", "no credentials": "", "throttled": "7s",
	} {
		err := send(t.Context(), kind)
		if got := verb(t, err, classify(err)); err == nil || got != want {
			t.Errorf("%s: %q, want %q (%v)", kind, got, want, err)
		}
	}
}
