package sns

import (
	"encoding/base64"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
)

// envelope is the JSON that SNS writes.
type envelope struct {
	Type              string
	MessageID         string `json:"MessageId"`
	TopicARN          string `json:"TopicArn"`
	SequenceNumber    string
	Subject           string
	Message           *string
	Timestamp         string
	MessageAttributes map[string]attribute
}

type attribute struct{ Type, Value string }

// attributes returns what the publisher added, binary values decoded.
func (e *envelope) attributes() (map[string]batch.MessageAttribute, error) {
	if len(e.MessageAttributes) == 0 {
		return nil, nil
	}
	all := make(map[string]batch.MessageAttribute, len(e.MessageAttributes))
	for name, a := range e.MessageAttributes {
		to := batch.MessageAttribute{DataType: a.Type, StringValue: a.Value}
		if strings.HasPrefix(a.Type, "Binary") {
			value, err := base64.StdEncoding.DecodeString(a.Value)
			if err != nil {
				return nil, err
			}
			to.StringValue, to.BinaryValue = "", value
		}
		all[name] = to
	}
	return all, nil
}

// written reports whether SNS wrote it, even if something else is wrong with it.
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
