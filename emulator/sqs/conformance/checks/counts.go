package checks

import (
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
)

var countChecks = []Check{
	check("counts/visible", api("GetQueueAttributes"),
		"ApproximateNumberOfMessages counts what can be received.", func(e *env) {
			q := e.queue()
			for range 3 {
				q.send("a")
			}
			q.counts(3, 0, 0)
		}),
	check("counts/in-flight", api("GetQueueAttributes"),
		"ApproximateNumberOfMessagesNotVisible counts what was received and is neither deleted nor visible again.", func(e *env) {
			q := e.queue("VisibilityTimeout", "600")
			for range 3 {
				q.send("a")
			}
			m := q.take(2)
			q.counts(1, 2, 0)
			e.must("DeleteMessage", q.delete(m[0]))
			q.counts(1, 1, 0)
			e.must("ChangeMessageVisibility to 0", q.hide(m[1], 0))
			q.counts(2, 0, 0)
		}),
	check("counts/delayed", api("GetQueueAttributes"),
		"ApproximateNumberOfMessagesDelayed counts what was sent with a delay that is not over.", func(e *env) {
			q := e.queue()
			q.send("now")
			q.send("later", func(in *awssqs.SendMessageInput) { in.DelaySeconds = 900 })
			q.counts(1, 0, 1)
		}),
	check("counts/empty", api("GetQueueAttributes"),
		"All includes the three counts, also of an empty queue.", func(e *env) {
			got := e.queue().attributes()
			for _, name := range []string{"", "Delayed", "NotVisible"} {
				want(e, "ApproximateNumberOfMessages"+name, got["ApproximateNumberOfMessages"+name], "0")
			}
		}),
}
