package sqserror_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

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

func TestCode(t *testing.T) {
	api := &smithy.GenericAPIError{Code: "AccessDenied"}
	for want, errs := range map[string][]error{
		"AccessDenied": {api, fmt.Errorf("a call: %w", api)},
		"":             {nil, errors.New("AccessDenied")},
	} {
		for _, err := range errs {
			if got := sqserror.Code(err); got != want {
				t.Errorf("the code of %v is %q, want %q", err, got, want)
			}
		}
	}
}

func TestLasts(t *testing.T) {
	for _, code := range []string{"AccessDenied", "QueueDoesNotExist", "InvalidAddress", "KMS.DisabledException", "KmsAccessDenied", "InvalidClientTokenId", "AWS.SimpleQueueService.UnsupportedOperation"} {
		if !sqserror.Lasts(&smithy.GenericAPIError{Code: code}) {
			t.Errorf("%s does not last", code)
		}
	}
	if !sqserror.Lasts(errors.New("no credentials")) {
		t.Error("a call that cannot be made does not last")
	}
	for _, code := range []string{"RequestThrottled", "KmsThrottled", "OverLimit", "ExpiredToken", "InternalError", "InvalidParameterValue", "ReceiptHandleIsInvalid"} {
		if sqserror.Lasts(&smithy.GenericAPIError{Code: code}) {
			t.Errorf("%s lasts", code)
		}
	}
	if sqserror.Lasts(nil) || sqserror.Lasts(context.DeadlineExceeded) {
		t.Error("nil or a timeout lasts")
	}
}
