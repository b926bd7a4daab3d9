package letter

import (
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
	"github.com/sqsbatch/sqsbatch/partialfailure"
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
