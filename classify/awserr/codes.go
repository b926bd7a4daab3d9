package awserr

import "strings"

// codes are the names that AWS's services use for errors of a kind. A code with different
// meanings is not in the list: InvalidRequestException is a parameter in one service and
// the state of a resource in another.
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
