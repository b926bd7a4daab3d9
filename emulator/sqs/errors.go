package sqs

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// apiError is an answer that AWS's SDKs turn into a typed error: the shape goes
// into the body as __type, the query code into the x-amzn-query-error header
// (the JSON protocol keeps the codes of the older query protocol there).
type apiError struct {
	shape     string
	queryCode string
	message   string
	status    int // 0: 400
}

func (e *apiError) Error() string { return e.queryCode + ": " + e.message }

func (e *apiError) httpStatus() int {
	if e.status == 0 {
		return http.StatusBadRequest
	}
	return e.status
}

// senderFault tells whether the client is to blame.
func (e *apiError) senderFault() bool { return e.httpStatus() < 500 }

func (e *apiError) fault() string {
	if e.senderFault() {
		return "Sender"
	}
	return "Receiver"
}

// asAPIError makes an answer of an error that was not meant to be one.
func asAPIError(err error) *apiError {
	var failure *apiError
	if errors.As(err, &failure) {
		return failure
	}
	return &apiError{shape: coralShape + "InternalFailure", queryCode: "InternalError",
		message: err.Error(), status: http.StatusInternalServerError}
}

// batchCode is the error's name within a batch's Failed entries.
func (e *apiError) batchCode() string { return strings.TrimPrefix(e.queryCode, queryShape) }

const (
	sqsShape   = "com.amazonaws.sqs#"
	coralShape = "com.amazon.coral.service#"
	queryShape = "AWS.SimpleQueueService."
)

// modelled returns an error of the service's own model whose query code is its name.
func modelled(name, format string, args ...any) *apiError {
	return &apiError{shape: sqsShape + name, queryCode: name, message: fmt.Sprintf(format, args...)}
}

// prefixed is modelled for the errors whose query code has the service's prefix.
func prefixed(name, format string, args ...any) *apiError {
	return &apiError{shape: sqsShape + name, queryCode: queryShape + name, message: fmt.Sprintf(format, args...)}
}

func errNoQueue(name string) *apiError {
	return &apiError{shape: sqsShape + "QueueDoesNotExist", queryCode: queryShape + "NonExistentQueue",
		message: fmt.Sprintf("The specified queue does not exist: %q.", name)}
}

func errQueueExists(attribute string) *apiError {
	return &apiError{shape: sqsShape + "QueueNameExists", queryCode: "QueueAlreadyExists",
		message: "A queue already exists with the same name and a different value for attribute " + attribute}
}

func errInvalidParameter(format string, args ...any) *apiError {
	return &apiError{shape: coralShape + "InvalidParameterValueException", queryCode: "InvalidParameterValue",
		message: fmt.Sprintf(format, args...)}
}

// errValue is errInvalidParameter in AWS's usual words.
func errValue(value any, parameter, reason string) *apiError {
	return errInvalidParameter("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

func errMissing(parameter string) *apiError {
	return &apiError{shape: coralShape + "MissingRequiredParameterException", queryCode: "MissingParameter",
		message: fmt.Sprintf("The request must contain the parameter %s.", parameter)}
}

func errReceipt(handle string) *apiError {
	e := modelled("ReceiptHandleIsInvalid", "The input receipt handle %q is not a valid receipt handle.", handle)
	e.status = http.StatusNotFound
	return e
}

func errMalformed(format string, args ...any) *apiError {
	return &apiError{shape: coralShape + "SerializationException", queryCode: "MalformedInput",
		message: fmt.Sprintf(format, args...)}
}

func errUnknownOperation(format string, args ...any) *apiError {
	return &apiError{shape: coralShape + "UnknownOperationException", queryCode: "InvalidAction",
		message: fmt.Sprintf(format, args...)}
}

func errNoOperation(name string) *apiError {
	return errUnknownOperation("The operation %q is not one of SQS's.", name)
}

func errClosed() *apiError {
	return &apiError{shape: coralShape + "ServiceUnavailableException", queryCode: "ServiceUnavailable",
		message: "The SQS emulator was closed.", status: http.StatusServiceUnavailable}
}
