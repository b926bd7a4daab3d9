package sqserror_test

import (
	"errors"
	"fmt"
	"testing"

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
			"InvalidSecurity"},
		sqserror.Unsupported:  {"AWS.SimpleQueueService.UnsupportedOperation"},
		sqserror.InvalidValue: {"InvalidParameterValue", "InvalidParameterValueException"},
		sqserror.Stale:        {"ReceiptHandleIsInvalid", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight"},
	} {
		for _, code := range codes {
			if got := sqserror.KindOf(code); got != want {
				t.Errorf("%q is of kind %d, want %d", code, got, want)
			}
			gone := want == sqserror.Stale || want == sqserror.InvalidValue
			if got := sqserror.Gone(code); got != gone {
				t.Errorf("Gone(%q) is %v", code, got)
			}
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
