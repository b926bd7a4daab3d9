package sns

import (
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// envelope is the JSON that SNS writes, read by plainjson or by encoding/json.
type envelope struct {
	Type              string
	MessageID         string `json:"MessageId"`
	TopicARN          string `json:"TopicArn"`
	SequenceNumber    string
	Subject           string
	Message           *string
	Timestamp         string
	MessageAttributes map[string]jsonAttribute // by encoding/json only

	attributes map[string]batch.MessageAttribute // binary values still in base64
}

// jsonAttribute is batch.MessageAttribute as SNS names its fields.
type jsonAttribute struct {
	DataType    string `json:"Type"`
	StringValue string `json:"Value"`
	BinaryValue []byte `json:"-"`
}

func toAttributes(from map[string]jsonAttribute) map[string]batch.MessageAttribute {
	if len(from) == 0 {
		return nil
	}
	to := make(map[string]batch.MessageAttribute, len(from))
	for name, a := range from {
		to[name] = batch.MessageAttribute(a)
	}
	return to
}

// written reports whether SNS wrote it, whatever else is wrong with it.
func (e *envelope) written() bool {
	switch e.Type {
	case notification, subscription, unsubscription:
	default:
		return false
	}
	partition, arn := strings.CutPrefix(e.TopicARN, "arn:")
	_, topic, _ := strings.Cut(partition, ":")
	return arn && strings.HasPrefix(topic, "sns:") && e.MessageID != ""
}

// Member reads one of the members that SNS writes.
func (e *envelope) Member(s *plainjson.Scanner, name string) (ok bool) {
	switch name {
	case "Type":
		e.Type, ok = s.Text()
	case "MessageId":
		e.MessageID, ok = s.Text()
	case "TopicArn":
		e.TopicARN, ok = s.Text()
	case "SequenceNumber":
		e.SequenceNumber, ok = s.Text()
	case "Subject":
		e.Subject, ok = s.Text()
	case "Message":
		var text string
		text, ok = s.Text()
		e.Message = &text
	case "Timestamp":
		e.Timestamp, ok = s.Text()
	case "SignatureVersion", "Signature", "SigningCertURL", "UnsubscribeURL":
		_, ok = s.Text()
	case "MessageAttributes":
		if e.attributes == nil {
			e.attributes = make(map[string]batch.MessageAttribute)
		}
		ok = s.Object(attributes(e.attributes))
	}
	return ok
}

type attributes map[string]batch.MessageAttribute

// Member reads an attribute.
func (m attributes) Member(s *plainjson.Scanner, name string) bool {
	var a attribute
	ok := s.Object(&a)
	m[name] = batch.MessageAttribute(a)
	return ok
}

type attribute batch.MessageAttribute

// Member reads one of an attribute's two members.
func (a *attribute) Member(s *plainjson.Scanner, name string) (ok bool) {
	switch name {
	case "Type":
		a.DataType, ok = s.Text()
	case "Value":
		a.StringValue, ok = s.Text()
	}
	return ok
}
