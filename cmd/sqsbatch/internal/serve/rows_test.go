package serve

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/golden"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

var shownEvents = []any{
	sqs.Event{Kind: sqs.Sent, Queue: "orders.fifo", MessageID: "0123456789", MessageGroupID: "customer-7", Body: `{"id":"o-1","sku":"ok","quantity":1}`},
	sqs.Event{Kind: sqs.Received, Queue: "orders.fifo", MessageID: "0123456789", MessageGroupID: "customer-7", ReceiveCount: 2, Visibility: 90 * time.Second, Body: `{"id":"o-1","sku":"ok","quantity":1}`},
	sqs.Event{Kind: sqs.Redriven, Queue: "orders.fifo", MessageID: "0123456789", ReceiveCount: 2, DeadLetterQueue: "dead.fifo", Body: "plain"},
	sqs.Event{Kind: sqs.Deleted, Queue: "orders.fifo", MessageID: "0123456789", ReceiveCount: 1, Body: "plain"},
	sqs.Event{Kind: sqs.Purged, Queue: "orders.fifo"},
	Refused{"refused", sqs.Call{Operation: "SendMessage", Queue: "order", Error: "AWS.SimpleQueueService.NonExistentQueue", Message: "The specified queue does not exist."}},
	Refused{"refused", sqs.Call{Operation: "CreateQueue", Queue: "a\nb", Error: "InvalidParameterValue", Message: "Can only include alphanumeric characters"}},
	sqs.Event{Kind: sqs.Moved, Queue: "dead.fifo", MessageID: "0123456789", Body: "plain", MovedTo: "orders.fifo", NewMessageID: "abcdefghij"}, // a new message
	Lost{"lost", time.Time{}, 7},
}

// Rows fit the terminal, and no word of a note is cut.
func TestRows_FitTheTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		rows := rows{term: view.Terminal{Width: func() int { return width }}}
		text := ""
		for _, e := range shownEvents {
			text += rows.row(e) + "\n"
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns instead of %d: %s", n, width, line)
			}
		}
		words := strings.Join(strings.Fields(text), " ")
		golden.Says(t, fmt.Sprint(width, " columns"), words, "group customer-7, hidden for 1m30s", "to dead.fifo", "to orders.fifo as abcdefgh",
			"order SendMessage AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist.", "a b CreateQueue InvalidParameterValue: Can only include")
	}
}

// The colours are the same as in `sqsbatch local`.
func TestRows_HaveColours(t *testing.T) {
	rows := rows{term: view.Terminal{Colour: true}}
	var text strings.Builder
	for _, e := range shownEvents {
		fmt.Fprintln(show.To(&text), rows.row(e))
	}
	golden.Says(t, "the output", text.String(), "\x1b[31mredriven    \x1b[0m", "\x1b[32mdeleted     \x1b[0m", "\x1b[31mrefused     \x1b[0m", "\x1b[2mto dead.fifo\x1b[0m")
}
