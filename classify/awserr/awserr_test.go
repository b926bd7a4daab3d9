package awserr_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/awserr"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const everything = awserr.Validation | awserr.AccessDenied | awserr.NotFound

// answered is an error as the SDK returns it.
func answered(status int, code string, header ...string) error {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: &awshttp.ResponseError{
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: h}},
			Err:      &smithy.GenericAPIError{Code: code, Message: "because"},
		},
	}}
}

// verb is "", "permanent" or the wait.
func verb(t *testing.T, in, out error) string {
	t.Helper()
	switch v := batch.VerdictOf(out); {
	case !errors.Is(out, in):
		t.Errorf("%v is not in %v", in, out)
	case out == in:
		return ""
	case v.Permanent:
		return "permanent"
	case v.HasAfter:
		return v.After.String()
	}
	t.Errorf("%v became %#v", in, out)
	return ""
}

func TestKinds(t *testing.T) {
	const none = awserr.Kind(0)
	for kind, codes := range map[awserr.Kind]string{
		awserr.Validation: `ValidationException ValidationError InvalidParameterValue InvalidParameterCombination InvalidParameter
			InvalidParameterValueException InvalidParameterException InvalidArgument InvalidInput MissingParameter
			SerializationException BadRequestException MalformedXML EntityTooLarge InvalidMessageContents BatchRequestTooLong`,
		awserr.AccessDenied: `AccessDenied AccessDeniedException UnauthorizedOperation KMSAccessDeniedException NotAuthorizedException
			AuthorizationError AuthorizationErrorException Forbidden ForbiddenException UnauthorizedException KMS.AccessDeniedException`,
		awserr.NotFound: `NoSuchKey NoSuchBucket NoSuchEntity NotFound NotFoundException ResourceNotFoundException ParameterNotFound
			DBInstanceNotFoundFault AWS.SimpleQueueService.NonExistentQueue QueueDoesNotExist KMS.NotFoundException`,
		none: `ExpiredToken ExpiredTokenException RequestExpired UnrecognizedClientException InvalidClientTokenId SignatureDoesNotMatch
			InvalidSignatureException IncompleteSignature InvalidAccessKeyId RequestTimeTooSkewed OptInRequired ConditionalCheckFailedException
			TransactionCanceledException ConflictException InvalidRequestException ResourceInUseException BadDigest Tomorrow accessdenied`,
	} {
		for code := range strings.FieldsSeq(codes) {
			for _, permanent := range []awserr.Kind{awserr.Validation, awserr.AccessDenied, awserr.NotFound, everything, none} {
				want := ""
				if kind != none && permanent&kind != 0 {
					want = "permanent"
				}
				err := answered(400, code)
				if got := verb(t, err, awserr.New(awserr.Config{Permanent: permanent})(err)); got != want {
					t.Errorf("%s with %03b permanent: %q, want %q", code, permanent, got, want)
				}
			}
		}
	}
}

func TestClassify(t *testing.T) {
	type call = smithy.OperationError
	notFound := answered(404, "NoSuchKey")
	throttled := answered(400, "ThrottlingException")
	invalid := smithy.InvalidParamsError{Context: "PutItemInput"}
	var noResponse error = &smithyhttp.ResponseError{Err: &smithy.GenericAPIError{Code: "NoSuchKey"}}
	classify := awserr.New(awserr.Config{Permanent: everything, Codes: []string{"ConditionalCheckFailedException", "Busy", "ThrottlingException", "InvalidIdentityToken", ""}})
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"not of the SDK":            {errors.New("NoSuchKey"), ""},
		"wrapped":                   {fmt.Errorf("load: %w", notFound), "permanent"},
		"without a response":        {noResponse, "permanent"},
		"a code that was named":     {answered(400, "ConditionalCheckFailedException"), "permanent"},
		"refused by the SDK":        {&call{Err: invalid}, "permanent"},
		"refused by the SDK, by &":  {&call{Err: &invalid}, "permanent"},
		"not to be serialized":      {&call{Err: &smithy.SerializationError{Err: errors.New("x")}}, "permanent"},
		"throttled":                 {throttled, ""},
		"throttled, seconds":        {answered(400, "SlowDown", "Retry-After", "7"), "7s"},
		"throttled, milliseconds":   {answered(400, "SlowDown", "Retry-After", "7", "X-Amz-Retry-After", "1500"), "1.5s"},
		"throttled, for a year":     {answered(400, "SlowDown", "X-Amz-Retry-After", "9999999999999"), "12h0m0s"},
		"throttled, nonsense":       {answered(400, "SlowDown", "Retry-After", "soon", "X-Amz-Retry-After", "-1"), ""},
		"a code of throttling":      {answered(400, "KMS.ThrottlingException"), ""},
		"429":                       {answered(429, "BadRequestException", "Retry-After", "7"), "7s"},
		"500 of validation":         {answered(500, "ValidationException"), ""},
		"503":                       {answered(503, "AccessDenied", "Retry-After", "7"), "7s"},
		"a fault of the service":    {&smithy.GenericAPIError{Code: "ResourceNotFoundException", Fault: smithy.FaultServer}, ""},
		"unknown":                   {answered(400, "Tomorrow"), ""},
		"unknown, that passes":      {answered(400, "Tomorrow", "Retry-After", "7"), "7s"},
		"permanent, that passes":    {answered(400, "Busy", "Retry-After", "7"), "permanent"},
		"404 without a code":        {answered(404, ""), ""},
		"no credentials":            {&call{Err: fmt.Errorf("get identity: %w", answered(403, "AccessDenied"))}, ""},
		"no identity, a named code": {&call{Err: fmt.Errorf("get identity: %w", answered(400, "InvalidIdentityToken"))}, ""},
		"no role in the metadata":   {&call{Err: fmt.Errorf("get identity: %w", answered(404, "NotFound"))}, ""},
		"joined":                    {errors.Join(errors.New("x"), notFound), "permanent"},
		"joined with a throttled":   {errors.Join(notFound, throttled), ""},
		"a deadline":                {&call{Err: fmt.Errorf("%w: %w", context.DeadlineExceeded, notFound)}, ""},
		"a context's end":           {&call{Err: &smithy.CanceledError{Err: context.Canceled}}, ""},
		"RetryAfter of a not found": {batch.RetryAfter(time.Minute, notFound), ""},
		"Abort of a not found":      {batch.Abort(time.Minute, notFound), ""},
	} {
		if got := verb(t, c.err, classify(c.err)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if err := classify(nil); err != nil {
		t.Errorf("nil became %v", err)
	}
}

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
	classify := awserr.New(awserr.Config{Permanent: awserr.Validation | awserr.AccessDenied})
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
