package sqs

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// apiError is an answer that AWS's SDKs turn into a typed error: the shape goes
// into the body as __type, the query code into the x-amzn-query-error header
// (the JSON protocol keeps the codes of the older query protocol there).
type apiError struct {
	shape     string
	queryCode string
	message   string
	status    int
	// unavailable tells that a receipt handle has no message whose visibility
	// timeout could be changed.
	unavailable bool

	retryAfter time.Duration // the header X-Amz-Retry-After; 0 for none
}

func (e *apiError) Error() string { return e.queryCode + ": " + e.message }

// senderFault reports whether the client is to blame.
func (e *apiError) senderFault() bool { return e.status < 500 }

func (e *apiError) fault() string {
	if e.senderFault() {
		return "Sender"
	}
	return "Receiver"
}

// asAPIError makes an answer of an error that was not meant to be one.
func asAPIError(err error) *apiError {
	if failure, ok := errors.AsType[*apiError](err); ok {
		return failure
	}
	return errorNamed("InternalFailure", err.Error())
}

// batchCode is the error's name within a batch's Failed entries.
func (e *apiError) batchCode() string { return strings.TrimPrefix(e.queryCode, queryShape) }

const (
	sqsShape   = "com.amazonaws.sqs#"
	coralShape = "com.amazon.coral.service#"
	queryShape = "AWS.SimpleQueueService."
)

// modelled returns an error of the API model by its name.
func modelled(name, format string, args ...any) *apiError {
	return errorNamed(name, fmt.Sprintf(format, args...))
}

func errNoQueue() *apiError {
	return modelled("QueueDoesNotExist", "The specified queue does not exist.")
}

func errQueueExists(attribute string) *apiError {
	return modelled("QueueNameExists", "A queue already exists with the same name and a different value for attribute %s", attribute)
}

func errInvalidParameter(format string, args ...any) *apiError {
	return modelled("InvalidParameterValueException", format, args...)
}

// errValue is errInvalidParameter in AWS's usual words.
func errValue(value any, parameter, reason string) *apiError {
	return errInvalidParameter("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

func errMissing(parameter string) *apiError {
	return modelled("MissingRequiredParameterException", "The request must contain the parameter %s.", parameter)
}

func errReceipt(handle string) *apiError {
	return modelled("ReceiptHandleIsInvalid", "The input receipt handle %q is not a valid receipt handle.", handle)
}

func errMalformed(format string, args ...any) *apiError {
	return modelled("SerializationException", format, args...)
}

func errUnknownOperation(format string, args ...any) *apiError {
	return modelled("UnknownOperationException", format, args...)
}

func errNoOperation(name string) *apiError {
	return errUnknownOperation("The operation %q is not one of SQS's.", name)
}

// errNoAction is errNoOperation in the words of the query protocol.
func errNoAction(name string) *apiError {
	return errUnknownOperation("The action %s is not valid for this endpoint.", name)
}

func errClosed() *apiError {
	return modelled("ServiceUnavailableException", "The SQS emulator was closed.")
}
