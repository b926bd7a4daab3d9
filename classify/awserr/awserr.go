// Package awserr tells, of a call of AWS's SDK for Go v2 that failed, whether
// the record is worth another try.
//
//	handler.RunWith(batch.JSON(shipOrder), handler.Config{
//		Classify: awserr.New(awserr.Options{Permanent: awserr.Validation | awserr.NotFound}),
//	})
//
// Calls that were throttled and answers with a status of 500 or more are tried
// again, after Retry-After or X-Amz-Retry-After if the service sent one of them.
// So is everything else, what AWS adds tomorrow included, but for the kinds that
// the function says are permanent: those go to the dead-letter queue at once.
// The package knows kinds by the code of the error, of any service, and links none.
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
	"github.com/sqsbatch/sqsbatch/classify/internal/verdict"
)

// Kind is a set of kinds of errors.
type Kind uint8

const (
	// Validation is a parameter that the service or the SDK refuses:
	// ValidationException, InvalidParameterValue, a required field that is not set.
	Validation Kind = 1 << iota
	// AccessDenied is a permission that is missing: AccessDenied,
	// UnauthorizedOperation, KMSAccessDeniedException. A change of the
	// role fixes it, so few functions want it to be permanent. Credentials that
	// cannot be had, have expired or are not accepted are not part of it.
	AccessDenied
	// NotFound is something that is not there: NoSuchKey, NotFoundException,
	// ResourceNotFoundException. The latter is also a table or stream whose name
	// is configured wrongly.
	NotFound
)

// Options say what is permanent. With the zero value nothing is.
type Options struct {
	// Permanent are the kinds that no retry can fix, such as
	// Validation | NotFound. Defaults to none.
	Permanent Kind
	// Codes are codes of errors that no retry can fix, in addition, such as
	// ConditionalCheckFailedException. Defaults to none.
	Codes []string
}

// New returns a classifier, for batch.Config.Classify and handler.Config.Classify.
//
// It returns errors as they are that are not of AWS's SDK or were decided before:
// those with a verb of package batch, those that say by themselves whether they
// are Retryable() bool, the end of a context. Where errors are joined and one of
// them is throttled or of the service's side, all are tried again.
func New(o Options) func(error) error {
	o.Codes = slices.Clone(o.Codes)
	return func(err error) error { return verdict.Apply(err, o.judge) }
}

func (o Options) judge(chain []error) verdict.Verdict {
	a := read(chain)
	switch {
	case a.throttled(), a.nested: // no record is the reason for what failed on the way to credentials
		return verdict.Verdict{Kind: verdict.Retry, After: a.after}
	case slices.Contains(o.Codes, a.code) && a.code != "", o.Permanent&a.kind() != 0:
		return verdict.Verdict{Kind: verdict.Permanent}
	case a.after > 0: // the service says that it passes
		return verdict.Verdict{Kind: verdict.Retry, After: a.after}
	}
	return verdict.Verdict{}
}

// answer is what a chain of errors tells of a call.
type answer struct {
	code    string // "" when the service did not answer
	status  int
	fault   smithy.ErrorFault
	after   time.Duration
	invalid bool // refused by the SDK itself
	nested  bool // another call failed that was to give this one credentials
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

// retryAfter hears AWS's own header, in milliseconds, before the common one.
func retryAfter(h http.Header) time.Duration {
	const most = int64(httpstatus.MaxRetryAfter / time.Millisecond)
	if ms, err := strconv.ParseInt(h.Get("X-Amz-Retry-After"), 10, 64); err == nil && ms > 0 {
		return time.Duration(min(ms, most)) * time.Millisecond
	}
	return httpstatus.RetryAfter(h)
}

// throttled reports whether there were too many calls, or the service failed.
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
