// Package attribute reads SQS's system attributes of a message into a record,
// as they come in a Lambda event and from ReceiveMessage, and makes the SDK's attributes
// of a record's.
package attribute

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

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
	n, err := strconv.Atoi(s)
	switch {
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(s, "-"):
		return math.MaxInt
	case err != nil || n < 0:
		return 0
	}
	return n
}

func milliseconds(s string) time.Time {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
