package dlq

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/show"
	"github.com/sqsbatch/sqsbatch/cmd/sqsbatch/internal/view"
	"github.com/sqsbatch/sqsbatch/internal/sleep"
)

// A status shows how far a run is: on a terminal in a line that is drawn again, else in a
// line every ten seconds.
type status struct {
	out     *view.Text
	redraws bool
	stop    func() // nil unless it is shown
}

func newStatus(w io.Writer, t view.Terminal) *status {
	return &status{out: view.NewText(w, t), redraws: t.Redraw}
}

// say writes lines above the status, as they are: a difference may be among them.
func (s *status) say(format string, args ...any) { s.out.Raw(fmt.Sprintf(format, args...)) }

const (
	redrawEvery = 200 * time.Millisecond
	printEvery  = 10 * time.Second
)

// begin shows what report returns until end is called. done and total are for the bar and
// the time that is left; total is 0 if it is not known.
func (s *status) begin(report func() (done, total int, text string)) {
	every, show := printEvery, s.out.Say
	if s.redraws {
		every, show = redrawEvery, s.out.Status
	}
	ctx, cancel := context.WithCancel(context.Background())
	began := time.Now()
	var showing sync.WaitGroup
	showing.Go(func() {
		for sleep.For(ctx, every) {
			done, total, text := report()
			show(line(done, total, time.Since(began), text))
		}
	})
	s.stop = func() { cancel(); showing.Wait() }
}

// end takes the status away.
func (s *status) end() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
		s.out.Status("")
	}
}

// barWidth is that of the bar without its frame.
const barWidth = 20

// line is the status in one line: a bar, what was done, the rate, and the time that is
// left.
func line(done, total int, elapsed time.Duration, text string) string {
	rate := float64(done) / elapsed.Seconds()
	var b strings.Builder
	if total > 0 {
		full := min(barWidth, barWidth*done/total)
		fmt.Fprintf(&b, "[%s%s] %3d%%  ", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), min(100, 100*done/total))
	}
	fmt.Fprintf(&b, "%s  %.0f/s", text, rate)
	if left := total - done; left > 0 && rate > 0 {
		fmt.Fprintf(&b, "  about %s left", short(time.Duration(float64(left)/rate*float64(time.Second))))
	}
	return b.String()
}

// short is a duration in whole seconds.
func short(d time.Duration) string {
	if d < time.Second {
		return "1s"
	}
	text := d.Round(time.Second).String()
	if d >= time.Minute {
		text = strings.TrimSuffix(text, "0s")
		if !strings.HasSuffix(text, "m") && !strings.HasSuffix(text, "s") {
			text += "0s"
		}
	}
	return text
}

// count is a number of messages.
func count(n int) string {
	if n == 1 {
		return "1 message"
	}
	return show.Number(n) + " messages"
}
