package simulate

import (
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
)

// alone: Alone, of both modes.
func (c *checker) alone() {
	until := map[string]time.Time{} // by receipt handle
	for _, e := range c.Events {
		d := c.deliveries[e.ReceiptHandle]
		switch {
		case d == nil || c.repeats(d.queue):
		case e.Kind == sqs.Received:
			until[e.ReceiptHandle] = e.At.Add(e.Visibility)
		case e.Kind == sqs.Visibility:
			shows := e.At.Add(e.Visibility)
			if len(d.handlings) > 0 && d.handlings[0].Started.Before(e.Moment) && !d.handlings[0].Ended.Before(e.Moment) &&
				shows.Before(until[e.ReceiptHandle].Add(-time.Second)) {
				c.violated(Alone, e.Moment, "%v is shown after %v, instead of %v, while its handler is at work",
					d.story, e.Visibility, until[e.ReceiptHandle].Sub(e.At))
			}
			until[e.ReceiptHandle] = shows
		}
	}
}
