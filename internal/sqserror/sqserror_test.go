package sqserror_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/sqsbatch/sqsbatch/internal/sqserror"
)

func TestKindOf(t *testing.T) {
	for want, codes := range map[sqserror.Kind][]string{
		sqserror.None:  {""},
		sqserror.Other: {"InternalError", "ServiceUnavailable", "overlimit"},
		sqserror.Throttled: {"RequestThrottled", "ThrottlingException", "SlowDown", "TooManyRequestsException",
			"AWS.SimpleQueueService.RequestThrottled", "RequestLimitExceeded", "KmsThrottled", "KMS.ThrottlingException"},
		sqserror.OverLimit:      {"OverLimit"},
		sqserror.Key:            {"KmsDisabled", "KMS.NotFoundException", "KmsInvalidKeyUsage", "KmsOptInRequired"},
		sqserror.KeyDenied:      {"KmsAccessDenied", "KMS.AccessDeniedException"},
		sqserror.Denied:         {"AccessDenied", "AccessDeniedException"},
		sqserror.NoQueue:        {"QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"},
		sqserror.InvalidAddress: {"InvalidAddress"},
		sqserror.Expired:        {"ExpiredToken", "ExpiredTokenException", "RequestExpired"},
		sqserror.Credentials: {"InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "AuthFailure",
			"InvalidSecurity", "InvalidSignatureException", "IncompleteSignature", "MissingAuthenticationToken"},
		sqserror.Unsupported:  {"AWS.SimpleQueueService.UnsupportedOperation"},
		sqserror.InvalidValue: {"InvalidParameterValue", "InvalidParameterValueException"},
		sqserror.Stale:        {"ReceiptHandleIsInvalid", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"},
	} {
		for _, code := range codes {
			if got := sqserror.KindOf(code); got != want {
				t.Errorf("%q is of kind %d, want %d", code, got, want)
			}
			gone := want == sqserror.Stale || want == sqserror.InvalidValue
			entry := sqserror.OfEntry(types.BatchResultErrorEntry{Code: &code, SenderFault: true})
			if got := sqserror.Gone(fmt.Errorf("a delete: %w", entry)); got != gone {
				t.Errorf("Gone(%q) is %v", code, got)
			}
		}
	}
}

// A clock that is wrong is fixed by itself, or by someone: unlike a wrong key.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		code, message string
		want          sqserror.Kind
	}{
		{"InvalidSignatureException", "The request signature we calculated does not match the signature you provided.", sqserror.Credentials},
		{"InvalidSignatureException", "Signature expired: 20261121T120000Z is now earlier than 20261121T121000Z", sqserror.Expired},
		{"SignatureDoesNotMatch", "Signature not yet current: 20261121T123000Z is still later than 20261121T121500Z", sqserror.Expired},
		{"AccessDenied", "the policy has expired", sqserror.Denied},
		{"", "expired", sqserror.None},
	} {
		var err error = &smithy.GenericAPIError{Code: c.code, Message: c.message}
		if got := sqserror.Of(fmt.Errorf("a call: %w", err)); got != c.want {
			t.Errorf("%s: %s: of kind %d, want %d", c.code, c.message, got, c.want)
		}
	}
}

func TestLasts(t *testing.T) {
	for want, codes := range map[bool][]string{
		true:  {"AccessDenied", "QueueDoesNotExist", "InvalidAddress", "KMS.DisabledException", "KmsAccessDenied", "InvalidClientTokenId", "AWS.SimpleQueueService.UnsupportedOperation"},
		false: {"RequestThrottled", "KmsThrottled", "OverLimit", "ExpiredToken", "InternalError", "InvalidParameterValue", "ReceiptHandleIsInvalid"},
	} {
		for _, code := range codes {
			err := fmt.Errorf("a call: %w", &smithy.GenericAPIError{Code: code})
			if sqserror.Lasts(err) != want || sqserror.Code(err) != code {
				t.Errorf("%q: lasts %v, want %v", sqserror.Code(err), !want, want)
			}
		}
	}
	for err, want := range map[error]bool{errors.New("AccessDenied, no credentials"): true, context.DeadlineExceeded: false, nil: false} {
		if sqserror.Lasts(err) != want || sqserror.Code(err) != "" {
			t.Errorf("%v: code %q, lasts %v, want %v", err, sqserror.Code(err), !want, want)
		}
	}
}

// answered is an error as it came in an answer.
func answered(status int, err error) error {
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err}
}

// What fails for lack of credentials was not sent to SQS, whatever the service that issues them
// has answered.
func TestNoCredentials(t *testing.T) {
	imds := func(err error) error {
		return &smithy.OperationError{ServiceID: "ec2imds", OperationName: "GetMetadata", Err: err}
	}
	sts := func(status int, code string) error {
		return &smithy.OperationError{ServiceID: "STS", OperationName: "AssumeRoleWithWebIdentity", Err: answered(status, &smithy.GenericAPIError{Code: code})}
	}
	for name, c := range map[string]struct {
		err     error
		passing bool
	}{
		"the metadata refuses":         {imds(answered(403, errors.New("request to EC2 IMDS failed"))), false},
		"the metadata is out of reach": {imds(&smithyhttp.RequestSendError{Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}), true},
		"the metadata is slow":         {imds(context.DeadlineExceeded), true},
		"STS denies the role":          {sts(403, "AccessDenied"), false},
		"STS throttles":                {sts(400, "Throttling"), true},
		"STS fails":                    {sts(500, "InternalFailure"), true},
		"no provider has any":          {errors.New("no EC2 IMDS role found"), false},
	} {
		client := sqs.New(sqs.Options{Region: "eu-west-1", Retryer: aws.NopRetryer{}, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, c.err
		})})
		_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String("https://sqs.eu-west-1.amazonaws.com/123456789012/orders"), MessageBody: aws.String("b")})
		if sqserror.Passing(err) != c.passing || sqserror.Lasts(err) == c.passing || sqserror.Unsure(err) || sqserror.Of(err) != sqserror.None {
			t.Errorf("%s: passing %v, lasts %v, unsure %v, kind %v: %v", name, sqserror.Passing(err), sqserror.Lasts(err), sqserror.Unsure(err), sqserror.Of(err), err)
		}
		if advice := sqserror.Advice(err, "sqs:SendMessage", "orders"); !strings.Contains(advice, "no AWS credentials") {
			t.Errorf("%s: advised %q", name, advice)
		}
	}
}

func TestPassingAndUnsure(t *testing.T) {
	unread := errors.New("deserialization failed")
	code := func(c string) error { return &smithy.GenericAPIError{Code: c} }
	entry := func(code string, senderFault bool) error {
		return sqserror.OfEntry(types.BatchResultErrorEntry{Code: &code, SenderFault: senderFault})
	}
	for name, c := range map[string]struct {
		err             error
		passing, unsure bool
	}{
		"none":                          {nil, false, false},
		"no connection":                 {&smithyhttp.RequestSendError{Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}, true, false},
		"the connection breaks":         {&smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Err: errors.New("reset")}}, true, true},
		"another reason":                {&smithyhttp.RequestSendError{Err: errors.New("refused")}, true, true},
		"timeout":                       {fmt.Errorf("a call: %w", context.DeadlineExceeded), true, true},
		"not sent":                      {errors.New("no credentials"), false, true},
		"an answer cut off":             {answered(200, unread), true, true},
		"a proxy's 413":                 {answered(413, unread), false, true},
		"a proxy's 429":                 {answered(429, unread), true, true},
		"a proxy's 502":                 {answered(502, unread), true, true},
		"an internal error":             {answered(500, code("InternalError")), true, true},
		"unavailable":                   {answered(503, code("ServiceUnavailable")), true, true},
		"throttled":                     {answered(403, code("RequestThrottled")), true, false},
		"throttled with status 503":     {answered(503, code("ThrottlingException")), true, false},
		"denied":                        {answered(403, code("AccessDenied")), false, false},
		"too long":                      {answered(400, code("BatchRequestTooLong")), false, false},
		"an entry's internal error":     {entry("InternalError", false), true, true},
		"an entry that is throttled":    {entry("RequestThrottled", false), true, false},
		"an entry that breaks a rule":   {entry("InvalidMessageContents", true), false, false},
		"an entry that is not answered": {errors.New("not mentioned"), false, true},
	} {
		if passing, unsure := sqserror.Passing(c.err), sqserror.Unsure(c.err); passing != c.passing || unsure != c.unsure {
			t.Errorf("%s: passing %v, unsure %v, want %v and %v", name, passing, unsure, c.passing, c.unsure)
		}
	}
}

func TestDivide(t *testing.T) {
	for code, want := range map[string]string{
		"BatchRequestTooLong": "[10 5 2 3 1 2 1 1 5]", "InvalidParameterValue": "[10 5 2 3 1 2 1 1 5]",
		"AccessDenied": "[10]", "RequestThrottled": "[10]", "InternalError": "[10]", "QueueDoesNotExist": "[10]",
	} {
		status := 400
		if code == "InternalError" {
			status = 500
		}
		var calls []int
		sqserror.Divide([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, func(list []int) ([]int, error) {
			calls = append(calls, len(list))
			if slices.Contains(list, 4) {
				return list, answered(status, &smithy.GenericAPIError{Code: code})
			}
			return nil, nil
		})
		if got := fmt.Sprint(calls); got != want {
			t.Errorf("%s: calls of %s, want %s", code, got, want)
		}
	}
}

func TestReadAnswer(t *testing.T) {
	ids := func(list ...string) (p []*string) {
		for _, id := range list {
			p = append(p, &id)
		}
		return p
	}
	entry := func(id, code string) types.BatchResultErrorEntry {
		return types.BatchResultErrorEntry{Id: &id, Code: &code}
	}
	unmentioned := errors.New("not mentioned")
	errs := slices.Repeat([]error{unmentioned}, 4)
	throttled := sqserror.ReadAnswer(errs, ids("1", "4", "-1", "x"), []types.BatchResultErrorEntry{
		entry("2", "RequestThrottled"), entry("0", "InternalError"), entry("4", "InternalError"), entry("-1", "InternalError"), entry("x", "InternalError"), {},
	})
	if sqserror.Code(errs[0]) != "InternalError" || errs[1] != nil || sqserror.Code(errs[2]) != "RequestThrottled" || errs[3] != unmentioned || throttled != 1 {
		t.Errorf("read as %v, %d throttled", errs, throttled)
	}
}
