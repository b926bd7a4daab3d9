package partialfailure

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// OriginAttribute is the message attribute that sqsbatch adds to a message that it
// sends to the dead-letter queue: an [Origin] as JSON, of data type String. With
// its name and type it has at most 1 KB. A message that has it already, because it
// was moved back and failed again, gets the new one.
//
// It is left out, with a warning that has the record's id, where the message
// has ten other attributes or would exceed 1 MiB.
const OriginAttribute = "sqsbatch"

// Origin is where a dead letter came from, and why. Nothing in it is taken from
// the body, unless the error's own text quotes it.
type Origin struct {
	// Reason is the text of the handler's error, cut if it is long. A character
	// that SQS does not accept is U+FFFD.
	Reason string `json:"reason"`
	// MessageID is the id that the message had in its own queue, which is the one
	// in the log: the dead letter has a new id. Two messages in a standard
	// dead-letter queue may have the same, if SQS's answer to the first send was lost.
	MessageID string `json:"messageId"`
	// Attempts is how often the message had been received; 0 when unknown.
	Attempts int `json:"attempts"`
	// FirstReceived and FailedAt are in UTC; zero when unknown.
	FirstReceived time.Time `json:"firstReceived,omitzero"`
	FailedAt      time.Time `json:"failedAt,omitzero"`
	// Queue is the ARN of the queue that the message came from.
	Queue string `json:"queue,omitempty"`
	// By is [Config].Name.
	By string `json:"by,omitempty"`
}

// originVersion changes when a field's meaning does, not when one is added.
const originVersion = 1

// versioned is an Origin as it is written.
type versioned struct {
	Version int `json:"v"`
	Origin
}

// ParseOrigin reads the value of an [OriginAttribute]. It returns an error for a
// value that sqsbatch did not write, or that a version of it wrote which this one
// does not know.
func ParseOrigin(value string) (Origin, error) {
	var v versioned
	if err := json.Unmarshal([]byte(value), &v); err != nil {
		return Origin{}, fmt.Errorf("partialfailure: the attribute %s was not written by sqsbatch: %w", OriginAttribute, err)
	}
	if v.Version != originVersion {
		return Origin{}, fmt.Errorf("partialfailure: the attribute %s has version %d, must be %d: use the version of sqsbatch that wrote it",
			OriginAttribute, v.Version, originVersion)
	}
	return v.Origin, nil
}

// Value is o as the value of an [OriginAttribute], in at most room bytes: a long Reason
// is cut. It returns false where that is not enough.
func (o Origin) Value(room int) (value string, ok bool) {
	o.Reason, o.By = sqsText(o.Reason[:min(len(o.Reason), max(room, 0))]), sqsText(o.By)
	for {
		var text strings.Builder
		lines := json.NewEncoder(&text)
		lines.SetEscapeHTML(false)
		if err := lines.Encode(versioned{originVersion, o}); err != nil {
			return "", false // a time beyond the year 9999
		}
		value := strings.TrimSuffix(text.String(), "\n")
		over := len(value) - room
		if over <= 0 {
			return value, true
		}
		if o.Reason == "" {
			return "", false
		}
		// JSON makes at most two bytes of each: this never cuts too much.
		o.Reason = cut(o.Reason, len(o.Reason)-(over+1)/2)
	}
}

// sqsText is a text in the characters that SQS accepts, see SendMessage in the API
// reference, without other control characters.
func sqsText(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r >= ' ' && r != '\uFFFE' && r != '\uFFFF':
			return r
		default:
			return utf8.RuneError
		}
	}, text)
}

// cut is the beginning of a text, n bytes of it or, to end with a whole character,
// a few less.
func cut(text string, n int) string {
	for n = max(n, 0); n > 0 && !utf8.RuneStart(text[n]); n-- {
	}
	return text[:n]
}
