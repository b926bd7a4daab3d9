package serve

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// rows formats events in the columns and colours of `sqsbatch local`: the time, the kind of
// event, the attempt, the queue, the message's id, the body, and a note.
type rows struct {
	term   view.Terminal
	queues int // width of the column of queues: the widest so far, up to widestQueue
	bodies int // width of the column of bodies: the widest so far, up to widestBody
}

const (
	clock       = "15:04:05.000"
	widestQueue = 24
	widestBody  = 40
)

// row returns an event as a line of text. A refused call contains text from the client.
func (r *rows) row(event any) string {
	switch e := event.(type) {
	case sqs.Event:
		body := ""
		if e.Kind != sqs.Purged {
			body = show.Body(e.Body)
		}
		r.bodies = min(widestBody, max(r.bodies, utf8.RuneCountInString(body)))
		head := r.head(e.Time, string(e.Kind), colourOf(e.Kind), e.ReceiveCount, e.Queue, e.MessageID)
		return r.term.Row(head, body, r.bodies, strings.Join(notes(e), ", "))
	case Refused:
		head := r.head(e.Ended.Local(), e.Type, view.Bad, 0, show.Body(e.Queue), "")
		return r.term.Row(head, e.Operation, len(e.Operation), e.Error+": "+show.Brief(e.Message, shownError))
	case Lost:
		head := r.head(e.Time.Local(), e.Type, view.Bad, 0, "", "")
		return r.term.Row(head, fmt.Sprintf("%d events: the output is too slow for them", e.Events), 0, "")
	}
	return fmt.Sprint(event)
}

// head returns the columns before the body. A narrow terminal does not show the id.
func (r *rows) head(at time.Time, kind, colour string, attempt int, queue, id string) string {
	try := ""
	if attempt > 0 {
		try = fmt.Sprintf("try %d", attempt)
	}
	r.queues = min(widestQueue, max(r.queues, utf8.RuneCountInString(queue)))
	head := r.term.Paint(view.Aside, at.Format(clock)) + "  " + r.term.Paint(colour, fmt.Sprintf("%-12s", kind)) + fmt.Sprintf("%-7s", try)
	if queue != "" {
		head += fmt.Sprintf("%-*s  ", r.queues, queue)
	}
	if id != "" && !r.term.Narrow() {
		head += shortID(id) + "  "
	}
	return head
}

// notes returns the other properties of an event.
func notes(e sqs.Event) (list []string) {
	if e.MessageGroupID != "" {
		list = append(list, "group "+show.Clean(e.MessageGroupID))
	}
	if e.Visibility > 0 {
		list = append(list, "hidden for "+e.Visibility.Round(time.Millisecond).String())
	}
	if e.DeadLetterQueue != "" {
		list = append(list, "to "+e.DeadLetterQueue)
	}
	if e.MovedTo != "" {
		list = append(list, "to "+e.MovedTo+" as "+shortID(e.NewMessageID))
	}
	return list
}

func colourOf(kind sqs.Kind) string {
	switch kind {
	case sqs.Deleted:
		return view.Good
	case sqs.Returned, sqs.Visibility, sqs.Moved, sqs.Duplicate:
		return view.Waiting
	case sqs.Redriven, sqs.Expired, sqs.Purged:
		return view.Bad
	default:
		return ""
	}
}

// shortID returns the start of a message's id, which is usually unique.
func shortID(id string) string { return id[:min(8, len(id))] }
