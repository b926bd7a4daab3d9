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

// rows shows events in the columns and colours of `sqsbatch local`: the time, what
// happened, the attempt, the queue, the message, its body, and a note.
type rows struct {
	term   view.Terminal
	queues int // the widest name of a queue so far, up to widestQueue
	bodies int // the widest body so far, up to widestBody
}

const (
	clock       = "15:04:05.000"
	widestQueue = 24
	widestBody  = 40
)

// row shows an event to a person. A refused call quotes what the client sent.
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

// head is what stands before the body. A narrow terminal does not show the id.
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

// notes are what else there is to say of an event.
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

// shortID is enough of a message's id to tell it from others by eye.
func shortID(id string) string { return id[:min(8, len(id))] }
