package letter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/envelope/eventbridge"
	"github.com/sqsbatch/sqsbatch/envelope/sns"
	"github.com/sqsbatch/sqsbatch/internal/s3body"
	"github.com/sqsbatch/sqsbatch/partialfailure"
	"github.com/sqsbatch/sqsbatch/payload/encoded"
)

// shownBytes is how much is shown of a binary attribute.
const shownBytes = 16

// Show writes a letter for people: what SQS and sqsbatch say about it, its attributes, and its
// body. JSON is indented, and the envelopes of SNS and EventBridge and compressed bodies are
// opened. An empty line ends it. A body in S3 is not fetched. No text of the letter controls the terminal. t says what
// w can do.
func Show(w io.Writer, l *Letter, now time.Time, t view.Terminal) error {
	var out strings.Builder
	s := shower{&out, t}
	s.rows("", l.header(now))
	s.attributes(l)
	body, envelopes, note := l.open()
	for _, e := range envelopes {
		s.title(e.kind)
		s.rows("  ", e.details)
	}
	s.title(fmt.Sprintf("body, %s", show.Count(len(body), "byte")))
	if note != "" {
		out.WriteString("  " + t.Paint(view.Waiting, show.Clean(note)) + "\n")
	}
	for line := range strings.Lines(pretty(body)) {
		out.WriteString("  " + show.Clean(strings.TrimRight(line, "\r\n")) + "\n")
	}
	out.WriteByte('\n')
	_, err := io.WriteString(w, out.String())
	return err
}

// header says what is known of a letter.
func (l *Letter) header(now time.Time) [][2]string {
	rows := [][2]string{
		{"message", l.ID},
		{"from", l.SourceARN()},
		{"sent", ago(l.Sent, now)},
		{"first received", ago(l.FirstReceived, now)},
	}
	if l.Attempt > 0 {
		rows = append(rows, [2]string{"receives", fmt.Sprint(l.Attempt)})
	}
	rows = append(rows, [][2]string{
		{"group", l.GroupID}, {"deduplication", l.DeduplicationID}, {"trace", l.TraceHeader},
	}...)
	if o := l.origin(); o != nil {
		failed := ago(o.FailedAt, now)
		if o.Attempts > 0 {
			failed = strings.TrimSpace(failed + " after " + show.Count(o.Attempts, "attempt"))
		}
		rows = append(rows, [][2]string{{"reason", o.Reason}, {"failed", failed}, {"in", o.By}, {"original id", o.MessageID}}...)
	}
	return rows
}

// ago is a time and how long ago it was, "" if it is zero.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s (%s ago)", moments(t), age(now.Sub(t)))
}

type shower struct {
	out *strings.Builder
	t   view.Terminal
}

func (s shower) title(text string) { s.out.WriteString("\n" + s.t.Paint(view.Aside, text) + "\n") }

// rows writes names and values in two columns, without the empty values.
func (s shower) rows(indent string, rows [][2]string) {
	rows = slices.DeleteFunc(rows, func(row [2]string) bool { return row[1] == "" })
	width := 0
	for i := range rows {
		rows[i][0] = show.Clean(rows[i][0])
		width = max(width, utf8.RuneCountInString(rows[i][0]))
	}
	for _, row := range rows {
		gap := strings.Repeat(" ", width-utf8.RuneCountInString(row[0])+2)
		value := show.Clean(row[1])
		if row[0] == "reason" && indent == "" {
			value = s.t.Paint(view.Bad, value)
		}
		s.out.WriteString(indent + s.t.Paint(view.Aside, row[0]) + gap + value + "\n")
	}
}

// attributes shows all attributes but that of sqsbatch, which the header has.
func (s shower) attributes(l *Letter) {
	var rows [][2]string
	for _, name := range slices.Sorted(maps.Keys(l.Attributes)) {
		if name != partialfailure.OriginAttribute || l.origin() == nil {
			rows = append(rows, [2]string{name, attributeText(l.Attributes[name])})
		}
	}
	if len(rows) > 0 {
		s.title("attributes")
		s.rows("  ", rows)
	}
}

// attributeText is an attribute's value, with its type unless that is String.
func attributeText(a batch.MessageAttribute) string {
	switch {
	case kindOf(a.DataType) == "Binary":
		return fmt.Sprintf("%s of %s: %s", a.DataType, show.Count(len(a.BinaryValue), "byte"), hexOf(a.BinaryValue, shownBytes))
	case a.DataType == "String":
		return a.StringValue
	default:
		return a.StringValue + " (" + a.DataType + ")"
	}
}

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
	if p, found, _ := s3body.PointerOf(&batch.Record{Body: r.Body}); found {
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
