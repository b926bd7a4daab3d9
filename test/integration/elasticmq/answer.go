package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// An answer is what a server answered, without what may differ: ids become
// "new" or that of which message, timestamps the phase they are in, and lists
// whose order is not promised are sorted. A key says what is meant, and after
// " of " of what.
type answer map[string]string

const (
	pathError    = "error"    // a failed call has no other path
	pathReceived = "received" // which messages a receive got
	pathSkipped  = "skipped"  // an operation that had nothing to act upon
)

// What an error begins with that is none of SQS's, but of the connection or the
// form of the answer.
const (
	noAnswer      = "no answer: "
	notTaken      = "an answer that the SDK does not take: "
	notInProtocol = "an answer that is not in the protocol, status "
)

// broken tells whether the error is one of those.
func broken(text string) bool {
	return strings.HasPrefix(text, noAnswer) || strings.HasPrefix(text, notTaken) || strings.HasPrefix(text, notInProtocol)
}

// failure describes an error by what programs can tell apart: the code, whether
// the SDK has a type for it, and the code of the older query protocol, which
// the SDK reports in the newer one's stead. The message is for people.
func failure(err error) answer {
	var response *awshttp.ResponseError
	status := 0
	if errors.As(err, &response) {
		status = response.HTTPStatusCode()
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		if status == 0 {
			return answer{pathError: noAnswer + err.Error()}
		}
		if status < 300 {
			return answer{pathError: notTaken + err.Error()}
		}
		return answer{pathError: fmt.Sprintf("%s%d", notInProtocol, status)}
	}
	a := answer{"query code": api.ErrorCode()}
	if kind, typed := strings.CutPrefix(fmt.Sprintf("%T", api), "*types."); typed {
		a[pathError], a["error's type"] = kind, kind
	} else {
		code := api.ErrorCode()
		a[pathError] = code[strings.LastIndexByte(code, '#')+1:]
	}
	if status >= 500 {
		a[pathError] += ", status 5xx" // the SDK would try again
	}
	return a
}

// sent adds the result of a send; suffix says of which entry of a batch.
func (a answer) sent(n *session, suffix string, queue int, m message, id, md5, md5Attributes, md5System, sequence *string) {
	a["MD5OfMessageBody"+suffix] = value(md5)
	a["MD5OfMessageAttributes"+suffix] = value(md5Attributes)
	a["MD5OfMessageSystemAttributes"+suffix] = value(md5System)
	if earlier, known := n.ids[value(id)]; known {
		a["MessageId"+suffix] = "that of " + earlier
	} else {
		a["MessageId"+suffix] = "new"
		n.ids[value(id)] = m.Body
	}
	number := value(sequence)
	group := fmt.Sprint(queue, " ", m.Group) // they grow in each
	highest := n.latest[group]
	earlier, known := n.sequences[number]
	switch {
	case number == "":
		a["SequenceNumber"+suffix] = "none"
		n.untold[m.Body] = true
	case known:
		a["SequenceNumber"+suffix] = "that of " + earlier
	case len(number) < len(highest) || len(number) == len(highest) && number < highest:
		a["SequenceNumber"+suffix] = "new, but lower than an earlier one"
	default:
		a["SequenceNumber"+suffix] = "new"
		n.sequences[number], n.latest[group] = m.Body, number
	}
}

func (a answer) failed(entries []types.BatchResultErrorEntry) {
	for _, e := range entries {
		a["error of entry "+value(e.Id)] = value(e.Code)
		a["sender's fault of entry "+value(e.Id)] = fmt.Sprint(e.SenderFault)
	}
}

// received adds the messages of a receive.
func (a answer) received(n *session, queue int, messages []types.Message) {
	var labels []string
	order := map[string][]string{} // by group
	for _, m := range messages {
		of := label(value(m.Body))
		if slices.Contains(labels, of) {
			of += " once more"
		}
		labels = append(labels, of)
		suffix := " of message " + of
		a["body"+suffix] = squeeze(value(m.Body))
		a["MD5OfBody"+suffix] = value(m.MD5OfBody)
		a["MD5OfMessageAttributes"+suffix] = value(m.MD5OfMessageAttributes)
		a["MessageId"+suffix] = "unknown"
		if sent, ok := n.ids[value(m.MessageId)]; ok {
			a["MessageId"+suffix] = "that of " + sent
		}
		handle := value(m.ReceiptHandle)
		a["ReceiptHandle"+suffix] = "new"
		if n.handles[handle] {
			a["ReceiptHandle"+suffix] = "one given out before"
		}
		n.handles[handle] = true
		key := n.receiptKey(queue, label(value(m.Body)))
		n.receipts[key] = append(n.receipts[key], handle)
		for name, v := range m.MessageAttributes {
			a["attribute "+name+suffix] = fmt.Sprintf("%s %q %x", value(v.DataType), value(v.StringValue), v.BinaryValue)
		}
		for name, v := range m.Attributes {
			a[name+suffix] = n.systemAttribute(m, name, v)
		}
		if group, told := m.Attributes["MessageGroupId"]; n.fifo && told {
			order[group] = append(order[group], of)
		}
	}
	for group, labels := range order {
		a["order of group "+group] = strings.Join(labels, ", ")
	}
	slices.Sort(labels)
	a[pathReceived] = strings.Join(labels, ", ")
}

func (n *session) systemAttribute(m types.Message, name, text string) string {
	switch name {
	case "SentTimestamp", "ApproximateFirstReceiveTimestamp":
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return text
		}
		return n.when(time.UnixMilli(ms))
	case "SequenceNumber":
		if of, ok := n.sequences[text]; ok {
			return "that of " + of
		}
		if n.untold[label(value(m.Body))] {
			return "not told when it was sent"
		}
		return "unknown"
	case "MessageDeduplicationId":
		if text == value(m.MessageId) {
			return "its MessageId"
		}
	case "SenderId":
		return "somebody"
	}
	return n.generic(text)
}

// queueAttribute makes an attribute of a queue comparable. Policies are
// compared as JSON, and the time of creation only by whether it can be right,
// for it counts in seconds.
func (n *session) queueAttribute(name, text string) string {
	switch name {
	case "CreatedTimestamp", "LastModifiedTimestamp":
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return text
		}
		if since := time.Unix(seconds, 0).Sub(n.began); since < -2*time.Second || since > time.Minute {
			return "not in the run"
		}
		return "in the run"
	case "RedrivePolicy", "RedriveAllowPolicy":
		var policy any
		if json.Unmarshal([]byte(text), &policy) == nil {
			canonical, _ := json.Marshal(policy) // sorts the keys
			text = string(canonical)
		}
	}
	return n.generic(text)
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
