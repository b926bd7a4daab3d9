package attribute

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
)

// SDK returns message attributes as the SDK has them, nil for none.
func SDK(attributes map[string]batch.MessageAttribute) map[string]types.MessageAttributeValue {
	if len(attributes) == 0 {
		return nil
	}
	values := make(map[string]types.MessageAttributeValue, len(attributes))
	for name, a := range attributes {
		value := types.MessageAttributeValue{DataType: &a.DataType}
		if strings.HasPrefix(a.DataType, "Binary") {
			value.BinaryValue = a.BinaryValue
		} else {
			value.StringValue = &a.StringValue
		}
		values[name] = value
	}
	return values
}

// Trace returns the system attributes of a message that is sent with a trace header, nil if
// that is empty.
func Trace(header string) map[string]types.MessageSystemAttributeValue {
	if header == "" {
		return nil
	}
	return map[string]types.MessageSystemAttributeValue{
		string(types.MessageSystemAttributeNameForSendsAWSTraceHeader): {DataType: aws.String("String"), StringValue: &header},
	}
}
