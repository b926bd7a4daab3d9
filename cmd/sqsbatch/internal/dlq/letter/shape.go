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

// object is what the shape of a JSON object depends on: the members of SNS's envelopes (Amazon SNS
// Developer Guide, "HTTP/HTTPS notification JSON format"), of EventBridge's and of notifications of
// S3. A member of another type is left out.
type object struct {
	TopicARN   string  `json:"TopicArn"`
	MessageID  *string `json:"MessageId"`
	Message    *string
	DetailType string  `json:"detail-type"`
	Source     *string `json:"source"`
	Detail     any     `json:"detail"`
	Event      string
	Records    []struct {
		EventSource string `json:"eventSource"`
	}
}

func objectShape(text string, depth int) string {
	var o object
	_ = json.Unmarshal([]byte(text), &o) // it is an object
	switch {
	case o.TopicARN != "" && o.MessageID != nil && o.Message != nil && depth > 0:
		return "SNS " + nameIn(o.TopicARN[strings.LastIndexByte(o.TopicARN, ':')+1:]) + " " + shape(*o.Message, depth-1)
	case o.DetailType != "" && o.Source != nil && o.Detail != nil:
		return "EventBridge " + nameIn(o.DetailType)
	case o.Event == "s3:TestEvent", len(o.Records) > 0 && o.Records[0].EventSource == "aws:s3":
		return "S3 notification"
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal([]byte(text), &members)
	keys := slices.Sorted(maps.Keys(members))
	for i, key := range keys {
		keys[i] = show.Clean(key)
	}
	return "{" + show.Fit(strings.Join(keys, ","), shapeWidth) + "}"
}

// nameIn is a name from a body, fit to be part of a shape.
func nameIn(name string) string { return show.Fit(show.Clean(name), shapeWidth) }
