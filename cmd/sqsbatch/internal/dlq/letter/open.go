package letter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
)

// maxOpened is how many envelopes are opened of a body.
const maxOpened = 5

// An envelope is a wrapping of a body that was opened.
type envelope struct {
	kind    string // "SNS notification"
	details [][2]string
}

// open returns a letter's innermost body, and the envelopes around it, the outermost one
// first. note says why the body could not be opened further, or where it is stored.
func (l *Letter) open() (body string, envelopes []envelope, note string) {
	r := batch.Record{MessageID: l.ID, Body: l.Body, MessageAttributes: l.Attributes}
	for len(envelopes) < maxOpened {
		inner, e, err := openOne(r)
		if err != nil {
			return r.Body, envelopes, "it cannot be opened: " + reasonOf(err)
		}
		if e.kind == "" {
			break
		}
		envelopes = append(envelopes, e)
		r = inner
	}
	if p, ok := pointerOf(r.Body); ok {
		note = fmt.Sprintf("the body is stored in S3, in s3://%s/%s; it was not fetched", p.Bucket, p.Key)
	}
	return r.Body, envelopes, note
}

// openOne opens the outermost envelope. Without one, its kind is "".
func openOne(r batch.Record) (inner batch.Record, e envelope, err error) {
	var inside context.Context
	capture := batch.HandlerFunc(func(ctx context.Context, opened batch.Record) error {
		inside, inner = ctx, opened
		return nil
	})
	if coding, ok := r.MessageAttributes[encoded.Attribute]; ok {
		err := encoded.Unwrap(capture).Handle(context.Background(), r)
		return inner, envelope{kind: "encoded body", details: [][2]string{{encoded.Attribute, coding.StringValue}}}, err
	}
	if err := sns.Unwrap(capture).Handle(context.Background(), r); err != nil {
		return inner, e, err
	}
	if n, ok := sns.From(inside); ok {
		return inner, notificationEnvelope(n, r, inner), nil
	}
	if !strings.HasPrefix(Shape(r.Body), "EventBridge ") {
		return r, envelope{}, nil
	}
	if err := eventbridge.Unwrap(capture).Handle(context.Background(), r); err != nil {
		return inner, e, err
	}
	event, _ := eventbridge.From(inside)
	return inner, envelope{kind: "EventBridge event", details: [][2]string{
		{"type", event.DetailType}, {"source", event.Source}, {"id", event.ID}, {"time", moments(event.Time)},
		{"account", event.AccountID}, {"region", event.Region}, {"resources", strings.Join(event.Resources, ", ")},
	}}, nil
}

// notificationEnvelope describes an envelope of SNS, with the publisher's attributes.
func notificationEnvelope(n sns.Notification, outer, inner batch.Record) envelope {
	details := [][2]string{
		{"topic", n.TopicARN}, {"subject", n.Subject}, {"id", n.MessageID},
		{"published", moments(n.Timestamp)}, {"sequence", n.SequenceNumber},
	}
	for _, name := range slices.Sorted(maps.Keys(inner.MessageAttributes)) {
		a := inner.MessageAttributes[name]
		if _, ofMessage := outer.MessageAttributes[name]; !ofMessage {
			details = append(details, [2]string{"attribute " + name, attributeText(a)})
		}
	}
	return envelope{kind: "SNS notification", details: details}
}

// reasonOf is why an envelope is malformed.
func reasonOf(err error) string {
	if malformed, is := errors.AsType[*batch.MalformedError](err); is {
		return malformed.Reason
	}
	return err.Error()
}

// moments is a time in UTC, "" if it is zero.
func moments(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}
