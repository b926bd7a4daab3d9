package eventbridge

import (
	"encoding/json"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
)

// envelope is the JSON that EventBridge writes.
type envelope struct {
	events.EventBridgeEvent
	Time string `json:"time"` // may be empty
}

// open reads an event, or says what is wrong with it.
func open(body string) (event *events.EventBridgeEvent, reason string, err error) {
	e := new(envelope)
	if err := json.Unmarshal([]byte(body), e); err != nil {
		return nil, jsonbody.Where(body, e), err
	}
	const transformed = ": it is not an event of EventBridge, or the rule has an input transformer, whose output is for batch.JSON"
	switch {
	case e.Source == "":
		return nil, "the event has no source" + transformed, nil
	case e.DetailType == "":
		return nil, "the event has no detail-type" + transformed, nil
	case len(e.Detail) == 0 || string(e.Detail) == "null":
		return nil, "the event has no detail" + transformed, nil
	}
	if e.Time != "" {
		if e.EventBridgeEvent.Time, err = time.Parse(time.RFC3339, e.Time); err != nil {
			return nil, "the event's time is not a valid time", err
		}
	}
	return &e.EventBridgeEvent, "", nil
}
