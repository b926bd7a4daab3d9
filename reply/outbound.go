package reply

import (
	"container/list"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/sender"
)

// outbound has the senders of reply queues. Anyone who may send requests can name any number
// of queues. Therefore a request costs the same however many there are, and senders without
// use are bounded. They have no goroutine and no message.
type outbound struct {
	mu     sync.Mutex
	of     map[string]*outboundQueue // by the ARN of the reply queue
	unused list.List                 // the values of of without users, the longest unused first
	waits  bool                      // a request waits for a queue that is not there
	noWait time.Time                 // until when no request waits
}

// outboundQueue is the sender of a reply queue.
type outboundQueue struct {
	*sender.Sender
	queue  string
	users  int           // requests that are being answered
	last   time.Time     // when there was one
	unused *list.Element // nil while there are users
	noWait time.Time     // until when no request waits for it: it is not there
}

const (
	// idle is how long the sender of a reply queue is kept without use.
	idle = time.Minute
	// mostUnused is how many senders are kept without use.
	mostUnused = 1000
	// rest is how long no request waits for any queue after a wait that did not help.
	rest = 10 * time.Second
)

// take returns the sender of a reply queue. open makes it, if there is none. The caller calls
// giveBack when it has sent.
func (o *outbound) take(queue string, open func() (*sender.Sender, error)) (*outboundQueue, error) {
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

func (o *outbound) giveBack(q *outboundQueue) {
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

// wait reports whether a request may wait for a queue that SQS does not know, since it may be
// new. Waiting holds a slot, so only one request waits at a time. After a wait that did not
// help, none waits for 10 s, and none for that queue for a minute: a sender that names queues
// that do not exist holds up nobody else. The caller calls waited if it may wait.
func (o *outbound) wait(q *outboundQueue) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := time.Now(); o.waits || now.Before(o.noWait) || now.Before(q.noWait) {
		return false
	}
	o.waits = true
	return true
}

// waited ends a wait, and notes whether it has helped.
func (o *outbound) waited(q *outboundQueue, helped bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waits = false; !helped {
		o.noWait, q.noWait = time.Now().Add(rest), time.Now().Add(idle)
	}
}
