package checks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

var systemAttributeChecks = []Check{
	check("system-attributes/all", api("ReceiveMessage"),
		"All returns sender, times and receive count of every message.", func(e *env) {
			_, m := e.received()
			for _, name := range []string{"SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"} {
				if m.Attributes[name] == "" {
					e.fail("want %s among the system attributes, got %v", name, m.Attributes)
				}
			}
		}),
	check("system-attributes/sent", api("ReceiveMessage"),
		"SentTimestamp is when the message was sent, in milliseconds since 1970.", func(e *env) {
			q := e.queue()
			q.send("a")
			sent := time.UnixMilli(q.number(q.one(), "SentTimestamp"))
			if off := time.Since(sent).Abs(); off > time.Hour { // clocks differ; units differ more
				e.fail("SentTimestamp: want about %v, got %v", time.Now(), sent)
			}
		}),
	check("system-attributes/first-received", api("ReceiveMessage"),
		"ApproximateFirstReceiveTimestamp is when the message was first received, and later receives do not change it.", func(e *env) {
			q := e.queue()
			q.send("a")
			e.sleep(time.Second)
			first := q.one(hidden(1))
			at := q.number(first, "ApproximateFirstReceiveTimestamp")
			if after := at - q.number(first, "SentTimestamp"); after < 500 || after > 3_600_000 {
				e.fail("ApproximateFirstReceiveTimestamp: want about a second after SentTimestamp, got %d ms", after)
			}
			want(e, "ApproximateFirstReceiveTimestamp at the second receive", q.number(q.one(), "ApproximateFirstReceiveTimestamp"), at)
		}),
	check("system-attributes/receive-count", api("ReceiveMessage"),
		"ApproximateReceiveCount is the number of times that the message was received.", func(e *env) {
			q := e.queue()
			q.send("a")
			for n := int64(1); n <= 3; n++ {
				m := q.one()
				want(e, "ApproximateReceiveCount", q.number(m, "ApproximateReceiveCount"), n)
				e.must("ChangeMessageVisibility to 0", q.hide(m, 0))
			}
		}),
	check("system-attributes/fifo", api("ReceiveMessage"),
		"Messages of FIFO queues have group, deduplication id and the sequence number that the sender got.", func(e *env) {
			q := e.fifo()
			sent := q.send("a", inGroup("group-1"), withID("id-1"))
			m := q.one()
			want(e, "MessageGroupId", m.Attributes["MessageGroupId"], "group-1")
			want(e, "MessageDeduplicationId", m.Attributes["MessageDeduplicationId"], "id-1")
			want(e, "SequenceNumber", m.Attributes["SequenceNumber"], aws.ToString(sent.SequenceNumber))
		}),
}
