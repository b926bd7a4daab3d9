package partialfailure

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/sqsbatch/sqsbatch/batch"
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

const (
	maxAttributes = 10
	// maxOrigin is the most that an Origin adds to a message: name, type and value.
	maxOrigin  = 1024
	originType = "String"
)

var (
	errTenAttributes = errors.New("the message has ten attributes")
	errNoRoom        = errors.New("the message would exceed 1 MiB")
)

// origin returns the attribute for a failure, or why the message cannot have it.
func (s *Settler) origin(r *batch.Result) (none types.MessageAttributeValue, err error) {
	record := r.Record
	attributes, size := len(record.MessageAttributes), messageSize(record)
	if a, redriven := record.MessageAttributes[OriginAttribute]; redriven {
		attributes, size = attributes-1, size-attributeSize(OriginAttribute, a)
	}
	if attributes >= maxAttributes {
		return none, errTenAttributes
	}
	room := min(maxOrigin, maxPayload-size) - len(OriginAttribute) - len(originType)
	o := versioned{originVersion, Origin{
		Reason:        reasonText(r.Err),
		MessageID:     record.MessageID,
		Attempts:      record.Attempt,
		FirstReceived: record.FirstReceivedAt.UTC(),
		Queue:         record.QueueARN,
		By:            sqsText(s.cfg.Name),
	}}
	if !r.Started.IsZero() {
		o.FailedAt = r.Started.Add(r.Duration).UTC().Truncate(time.Millisecond)
	}
	for {
		var text strings.Builder
		lines := json.NewEncoder(&text)
		lines.SetEscapeHTML(false)
		if err := lines.Encode(o); err != nil {
			return none, err
		}
		value := strings.TrimSuffix(text.String(), "\n")
		over := len(value) - room
		if over <= 0 {
			return types.MessageAttributeValue{DataType: aws.String(originType), StringValue: &value}, nil
		}
		if o.Reason == "" {
			return none, errNoRoom
		}
		// JSON makes at most two bytes of each: this never cuts too much.
		o.Reason = cut(o.Reason, len(o.Reason)-(over+1)/2)
	}
}

// warnOrigins warns of dead letters that do not say where they came from.
func (st *Settlement) warnOrigins(results []batch.Result) {
	for i := range results {
		r := &results[i]
		if r.Outcome != batch.DeadLettered {
			continue
		}
		if _, err := st.origin(r); err != nil {
			st.warn(results, batch.Warning{
				MessageID: r.Record.MessageID,
				Message:   fmt.Sprintf("the record's dead letter has no attribute %s, so that only its body tells which record it was", OriginAttribute),
				Err:       err,
			})
		}
	}
}

func reasonText(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	return sqsText(text[:min(len(text), 2*maxOrigin)]) // more is cut in any case
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
