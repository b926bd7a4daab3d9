package sqs

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// apiError is an answer that AWS's SDKs return as a typed error. The shape is __type in the
// body. The query code is in the x-amzn-query-error header, where the JSON protocol keeps the
// codes of the older query protocol.
type apiError struct {
	shape     string
	queryCode string
	message   string
	status    int
	// unavailable is true if a receipt handle has no message whose visibility timeout can be
	// changed.
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

// asAPIError returns err as an apiError, InternalFailure for other errors.
func asAPIError(err error) *apiError {
	if failure, ok := errors.AsType[*apiError](err); ok {
		return failure
	}
	return errorNamed("InternalFailure", err.Error())
}

// batchCode returns the Code in a batch's Failed entries.
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

func errInvalidParameter(format string, args ...any) *apiError {
	return modelled("InvalidParameterValueException", format, args...)
}

// errValue returns errInvalidParameter with AWS's usual text.
func errValue(value any, parameter, reason string) *apiError {
	return errInvalidParameter("Value %v for parameter %s is invalid. Reason: %s", value, parameter, reason)
}

// bounded returns an optional number of a request, standard if it is absent, or an error if it
// is not from low to high.
func bounded(given *int, parameter string, low, high, standard int) (int, *apiError) {
	if given == nil {
		return standard, nil
	}
	if *given < low || *given > high {
		return 0, errValue(*given, parameter, fmt.Sprintf("Must be between %d and %d, if provided.", low, high))
	}
	return *given, nil
}

func errMissing(parameter string) *apiError {
	return modelled("MissingRequiredParameterException", "The request must contain the parameter %s.", parameter)
}

func errMalformed(format string, args ...any) *apiError {
	return modelled("SerializationException", format, args...)
}

func errUnknownOperation(format string, args ...any) *apiError {
	return modelled("UnknownOperationException", format, args...)
}

func errClosed() *apiError {
	return modelled("ServiceUnavailableException", "The SQS emulator was closed.")
}

// errorTraits are an error's properties in the service's API model. Clients see the code of the
// query protocol.
type errorTraits struct {
	shape     string // prefix of the name in __type
	queryCode string
	status    int
}

// errorModel has the errors of the API model of SQS ("Errors" of the operations in the API
// reference; the model has the codes), and below those that AWS's services have in common.
var errorModel = map[string]errorTraits{
	"BatchEntryIdsNotDistinct":     {sqsShape, queryShape + "BatchEntryIdsNotDistinct", http.StatusBadRequest},
	"BatchRequestTooLong":          {sqsShape, queryShape + "BatchRequestTooLong", http.StatusBadRequest},
	"EmptyBatchRequest":            {sqsShape, queryShape + "EmptyBatchRequest", http.StatusBadRequest},
	"InvalidAddress":               {sqsShape, "InvalidAddress", http.StatusNotFound},
	"InvalidAttributeName":         {sqsShape, "InvalidAttributeName", http.StatusBadRequest},
	"InvalidAttributeValue":        {sqsShape, "InvalidAttributeValue", http.StatusBadRequest},
	"InvalidBatchEntryId":          {sqsShape, queryShape + "InvalidBatchEntryId", http.StatusBadRequest},
	"InvalidIdFormat":              {sqsShape, "InvalidIdFormat", http.StatusBadRequest},
	"InvalidMessageContents":       {sqsShape, "InvalidMessageContents", http.StatusBadRequest},
	"InvalidSecurity":              {sqsShape, "InvalidSecurity", http.StatusForbidden},
	"KmsAccessDenied":              {sqsShape, "KMS.AccessDeniedException", http.StatusBadRequest},
	"KmsDisabled":                  {sqsShape, "KMS.DisabledException", http.StatusBadRequest},
	"KmsInvalidKeyUsage":           {sqsShape, "KMS.InvalidKeyUsageException", http.StatusBadRequest},
	"KmsInvalidState":              {sqsShape, "KMS.InvalidStateException", http.StatusBadRequest},
	"KmsNotFound":                  {sqsShape, "KMS.NotFoundException", http.StatusBadRequest},
	"KmsOptInRequired":             {sqsShape, "KMS.OptInRequired", http.StatusForbidden},
	"KmsThrottled":                 {sqsShape, "KMS.ThrottlingException", http.StatusBadRequest},
	"MessageNotInflight":           {sqsShape, queryShape + "MessageNotInflight", http.StatusBadRequest},
	"OverLimit":                    {sqsShape, "OverLimit", http.StatusForbidden},
	"PurgeQueueInProgress":         {sqsShape, queryShape + "PurgeQueueInProgress", http.StatusForbidden},
	"QueueDeletedRecently":         {sqsShape, queryShape + "QueueDeletedRecently", http.StatusBadRequest},
	"QueueDoesNotExist":            {sqsShape, queryShape + "NonExistentQueue", http.StatusBadRequest},
	"QueueNameExists":              {sqsShape, "QueueAlreadyExists", http.StatusBadRequest},
	"ReceiptHandleIsInvalid":       {sqsShape, "ReceiptHandleIsInvalid", http.StatusNotFound},
	"RequestThrottled":             {sqsShape, "RequestThrottled", http.StatusForbidden},
	"ResourceNotFoundException":    {sqsShape, "ResourceNotFoundException", http.StatusNotFound},
	"TooManyEntriesInBatchRequest": {sqsShape, queryShape + "TooManyEntriesInBatchRequest", http.StatusBadRequest},
	"UnsupportedOperation":         {sqsShape, queryShape + "UnsupportedOperation", http.StatusBadRequest},

	"AccessDeniedException":             {coralShape, "AccessDenied", http.StatusForbidden},
	"InternalFailure":                   {coralShape, "InternalError", http.StatusInternalServerError},
	"InvalidParameterValueException":    {coralShape, "InvalidParameterValue", http.StatusBadRequest},
	"MissingRequiredParameterException": {coralShape, "MissingParameter", http.StatusBadRequest},
	"SerializationException":            {coralShape, "MalformedInput", http.StatusBadRequest},
	"ServiceUnavailableException":       {coralShape, "ServiceUnavailable", http.StatusServiceUnavailable},
	"UnknownOperationException":         {coralShape, "InvalidAction", http.StatusBadRequest},
}

// errorNamed returns the error with a name or a code. A code that is not in the model becomes a
// sender's error of that name.
func errorNamed(code, message string) *apiError {
	if _, known := errorModel[code]; !known {
		for name, traits := range errorModel {
			if traits.queryCode == code || traits.queryCode == queryShape+code {
				code = name
				break
			}
		}
	}
	traits, known := errorModel[code]
	if !known {
		traits = errorTraits{sqsShape, code, http.StatusBadRequest}
	}
	return &apiError{shape: traits.shape + code, queryCode: traits.queryCode, message: message, status: traits.status}
}
