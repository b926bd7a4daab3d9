// Package sqserror knows the codes of SQS's errors: those of calls, and those of entries in
// the answers to batch calls. One table has, for each kind of error, what to do about it
// ([Advice]), and whether it lasts until something is changed ([Lasts]).
package sqserror

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
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

// parts are found anywhere in a code: the query protocol's have a prefix
// (AWS.SimpleQueueService.), others an ending (Exception).
var parts = []struct {
	part string
	kind Kind
}{
	{"NonExistentQueue", NoQueue}, {"QueueDoesNotExist", NoQueue}, {"InvalidAddress", InvalidAddress},
	{"AccessDenied", Denied},
	{"Expired", Expired},
	{"InvalidClientTokenId", Credentials}, {"UnrecognizedClient", Credentials}, {"SignatureDoesNotMatch", Credentials},
	{"InvalidSignature", Credentials}, {"IncompleteSignature", Credentials}, {"MissingAuthenticationToken", Credentials},
	{"AuthFailure", Credentials}, {"InvalidSecurity", Credentials},
	{"Throttl", Throttled}, {"RequestLimit", Throttled}, {"TooManyRequests", Throttled},
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
	if code == "" {
		return None
	}
	if _, ok := retry.DefaultThrottleErrorCodes[code]; ok || code == "KmsThrottled" || code == "KMS.ThrottlingException" {
		return Throttled
	}
	if code == "OverLimit" {
		return OverLimit
	}
	key := strings.HasPrefix(strings.ToUpper(code), "KMS")
	for _, p := range parts {
		if !strings.Contains(code, p.part) {
			continue
		}
		if key && p.kind == Denied {
			return KeyDenied
		}
		if !key {
			return p.kind
		}
	}
	if key {
		return Key
	}
	return Other
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
