package lambda

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
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
	b = appendString(append(b, `{"messageId":`...), r.messageID)
	b = appendString(append(b, `,"receiptHandle":`...), r.receiptHandle)
	b = appendString(append(b, `,"body":`...), r.body)
	b = append(b, `,"attributes":{`...)
	for i, name := range slices.Sorted(maps.Keys(r.attributes)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = appendString(b, r.attributes[name])
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
		b = appendString(append(b, `,"md5OfMessageAttributes":`...), r.md5OfMessageAttributes)
	}
	b = appendString(append(b, `,"md5OfBody":`...), r.md5OfBody)
	b = append(b, `,"eventSource":"aws:sqs"`...)
	b = appendString(append(b, `,"eventSourceARN":`...), r.arn)
	b = appendString(append(b, `,"awsRegion":`...), r.region)
	return append(b, '}'), nil
}

// appendString appends a JSON string. What has nothing to escape is copied.
func appendString(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			quoted, _ := marshal(s) // strings cannot fail
			return append(b[:start], quoted...)
		}
	}
	return append(append(b, s...), '"')
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
