package awserr_test

import (
	"fmt"

	"github.com/aws/smithy-go"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/classify/awserr"
	"github.com/sqsbatch/sqsbatch/classify/httpstatus"
)

// An order whose parameters DynamoDB refuses will not be accepted later, nor one
// that was written before; a table that is not there may be tomorrow.
func Example() {
	classify := awserr.New(awserr.Config{
		Permanent: awserr.Validation,
		Codes:     []string{"ConditionalCheckFailedException"},
	})
	for _, code := range []string{"ValidationException", "ConditionalCheckFailedException", "ThrottlingException", "ResourceNotFoundException"} {
		err := classify(fmt.Errorf("put order: %w", &smithy.GenericAPIError{Code: code}))
		fmt.Println(code, batch.VerdictOf(err).Permanent)
	}
	// Output:
	// ValidationException true
	// ConditionalCheckFailedException true
	// ThrottlingException false
	// ResourceNotFoundException false
}

// A function that calls AWS and others has a classifier for each.
func ExampleNew() {
	classify := batch.FirstOf(awserr.New(awserr.Config{Permanent: awserr.NotFound}), httpstatus.Classify)
	fmt.Println(batch.VerdictOf(classify(&smithy.GenericAPIError{Code: "NoSuchKey"})).Permanent)
	fmt.Println(batch.VerdictOf(classify(&httpstatus.Error{Status: 404})).Permanent)
	fmt.Println(batch.VerdictOf(classify(&smithy.GenericAPIError{Code: "SlowDown"})).Permanent)
	// Output:
	// true
	// true
	// false
}
