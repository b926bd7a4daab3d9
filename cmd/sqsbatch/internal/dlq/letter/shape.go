package letter

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/internal/s3body"
)

// shapeWidth is how long a list of keys or a name in a shape may be.
const shapeWidth = 60

// Shape describes what a body is, without its values: its keys "{customer,id,items}", the
// sender and content of an envelope "SNS orders {id}", "EventBridge OrderPlaced",
// "S3 notification", "body in S3", "JSON array", "JSON number", "text" or "empty".
func Shape(body string) string { return shape(body, 3) }

// shape opens at most depth envelopes.
func shape(body string, depth int) string {
	text := strings.TrimSpace(body)
	switch {
	case text == "":
		return "empty"
	case !json.Valid([]byte(text)):
		return "text"
	}
	switch text[0] {
	case '{':
		return objectShape(text, depth)
	case '[':
		if _, found, _ := s3body.PointerOf(&batch.Record{Body: text}); found {
			return "body in S3"
		}
		return "JSON array"
	case '"':
		return "JSON string"
	case 't', 'f':
		return "JSON boolean"
	case 'n':
		return "JSON null"
	default:
		return "JSON number"
	}
}

func objectShape(text string, depth int) string {
	var object map[string]json.RawMessage
	_ = json.Unmarshal([]byte(text), &object) // it is an object
	if topic, message, ok := notificationOf(object); ok && depth > 0 {
		return "SNS " + nameIn(topic) + " " + shape(message, depth-1)
	}
	if detailType, ok := texts(object, "detail-type", "source"); ok && object["detail"] != nil {
		return "EventBridge " + nameIn(detailType)
	}
	if isS3Notification(object) {
		return "S3 notification"
	}
	keys := slices.Sorted(maps.Keys(object))
	for i, key := range keys {
		keys[i] = show.Clean(key)
	}
	return "{" + show.Fit(strings.Join(keys, ","), shapeWidth) + "}"
}

// nameIn is a name from a body, fit to be part of a shape.
func nameIn(name string) string { return show.Fit(show.Clean(name), shapeWidth) }

// notificationOf returns the topic's name and the message of an SNS envelope (Amazon SNS
// Developer Guide, "HTTP/HTTPS notification JSON format").
func notificationOf(object map[string]json.RawMessage) (topic, message string, ok bool) {
	arn, ok := texts(object, "TopicArn", "MessageId")
	if !ok || json.Unmarshal(object["Message"], &message) != nil {
		return "", "", false
	}
	return arn[strings.LastIndexByte(arn, ':')+1:], message, true
}

// texts returns the member that is named first, if that and the other one are strings.
func texts(object map[string]json.RawMessage, name, other string) (text string, ok bool) {
	var second string
	return text, json.Unmarshal(object[name], &text) == nil && json.Unmarshal(object[other], &second) == nil && text != ""
}

func isS3Notification(object map[string]json.RawMessage) bool {
	if event, ok := texts(object, "Event", "Service"); ok {
		return event == "s3:TestEvent"
	}
	var records []struct {
		EventSource string `json:"eventSource"`
	}
	return json.Unmarshal(object["Records"], &records) == nil && len(records) > 0 && records[0].EventSource == "aws:s3"
}
