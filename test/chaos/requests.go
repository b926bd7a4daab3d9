package main

// maxRequests is what a message of phase A may cost on the standard queue: 0.2 by
// tens, and what the 2 % of failures take.
const maxRequests = 0.25

// judgeRequests holds phase A to that. A slow machine fills fewer calls: each
// worker may make ten calls a second of each of three kinds.
func (r *run) judgeRequests() {
	if r.began[stops].IsZero() {
		return // it has not come to its end, which another check reports
	}
	cost, took := r.requests(calm, standardName), r.began[stops].Sub(r.began[calm]).Seconds()
	allowed := 0.2 + slots*3*10*took/float64(r.sent(calm, standardName))
	if cost > max(maxRequests, allowed) {
		r.violations.add("%.3f requests a message of the standard queue in phase A, of which at most %.3f can be explained", cost, max(maxRequests, allowed))
	}
}

// sent is how many messages of a phase went to a queue.
func (r *run) sent(phase int, queue string) (n int) {
	for _, o := range r.of(phase) {
		if (o.group != "") == (queue == fifoName) {
			n++
		}
	}
	return n
}

// requests is how many calls a message of a phase cost, to its queue.
func (r *run) requests(phase int, queue string) float64 {
	calls := 0
	for i := range r.ledger.calls {
		c := &r.ledger.calls[i]
		if c.queue == queue && !c.began.Before(r.began[phase]) && c.began.Before(r.began[phase+1]) {
			calls++
		}
	}
	return float64(calls) / float64(max(1, r.sent(phase, queue)))
}
