package sqs

import "net/http"

// errorTraits are the parts of an error that follow from its name in the service's API
// model: the code of the query protocol, which clients see, and the status.
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

// errorNamed returns the error with a name or a code. An error that is not in the model is
// a sender's error of that name.
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
