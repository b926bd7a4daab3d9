// Package attribute reads SQS's system attributes of a message into a record,
// as they come in a Lambda event and from ReceiveMessage, and makes the SDK's attributes
// of a record's. It has SQS's rules for attributes, texts and ids.
package attribute

import (
	"strconv"
	"strings"
	"time"
	"unicode"

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

// Fault returns the rule of "Amazon SQS message attributes" in the developer guide
// that an attribute breaks, or "". SQS checks numbers.
func Fault(name string, a batch.MessageAttribute) string {
	lower := strings.ToLower(name)
	kind, _, _ := strings.Cut(a.DataType, ".")
	switch {
	case name == "" || len(name) > 256 || strings.ContainsFunc(name, notInName),
		strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."):
		return "has an invalid name: up to 256 letters, digits, underscores, hyphens and periods, with no period first, last or twice in a row"
	case strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon."):
		return "has a name with a reserved prefix (AWS. or Amazon.)"
	case kind != "String" && kind != "Number" && kind != "Binary" || len(a.DataType) > 256:
		return "has an invalid DataType: String, Number or Binary, with an optional .label, in at most 256 characters"
	case kind == "Binary" && (len(a.BinaryValue) == 0 || a.StringValue != ""):
		return "has a Binary type: BinaryValue must be set, and StringValue must not"
	case kind != "Binary" && (a.StringValue == "" || len(a.BinaryValue) > 0):
		return "has the type " + kind + ": StringValue must be set, and BinaryValue must not"
	case !ValidText(a.StringValue):
		return "has characters that SQS does not take"
	}
	return ""
}

func notInName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' && r != '.'
}

// ValidText reports whether SQS accepts every character, see SendMessage in the API reference.
// It refuses invalid UTF-8, for which the SDK would send other characters.
func ValidText(text string) bool {
	for i, r := range text {
		switch {
		case r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], string(unicode.ReplacementChar)):
			return false
		case r == '\t', r == '\n', r == '\r', r >= 0x20 && r <= 0xD7FF, r >= 0xE000 && r <= 0xFFFD, r >= 0x10000:
		default:
			return false
		}
	}
	return true
}

// ValidToken applies the rule for groups and deduplication ids.
func ValidToken(id string) bool {
	return len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
