package partialfailure

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/internal/words"
)

// OriginAttribute is the message attribute that sqsbatch adds to a message that it sends to
// the dead-letter queue: an [Origin] as JSON, of data type String. With its name and type
// it takes at most 1 KB. If the message has one already, because it was redriven and failed
// again, the new one replaces it.
//
// The attribute is left out if the message has ten other attributes or would exceed 1 MiB.
// A warning then names the record's id.
const OriginAttribute = "sqsbatch"

// Origin describes where a dead letter came from, and why it failed. It contains nothing of
// the body, unless the text of the handler's error quotes it.
type Origin struct {
	// Reason is the text of the handler's error, shortened if it is long. Characters that
	// SQS does not accept are replaced by U+FFFD.
	Reason string `json:"reason"`
	// MessageID is the message's id in its source queue, which is the id in the log. The
	// dead letter itself has a new id. Two messages in a standard dead-letter queue may
	// have the same MessageID, if SQS's answer to the first send was lost.
	MessageID string `json:"messageId"`
	// Attempts is the number of receives of the message. 0 if it is not known.
	Attempts int `json:"attempts"`
	// FirstReceived and FailedAt are in UTC. Zero if they are not known.
	FirstReceived time.Time `json:"firstReceived,omitzero"`
	FailedAt      time.Time `json:"failedAt,omitzero"`
	// Queue is the ARN of the source queue.
	Queue string `json:"queue,omitempty"`
	// By is [Config].Name.
	By string `json:"by,omitempty"`
}

// originVersion changes if a field's meaning changes, not if a field is added.
const originVersion = 1

// versioned is the JSON form of an Origin.
type versioned struct {
	Version int `json:"v"`
	Origin
}

// ParseOrigin reads the value of an [OriginAttribute]. It returns an error if sqsbatch did
// not write the value, or if a newer version of sqsbatch wrote it.
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

// Value returns o as the value of an [OriginAttribute], in at most room bytes. A long
// Reason is shortened. Value returns false if room is still too small.
func (o Origin) Value(room int) (value string, ok bool) {
	o.Reason, o.By = sqsText(o.Reason[:min(len(o.Reason), max(room, 0))]), sqsText(o.By)
	for {
		var text strings.Builder
		lines := json.NewEncoder(&text)
		lines.SetEscapeHTML(false)
		if err := lines.Encode(versioned{originVersion, o}); err != nil {
			return "", false // FirstReceived or FailedAt is beyond the year 9999
		}
		value := strings.TrimSuffix(text.String(), "\n")
		over := len(value) - room
		if over <= 0 {
			return value, true
		}
		if o.Reason == "" {
			return "", false
		}
		// JSON takes at most two bytes for each of these bytes, so this never cuts too
		// much.
		o.Reason = words.Shorten(o.Reason, len(o.Reason)-(over+1)/2)
	}
}

// sqsText replaces the characters that SQS does not accept (see SendMessage in the API
// reference), and control characters.
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
