package awserr

import "strings"

// codes are how AWS's services name errors of a kind. What differs between
// services is not here: InvalidRequestException is a parameter with one, and the
// state of a resource with another.
//
// Codes of credentials and signatures (ExpiredToken, UnrecognizedClientException,
// SignatureDoesNotMatch) are of no kind: no record is the reason for them.
var codes = []struct {
	kind  Kind
	match func(code, text string) bool
	text  string
}{
	{Validation, strings.HasPrefix, "Validation"},         // Exception, Error
	{Validation, strings.HasPrefix, "InvalidParameter"},   // Value, Combination, …Exception
	{Validation, strings.HasPrefix, "InvalidArgument"},    // S3
	{Validation, strings.HasPrefix, "InvalidInput"},       // Route 53, EventBridge Scheduler, Glue
	{Validation, strings.HasPrefix, "MissingParameter"},   // EC2's query protocol and its like
	{Validation, equal, "SerializationException"},         // the JSON protocols
	{Validation, equal, "BadRequestException"},            // API Gateway's and its like
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
