// Package awserr decides whether a failed call of the AWS SDK for Go v2 is worth a retry.
//
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{
//		Classify: awserr.New(awserr.Config{Permanent: awserr.Validation | awserr.NotFound}),
//	})
//
// Calls that were throttled, and answers with a status of 500 or more, are retried: after
// Retry-After or X-Amz-Retry-After if the service sent one. Errors of the kinds in
// [Config].Permanent go to the dead-letter queue at once. Any other error is retried, including
// errors that AWS adds in the future.
//
// The package recognizes kinds by the error's code, of any service. It imports no service.
package awserr

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
	verdict "github.com/sqsbatch/sqsbatch/classify/internal"
)

// Kind is a set of kinds of errors.
type Kind uint8

const (
	// Validation is a parameter that the service or the SDK refuses: ValidationException,
	// InvalidParameterValue, a required field that is not set.
	Validation Kind = 1 << iota
	// AccessDenied is a missing permission: AccessDenied, UnauthorizedOperation,
	// KMSAccessDeniedException. A change of the role fixes it, so few functions should make
	// it permanent. It does not include credentials that are missing, expired or not accepted.
	AccessDenied
	// NotFound is a missing resource: NoSuchKey, NotFoundException,
	// ResourceNotFoundException. The last one may also mean that the configured name of a
	// table or stream is wrong.
	NotFound
)

// Config configures which errors are permanent. The zero value makes no error permanent.
type Config struct {
	// Permanent are the kinds that no retry can fix, such as Validation | NotFound.
	// Defaults to none.
	Permanent Kind
	// Codes are further error codes that no retry can fix, such as
	// ConditionalCheckFailedException. Defaults to none.
	Codes []string
}

// New returns a classifier, for batch.Config.Classify and handler.Config.Classify.
//
// The classifier returns an error unchanged if the error is not from the AWS SDK, has a verb of
// package batch, has a method Retryable() bool, or is the end of a context. Joined errors are
// retried if one of them is throttling or a fault of the service.
func New(o Config) func(error) error {
	o.Codes = slices.Clone(o.Codes)
	return func(err error) error { return verdict.Apply(err, o.judge) }
}

func (o Config) judge(chain []error) (verdict.Kind, time.Duration) {
	a := read(chain)
	switch {
	case a.throttled(), a.nested: // no credentials: the record is not the cause
		return verdict.Retry, a.after
	case slices.Contains(o.Codes, a.code) && a.code != "", o.Permanent&a.kind() != 0:
		return verdict.Permanent, 0
	case a.after > 0: // by the service, the problem will pass
		return verdict.Retry, a.after
	}
	return verdict.Unknown, 0
}

// answer is the answer to a call, from a chain of errors.
type answer struct {
	code    string // "" if the service did not answer
	status  int
	fault   smithy.ErrorFault
	after   time.Duration
	invalid bool // the SDK itself refused the call
	nested  bool // an inner call failed, which gets credentials for this one
}

func read(chain []error) (a answer) {
	operations := 0
	for _, err := range chain {
		if e, ok := err.(smithy.APIError); ok {
			a.code, a.fault = e.ErrorCode(), e.ErrorFault()
		}
		if e, ok := err.(interface{ HTTPResponse() *smithyhttp.Response }); ok {
			if r := e.HTTPResponse(); r != nil && r.Response != nil {
				a.status, a.after = r.StatusCode, retryAfter(r.Header)
			}
		}
		switch err.(type) {
		case smithy.InvalidParamsError, *smithy.InvalidParamsError, *smithy.SerializationError:
			a.invalid = true
		case *smithy.OperationError:
			operations++
		}
	}
	a.nested = operations > 1
	return a
}

// retryAfter reads AWS's own header, in milliseconds, before the standard one.
func retryAfter(h http.Header) time.Duration {
	const most = int64(httpstatus.MaxRetryAfter / time.Millisecond)
	if ms, err := strconv.ParseInt(h.Get("X-Amz-Retry-After"), 10, 64); err == nil && ms > 0 {
		return time.Duration(min(ms, most)) * time.Millisecond
	}
	return httpstatus.RetryAfter(h)
}

// throttled reports whether the service throttled the call or failed.
func (a *answer) throttled() bool {
	_, known := retry.DefaultThrottleErrorCodes[a.code]
	return known || a.status == http.StatusTooManyRequests || a.status >= 500 || a.fault == smithy.FaultServer ||
		strings.Contains(a.code, "Throttl") || strings.Contains(a.code, "TooManyRequests")
}

func (a *answer) kind() Kind {
	if a.invalid {
		return Validation
	}
	for _, c := range codes {
		if c.match(a.code, c.text) {
			return c.kind
		}
	}
	return 0
}

// codes are the error codes of AWS's services by kind. A code with different meanings is not in
// the list: InvalidRequestException is a parameter in one service and the state of a resource in
// another.
//
// Codes of credentials and signatures (ExpiredToken, UnrecognizedClientException,
// SignatureDoesNotMatch) have no kind, since no record is their cause.
var codes = []struct {
	kind  Kind
	match func(code, text string) bool
	text  string
}{
	{Validation, strings.HasPrefix, "Validation"},         // Exception, Error
	{Validation, strings.HasPrefix, "InvalidParameter"},   // Value, Combination, …Exception
	{Validation, strings.HasPrefix, "InvalidArgument"},    // S3
	{Validation, strings.HasPrefix, "InvalidInput"},       // Route 53, EventBridge Scheduler, Glue
	{Validation, strings.HasPrefix, "MissingParameter"},   // EC2's query protocol and similar ones
	{Validation, equal, "SerializationException"},         // the JSON protocols
	{Validation, equal, "BadRequestException"},            // API Gateway and similar services
	{Validation, equal, "MalformedXML"},                   // S3
	{Validation, equal, "EntityTooLarge"},                 // S3
	{Validation, equal, "KeyTooLongError"},                // S3
	{Validation, equal, "InvalidMessageContents"},         // SQS
	{Validation, equal, "BatchRequestTooLong"},            // SQS
	{AccessDenied, strings.Contains, "AccessDenied"},      // …Exception, KMSAccessDeniedException
	{AccessDenied, strings.HasPrefix, "Unauthorized"},     // Operation, Exception
	{AccessDenied, strings.HasPrefix, "NotAuthorized"},    // Cognito
	{AccessDenied, strings.HasPrefix, "AuthorizationErr"}, // SNS
	{AccessDenied, strings.HasPrefix, "Forbidden"},        // S3's answers to HEAD, which have no body
	{NotFound, strings.Contains, "NotFound"},              // …Exception, …Fault, ResourceNotFound
	{NotFound, strings.HasPrefix, "NoSuch"},               // S3, IAM, Route 53
	{NotFound, strings.Contains, "NonExistent"},           // SQS
	{NotFound, strings.Contains, "DoesNotExist"},          // SQS, CodeCommit
}

func equal(code, text string) bool { return code == text }
