package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/test/internal/harness"
	"github.com/sqsbatch/sqsbatch/test/internal/must"
)

// senderSlot is the network of package sender, after those of the workers.
const senderSlot = slots

// sending is what package sender did and said, if -sender is given.
type sending struct {
	queues  [2]*sender.Sender // standard and FIFO
	results []sent            // by message

	mu       sync.Mutex
	calls    int // of SendMessageBatch
	entries  int
	unsure   int // tries of a message that failed and may have sent it
	troubled int // calls that failed, or failed in part
}

// sent is the result of a message.
type sent struct {
	results, tries int
	err            error
}

// newSending makes the senders, whose network fails like a worker's.
func newSending(r *run) (*sending, error) {
	s := &sending{results: make([]sent, r.messages)}
	base := "http://" + r.fleet.networks[senderSlot].address()
	client := harness.SQSClient(base)
	for q, name := range mainQueues {
		var err error
		// A hang lasts for up to 9 s, so a call is given up before and made again.
		if s.queues[q], err = sender.New(client, sender.Config{Queue: base + account + name, CallTimeout: 2 * time.Second, OnCall: s.onCall}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *sending) onCall(c sender.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.entries += c.Entries
	if c.Failed > 0 {
		s.troubled++
	}
	switch {
	case c.Err == nil:
		s.unsure += c.Failed - c.Throttled
	case sqserror.Unsure(c.Err):
		s.unsure += c.Entries
	}
}

// send puts orders into the buffers of the senders, in their order.
func (s *sending) send(ctx context.Context, orders []order) error {
	for i := range orders {
		o := &orders[i]
		m, q := sender.Text(o.body()), 0
		if o.group != "" {
			q, m.Group, m.DeduplicationID = 1, o.group, strconv.Itoa(o.N)
		}
		if err := s.queues[q].Enqueue(ctx, m, func(r sender.Result) { s.note(o.N, r) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *sending) note(n int, r sender.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[n].results++
	s.results[n].tries, s.results[n].err = r.Tries, r.Err
}

func (s *sending) flush(ctx context.Context) error {
	return errors.Join(s.queues[0].Flush(ctx), s.queues[1].Flush(ctx))
}

// close sends what is left. Nothing goes wrong any more.
func (s *sending) close(ctx context.Context) error {
	for _, q := range s.queues {
		if left := q.Close(ctx); len(left) > 0 {
			return fmt.Errorf("%d messages were left by Close: %w", len(left), left[0].Err)
		}
	}
	return nil
}

// misbehaveToSenders injects the server's own faults into the sends.
func (s *server) misbehaveToSenders() error {
	var list []sqs.Fault
	for _, queue := range mainQueues {
		for _, f := range []sqs.Fault{
			{Kind: sqs.LostAnswer}, {Kind: sqs.Throttled}, {Kind: sqs.Failure}, {Kind: sqs.EntryFailure},
			{Kind: sqs.Failure, CarriedOut: true}, {Kind: sqs.EntryFailure, CarriedOut: true},
		} {
			f.Operation, f.Queue, f.Probability = "SendMessageBatch", queue, 0.02
			list = append(list, f)
		}
	}
	return s.state.Inject(list...)
}

// finishCopies waits until second copies have been handled, too.
func (r *run) finishCopies(ctx context.Context) {
	err := harness.Until(ctx, patience, func() error {
		if left := r.ledger.copiesLeft(); left > 0 {
			return fmt.Errorf("%d second copies are not deleted", left)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		r.violations.add("%v", err)
		err = errStuck
	}
	must.Do(err)
}

// judgeSending asks of every message whether the sender confirmed it once, whether the
// queue took it as often as the tries explain, and whether groups were sent in order.
func (r *run) judgeSending() {
	s, copies := r.sending, 0
	for n := range r.orders {
		got, m, group := s.results[n], &r.ledger.messages[n], r.orders[n].group
		switch {
		case got.results != 1:
			r.violations.add("message %d has %d results of the sender%s", n, got.results, r.timeline(n))
		case got.err != nil:
			r.violations.add("message %d was not sent: %v", n, got.err)
		case m.sent == 0:
			r.violations.add("message %d is LOST: the sender says that it was sent, and the queue never had it", n)
		case m.sent > 1 && group != "":
			r.violations.add("message %d of %s was taken %d times by the FIFO queue%s", n, group, m.sent, r.timeline(n))
		case m.sent > got.tries:
			r.violations.add("message %d was taken %d times by the queue, and %d calls had it%s", n, m.sent, got.tries, r.timeline(n))
		}
		copies += max(m.sent-1, 0)
	}
	if copies > s.unsure {
		r.violations.add("%d second copies, and %d tries failed that may have sent a message", copies, s.unsure)
	}
	latest := map[string]int{}
	for _, e := range r.ledger.events {
		group := r.orders[e.n].group
		if e.kind != sqs.Sent || group == "" {
			continue
		}
		if before, ok := latest[group]; ok && e.n < before {
			r.violations.add("message %d of %s was sent after message %d%s%s", e.n, group, before, r.timeline(before), r.timeline(e.n))
		}
		latest[group] = e.n
	}
}

func (r *run) reportSending() {
	s, copies, again, tries := r.sending, 0, 0, 0
	for n := range r.orders {
		copies += max(r.ledger.messages[n].sent-1, 0)
		tries = max(tries, s.results[n].tries)
		if s.results[n].tries > 1 {
			again++
		}
	}
	fmt.Printf("\n| package sender | |\n| --- | --- |\n| calls | %d, %.2f messages each |\n| of these failed, or in part | %d |\n", s.calls, float64(s.entries)/float64(max(s.calls, 1)), s.troubled)
	fmt.Printf("| messages that were tried again | %d, one of them %d times |\n| tries that failed and may have sent it | %d |\n| second copies on the standard queue | %d |\n", again, tries, s.unsure, copies)
}
