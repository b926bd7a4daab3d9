package serve

import (
	"fmt"
	"io"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// shownError is how many characters of an error's message a line shows.
const shownError = 300

// refused reports whether a call was answered with an error. One whose client
// left, as that of a long poll may, was not.
func refused(c sqs.Call) bool { return c.Error != "" && c.Error != "no answer" }

// textRefusal writes a line for a person. Errors stay in the writer, for Flush.
// Queue and message are, or quote, what the client sent.
func textRefusal(w io.Writer, c sqs.Call) {
	queue := ""
	if c.Queue != "" {
		queue = show.Brief(c.Queue, len(c.Queue)) + "  "
	}
	_, _ = fmt.Fprintf(w, "%s  %-10s  %s%s  %s: %s\n",
		c.Ended.Format("15:04:05.000"), "refused", queue, c.Operation, c.Error, show.Brief(c.Message, shownError))
}

// jsonRefusal writes a line for a program.
func jsonRefusal(w io.Writer, c sqs.Call) {
	jsonLine(w, struct {
		Type      string    `json:"type"`
		Time      time.Time `json:"time"`
		Operation string    `json:"operation"`
		Queue     string    `json:"queue,omitempty"`
		Code      string    `json:"code"`
		Message   string    `json:"message"`
	}{"refused", c.Ended.UTC(), c.Operation, c.Queue, c.Error, c.Message})
}
