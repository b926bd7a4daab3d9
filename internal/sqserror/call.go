package sqserror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Once keeps the SDK from retrying a call, since its callers do that themselves. The SDK's
// own waits follow the header X-Amz-Retry-After without a limit, and could be longer than
// the time that a caller has.
func Once(o *sqs.Options) { o.Retryer = aws.NopRetryer{} }

// Passing reports whether a failed call may succeed a moment later: SQS did not answer, its
// answer cannot be read, it throttles, or it has an internal error. A call that was not
// sent, because credentials or a region are missing, will not.
func Passing(err error) bool {
	if err == nil {
		return false
	}
	if other := ofCredentials(err); other != nil {
		return Passing(other)
	}
	switch Of(err) {
	case Throttled, OverLimit, Expired:
		return true
	case None:
		broken, ok := errors.AsType[*net.OpError](err)
		switch status := statusOf(err); {
		case ok && broken.Op != "dial": // in the middle of the answer, which may have been any
			return true
		case status == 0:
			return sendFailed(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
		case status >= 400 && status < 500:
			return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
		}
		return true
	}
	return ofService(err)
}

// ofService reports whether SQS says that an error is its own fault.
func ofService(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorFault() == smithy.FaultServer || statusOf(err) >= 500
}

// Unsure reports whether a failed call, or a failed entry of a batch call, may have had its
// effect: a message may have been sent, for example. nil is no failure. These are unsure:
//
//   - A call without an answer, or with one that cannot be read, unless there were no
//     credentials for it, or no connection to make it on.
//   - An error of the service, with status 500 or more: InternalError (InternalFailure in
//     "Common Errors" of the API reference, "an unknown error, exception or failure"), and
//     ServiceUnavailable. AWS does not say that SQS finds them before it stores a message.
//     "Making retries safe with idempotent APIs" in the Amazon Builders' Library expects
//     that a call which fails like this may have had its effect.
//   - An entry that failed with SenderFault false. SQS reports InternalError for an entry as
//     it does for a call, and BatchResultErrorEntry in the API reference promises no more.
//
// These are certain: an error of the sender (status 4xx, or SenderFault true), which SQS
// finds when it checks a request, and throttling, which denies a request, whatever its
// status is. ServiceUnavailable (503) is no throttling: SQS has RequestThrottled for
// that. Only the API reference of 2008 to 2011 says that SQS throttles by 503.
func Unsure(err error) bool {
	switch {
	case err == nil, ofCredentials(err) != nil:
		return false
	case Of(err) == None:
		return !outOfReach(err)
	}
	return Of(err) != Throttled && ofService(err)
}

// Divide makes a batch call for a list. If the whole call is refused, because the list is
// too long for the server or because of one entry, Divide makes the call for each half
// instead, down to single entries. So no entry fails because of another. A list of ten with
// one bad entry takes nine calls. call returns the entries that its error is about.
func Divide[E any](list []E, call func(list []E) (left []E, err error)) {
	if left, err := call(list); len(left) > 1 && err != nil && !Passing(err) && !Lasts(err) {
		half := len(left) / 2
		Divide(left[:half:half], call)
		Divide(left[half:], call)
	}
}

// noAnswer says why SQS has not answered a call, or not so that the answer could be read.
func noAnswer(err error) string {
	switch {
	case ofCredentials(err) != nil:
		return "there are no AWS credentials for the call: is a role or profile set, and is its session still valid?"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer from SQS in time: is it slow or down, or is there no route to it? A function in a VPC needs a VPC endpoint or NAT"
	case statusOf(err) != 0:
		return "SQS's answer cannot be read: it broke off, or a proxy answers in place of SQS"
	case outOfReach(err):
		return "SQS cannot be reached: is the network up, and are region and endpoint (AWS_ENDPOINT_URL_SQS) right?"
	case sendFailed(err):
		return "the connection to SQS ended before its answer"
	}
	return NotSent
}

// ofCredentials returns why the SDK has no credentials for a call, and so has not made it: the
// error of another service, such as STS or the metadata of an instance. It returns nil if there
// is no such reason. The SDK has no type for this.
func ofCredentials(err error) error {
	call, ok := errors.AsType[*smithy.OperationError](err)
	if !ok {
		return nil
	}
	for err = call.Err; err != nil; err = errors.Unwrap(err) {
		if strings.HasPrefix(err.Error(), "get identity: ") {
			return errors.Unwrap(err)
		}
	}
	return nil
}

// outOfReach reports whether there was no connection to make a call on.
func outOfReach(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	_, name := errors.AsType[*net.DNSError](err)
	return ok && dial.Op == "dial" || name
}

// sendFailed reports whether a call was begun and got no answer.
func sendFailed(err error) bool {
	_, ok := errors.AsType[*smithyhttp.RequestSendError](err)
	return ok
}

// statusOf returns the HTTP status of the answer that an error came with, 0 if
// there was no answer.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}

// EntryError is the failure of one entry in a batch call that succeeded. It is a
// [smithy.APIError], like the error of a call.
type EntryError struct{ smithy.GenericAPIError }

// OfEntry makes an error of an entry of an answer.
func OfEntry(f types.BatchResultErrorEntry) *EntryError {
	fault := smithy.FaultServer
	if f.SenderFault {
		fault = smithy.FaultClient
	}
	return &EntryError{smithy.GenericAPIError{Code: aws.ToString(f.Code), Message: aws.ToString(f.Message), Fault: fault}}
}

// ReadAnswer reads the entries of an answer to a batch call, whose ids are positions in
// errs, since message ids repeat. An entry that the answer confirms gets no error; an entry
// that failed gets its error. Other entries are left unchanged. It returns how many are
// throttled.
func ReadAnswer(errs []error, confirmed []*string, failed []types.BatchResultErrorEntry) (throttled int) {
	set := func(id *string, err error) {
		if k, bad := strconv.Atoi(aws.ToString(id)); bad == nil && k >= 0 && k < len(errs) {
			errs[k] = err
		}
	}
	for _, id := range confirmed {
		set(id, nil)
	}
	for _, f := range failed {
		set(f.Id, OfEntry(f))
		if KindOf(aws.ToString(f.Code)) == Throttled {
			throttled++
		}
	}
	return throttled
}

func (e *EntryError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }
