package lambda

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// sqsRecord is a record of an SQS event in the order and with the names of
// "Using Lambda with Amazon SQS", Example Amazon SQS message event.
type sqsRecord struct {
	messageID, receiptHandle, body string
	attributes                     map[string]string
	messageAttributes              map[string]sqsAttribute
	md5OfMessageAttributes         string // left out when empty
	md5OfBody                      string
	arn, region                    string
}

type sqsAttribute struct {
	StringValue      *string  `json:"stringValue,omitempty"`
	BinaryValue      []byte   `json:"binaryValue,omitempty"`
	StringListValues []string `json:"stringListValues"`
	BinaryListValues [][]byte `json:"binaryListValues"`
	DataType         string   `json:"dataType"`
}

// encode writes the record by hand: it is done once for each message, and
// encoding/json takes several times as long.
func (r *sqsRecord) encode() ([]byte, error) {
	const fixed = 512 // names, attributes of the usual number, punctuation
	b := make([]byte, 0, fixed+len(r.receiptHandle)+len(r.body)+len(r.body)/8)
	b = plainjson.AppendString(append(b, `{"messageId":`...), r.messageID)
	b = plainjson.AppendString(append(b, `,"receiptHandle":`...), r.receiptHandle)
	b = plainjson.AppendString(append(b, `,"body":`...), r.body)
	b = append(b, `,"attributes":{`...)
	names := make([]string, 0, 16) // on the stack
	for name := range r.attributes {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(plainjson.AppendString(b, name), ':')
		b = plainjson.AppendString(b, r.attributes[name])
	}
	b = append(b, `},"messageAttributes":`...)
	if len(r.messageAttributes) == 0 {
		b = append(b, `{}`...)
	} else {
		attributes, err := marshal(r.messageAttributes)
		if err != nil {
			return nil, err
		}
		b = append(b, attributes...)
	}
	if r.md5OfMessageAttributes != "" {
		b = plainjson.AppendString(append(b, `,"md5OfMessageAttributes":`...), r.md5OfMessageAttributes)
	}
	b = plainjson.AppendString(append(b, `,"md5OfBody":`...), r.md5OfBody)
	b = append(b, `,"eventSource":"aws:sqs"`...)
	b = plainjson.AppendString(append(b, `,"eventSourceARN":`...), r.arn)
	b = plainjson.AppendString(append(b, `,"awsRegion":`...), r.region)
	return append(b, '}'), nil
}

// marshal leaves HTML characters as they are, as Lambda does.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
