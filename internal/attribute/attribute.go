// Package attribute reads SQS's system attributes of a message into a record,
// as they come in a Lambda event and from ReceiveMessage, and makes the SDK's attributes
// of a record's.
package attribute

import (
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
)

// Set sets the field of r for a system attribute of the message.
func Set(r *batch.Record, name, value string) {
	switch name {
	case "ApproximateReceiveCount":
		r.Attempt = count(value)
	case "SentTimestamp":
		r.SentAt = milliseconds(value)
	case "ApproximateFirstReceiveTimestamp":
		r.FirstReceivedAt = milliseconds(value)
	case "SenderId":
		r.SenderID = value
	case "MessageGroupId":
		r.GroupID = value
	case "MessageDeduplicationId":
		r.DeduplicationID = value
	case "SequenceNumber":
		r.SequenceNumber = value
	case "AWSTraceHeader":
		r.TraceHeader = value
	case "DeadLetterQueueSourceArn":
		r.DeadLetterQueueSourceARN = value
	default:
		if r.OtherAttributes == nil {
			r.OtherAttributes = make(map[string]string)
		}
		r.OtherAttributes[name] = value
	}
}

// count reads a receive count: 0 for what is not a number, the largest for one too large.
func count(s string) int {
	n, _ := strconv.Atoi(s) // with an error it is 0, or the nearest int
	return max(n, 0)
}

func milliseconds(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

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
