package eventbridge

import (
	"encoding/json"
	"time"

	"github.com/sqsbatch/sqsbatch/internal/jsonbody"
	"github.com/sqsbatch/sqsbatch/internal/plainjson"
)

// envelope is the JSON that EventBridge writes, read by plainjson or by
// encoding/json.
type envelope struct {
	Version    string   `json:"version"`
	ID         string   `json:"id"`
	DetailType string   `json:"detail-type"`
	Source     string   `json:"source"`
	Account    string   `json:"account"`
	Time       string   `json:"time"`
	Region     string   `json:"region"`
	Resources  []string `json:"resources"`
	Detail     text     `json:"detail"`

	time time.Time
}

// text is JSON that is not decoded yet.
type text string

// UnmarshalJSON keeps the JSON.
func (t *text) UnmarshalJSON(b []byte) error {
	*t = text(b)
	return nil
}

// Member reads one of the members that EventBridge writes.
func (e *envelope) Member(s *plainjson.Scanner, name string) (ok bool) {
	switch name {
	case "version":
		e.Version, ok = s.Text()
	case "id":
		e.ID, ok = s.Text()
	case "detail-type":
		e.DetailType, ok = s.Text()
	case "source":
		e.Source, ok = s.Text()
	case "account":
		e.Account, ok = s.Text()
	case "time":
		e.Time, ok = s.Text()
	case "region":
		e.Region, ok = s.Text()
	case "resources":
		ok = s.Texts(&e.Resources)
	case "replay-name": // of events from an archive
		_, ok = s.Text()
	case "detail":
		var value string
		value, ok = s.Value()
		e.Detail = text(value)
		ok = ok && json.Valid([]byte(value))
	}
	return ok
}

// open reads an event, or says what is wrong with it.
func open(body string) (e *envelope, reason string, err error) {
	e = new(envelope)
	if !plainjson.NewScanner(body).Whole(e) {
		e = new(envelope)
		if err := json.Unmarshal([]byte(body), e); err != nil {
			return nil, jsonbody.Where(body, e), err
		}
	}
	const transformed = ": it is no event of EventBridge, or the rule has an input transformer, whose output is for batch.JSON"
	switch {
	case e.Source == "":
		return nil, "the event has no source" + transformed, nil
	case e.DetailType == "":
		return nil, "the event has no detail-type" + transformed, nil
	case e.Detail == "" || e.Detail == "null":
		return nil, "the event has no detail" + transformed, nil
	}
	if e.Time != "" {
		if e.time, err = time.Parse(time.RFC3339, e.Time); err != nil {
			return nil, "the event's time is no time", err
		}
	}
	return e, "", nil
}
