// Package sqserror knows the codes of SQS's errors: those of calls, and those of entries in
// the answers to batch calls. One table has, for each kind of error, what to do about it
// ([Advice]), and whether it lasts until something is changed ([Lasts]).
package sqserror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Kind is the cause of an error.
type Kind int

const (
	None           Kind = iota // there is no code: SQS did not answer
	Other                      // a code that is not one of those below
	Throttled                  // too many calls, KMS's included
	OverLimit                  // too many messages in flight, or too many entries
	Key                        // the queue's KMS key cannot be used
	KeyDenied                  // as Key, because a permission is missing
	Denied                     // the caller has no permission
	NoQueue                    // there is no such queue
	InvalidAddress             // the queue's URL is not one
	Expired                    // the credentials or the request are out of date
	Credentials                // they are not accepted
	Unsupported                // not an operation for this queue
	InvalidValue               // of a parameter: a receipt handle that has expired, too
	Stale                      // the message is not, or no longer, this receiver's
)

// kinds says what to do about a kind of error, and whether it lasts, see [Lasts] and [Advice].
var kinds = map[Kind]struct {
	advice string // with {actions} and {queue}
	lasts  bool
}{
	Throttled:      {advice: "SQS throttles the calls"},
	OverLimit:      {advice: "SQS throttles the calls"},
	Expired:        {advice: "the credentials have expired, or this machine's clock is wrong"},
	Key:            {keyAdvice, true},
	KeyDenied:      {keyAdvice, true},
	Denied:         {"the role needs {actions} on {queue}", true},
	NoQueue:        {queueAdvice, true},
	InvalidAddress: {queueAdvice, true},
	Credentials:    {"SQS does not accept the credentials", true},
	Unsupported:    {refused, true},
	// SQS does not say which of these is the cause. The most likely one comes first.
	Stale: {advice: "SQS no longer accepts the record's receipt handle: its visibility timeout was over before its handler was done (AWS advises 6 × a function's timeout), " +
		"or while a container was suspended or SQS out of reach, or the record was deleted, or the queue was purged or recreated, or its server restarted"},
}

const (
	keyAdvice   = "the queue's key cannot be used: is it enabled, and does it allow the role kms:GenerateDataKey and kms:Decrypt?"
	queueAdvice = "there is no such queue: are {queue}, its region and account right?"
	refused     = "SQS refused the call"
	// NotSent is the advice for a call that could not be made.
	NotSent = "SQS cannot be called: are region, credentials and endpoint (AWS_ENDPOINT_URL_SQS) right?"
)

// Advice returns what to do about the error of a call. actions are the permissions that the
// caller's role needs on queue. queue is a queue, or the name of the setting that names it.
func Advice(err error, actions, queue string) string {
	kind := Of(err)
	text := kinds[kind].advice
	switch {
	case text != "":
	case kind == None:
		text = noAnswer(err)
	case Passing(err):
		text = "SQS has an internal error"
	default:
		text = refused
	}
	return strings.NewReplacer("{actions}", actions, "{queue}", queue).Replace(text)
}

// Lasts reports whether a failed call will fail again, whatever its entries are, until
// something outside the program is changed.
func Lasts(err error) bool {
	if other := ofCredentials(err); other != nil {
		return !Passing(other)
	}
	kind := Of(err)
	return kinds[kind].lasts || err != nil && kind == None && noAnswer(err) == NotSent
}

// part is a text in the codes of a kind.
type part struct {
	text string
	kind Kind
}

// parts are found anywhere in a code: the query protocol's have a prefix
// (AWS.SimpleQueueService.), others an ending (Exception).
var parts = []part{
	{"NonExistentQueue", NoQueue}, {"QueueDoesNotExist", NoQueue}, {"InvalidAddress", InvalidAddress},
	{"AccessDenied", Denied},
	{"Expired", Expired},
	{"InvalidClientTokenId", Credentials}, {"UnrecognizedClient", Credentials}, {"SignatureDoesNotMatch", Credentials},
	{"InvalidSignature", Credentials}, {"IncompleteSignature", Credentials}, {"MissingAuthenticationToken", Credentials},
	{"AuthFailure", Credentials}, {"InvalidSecurity", Credentials},
	{"Throttl", Throttled}, {"RequestLimit", Throttled}, {"TooManyRequests", Throttled}, {"OverLimit", OverLimit},
	{"UnsupportedOperation", Unsupported}, {"InvalidParameterValue", InvalidValue},
	{"ReceiptHandleIsInvalid", Stale}, {"MessageNotInflight", Stale},
}

// Code returns the code with which SQS answered a call, or "" if err is not an answer of
// SQS.
func Code(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok && ofCredentials(err) == nil {
		return api.ErrorCode()
	}
	return ""
}

// Of returns the kind of the error of a call. SQS uses one code for a signature that is
// wrong and one that is too old; the text shows which.
func Of(err error) Kind {
	kind := KindOf(Code(err))
	if api, ok := errors.AsType[smithy.APIError](err); ok && kind == Credentials {
		if text := api.ErrorMessage(); strings.Contains(text, "expired") || strings.Contains(text, "not yet current") {
			return Expired
		}
	}
	return kind
}

// KindOf returns the kind of a code.
func KindOf(code string) Kind {
	kind := Other
	if i := slices.IndexFunc(parts, func(p part) bool { return strings.Contains(code, p.text) }); i >= 0 {
		kind = parts[i].kind
	}
	_, throttled := retry.DefaultThrottleErrorCodes[code]
	switch key := strings.HasPrefix(strings.ToUpper(code), "KMS"); {
	case code == "":
		return None
	case throttled:
		return Throttled
	case key && kind == Denied:
		return KeyDenied
	case key && kind != Throttled:
		return Key
	}
	return kind
}

// Gone reports whether an error says that an entry's receipt handle is no longer valid: no
// retry with it can succeed.
func Gone(err error) bool {
	if Passing(err) {
		return false
	}
	_, entry := errors.AsType[*EntryError](err)
	kind := Of(err)
	return kind == Stale || kind == InvalidValue && entry
}

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
