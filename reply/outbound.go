package reply

import (
	"container/list"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/sender"
)

// outbound is a cache of senders to reply queues. Anyone with permission to send requests can
// name any number of queues. Therefore the cost of a request does not depend on their number,
// and the number of unused senders is limited. An unused sender has no goroutine and no message.
type outbound struct {
	mu     sync.Mutex
	of     map[string]*outboundQueue // by ARN of the reply queue
	unused list.List                 // of *outboundQueue without users, longest unused first
	waits  bool                      // a request waits for a queue that does not exist yet
	noWait time.Time                 // no request waits before this time
}

// outboundQueue is the sender to a reply queue.
type outboundQueue struct {
	*sender.Sender
	queue  string        // the ARN
	users  int           // requests that are being answered
	last   time.Time     // end of the latest use
	unused *list.Element // nil while there are users
	noWait time.Time     // no request waits for this queue before this time
}

const (
	// idle is how long an unused sender is kept.
	idle = time.Minute
	// mostUnused is the largest number of unused senders.
	mostUnused = 1000
	// rest is the pause after a wait that did not help.
	rest = 10 * time.Second
)

// acquire returns the sender to a reply queue. open makes it, if there is none. Callers call
// release after the send.
func (o *outbound) acquire(queue string, open func() (*sender.Sender, error)) (*outboundQueue, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.of[queue]
	if q == nil {
		s, err := open()
		if err != nil {
			return nil, err
		}
		q = &outboundQueue{Sender: s, queue: queue}
		if o.of == nil {
			o.of = map[string]*outboundQueue{}
		}
		o.of[queue] = q
	}
	if q.unused != nil {
		o.unused.Remove(q.unused)
		q.unused = nil
	}
	q.users++
	return q, nil
}

// release ends a use of q, and drops senders that were unused for longer than idle, or that
// exceed mostUnused.
func (o *outbound) release(q *outboundQueue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if q.users--; q.users > 0 {
		return
	}
	q.last, q.unused = time.Now(), o.unused.PushBack(q)
	for {
		oldest := o.unused.Front().Value.(*outboundQueue)
		if o.unused.Len() <= mostUnused && time.Since(oldest.last) <= idle {
			return
		}
		o.unused.Remove(oldest.unused)
		delete(o.of, oldest.queue)
	}
}

// wait reports whether a request may wait for a queue that SQS does not find: the queue may be
// new. A wait takes a slot of the handler, so only one request waits at a time. After a wait
// that did not help, no request waits for 10 s, and none for that queue for a minute, so names
// of queues that do not exist do not delay other requests. Callers that may wait call waited.
func (o *outbound) wait(q *outboundQueue) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := time.Now(); o.waits || now.Before(o.noWait) || now.Before(q.noWait) {
		return false
	}
	o.waits = true
	return true
}

// waited ends a wait. helped is whether SQS found the queue.
func (o *outbound) waited(q *outboundQueue, helped bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waits = false; !helped {
		o.noWait, q.noWait = time.Now().Add(rest), time.Now().Add(idle)
	}
}
