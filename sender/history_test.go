package sender_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// Producers send while calls fail in every way, contexts end and the sender is closed. Each
// message gets one result, the queue has what the results say, and the promises of the
// package's documentation are kept:
//
//   - a message that was confirmed is in the queue, under the id of its result,
//   - it is there more than once only on a standard queue, and at most once for each try
//     that may have sent it: one without an answer, or with an error of the service,
//   - the messages of a FIFO group are in order, and one at a time is in flight,
//   - no message of a FIFO queue is tried later than five minutes after a try that may have
//     sent it,
//   - messages that waited behind a failed one of their group are not sent,
//   - Close returns the messages that it gave up, and no call begins after it,
//   - the buffer keeps to its limits, in messages and in bytes, and so do calls in flight.
func TestHistories(t *testing.T) {
	random.Histories{Few: 10, Many: 60, Expect: happenings, Enough: 600, Run: func(t *testing.T, seed uint64, seen random.Seen) {
		synctest.Test(t, func(t *testing.T) {
			h := newHistory(t, seed)
			defer h.server.Close()
			h.run()
			h.check()
			h.count(seen)
			if t.Failed() {
				t.Fatalf("%+v, faults %+v", h.cfg, h.faults)
			}
		})
	}}.Check(t)
}

// happenings are what the judges need to see.
var happenings = []string{
	"confirmed", "retried", "second copies", "refused by SQS", "given up by Close", "given up by a context",
	"failed behind another", "too late", "an error of the service", "a full buffer", "a buffer full of bytes", "more than half an hour",
}

// history is a run of a sender that follows from a seed, apart from the order in which
// goroutines run.
type history struct {
	*world
	random random.Rand
	fifo   bool
	large  bool // messages of up to 400 KiB, so that the limit of bytes matters
	long   bool // faults last up to an hour, not up to 20 s
	slow   bool // functions of Enqueue take time
	cfg    sender.Config
	faults []sqs.Fault
	s      *sender.Sender
	seen   *witness
	left   []sender.Result
	began  time.Time
	closed time.Time // Close has returned

	mu            sync.Mutex
	sent          []*fate
	enqueued      int         // by Enqueue, whose function has not returned
	enqueuedBytes int         // of these
	mostBytes     int         // of enqueuedBytes
	mostMessages  int         // of enqueued
	told          map[int]int // the number of the latest result, by producer; negative for Close
}

// fate is what is known of a message.
type fate struct {
	body, group string
	taken       time.Time // Enqueue has returned; zero for Send
	results     []sender.Result
	refused     error // Enqueue has not taken it
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{random: random.New(seed, 1), told: map[int]int{}, began: time.Now()}
	r := h.random
	o := sqs.Config{Seed: seed}
	h.large, h.long, h.slow = r.OneIn(10), r.OneIn(5), r.OneIn(4)
	if !h.large && r.OneIn(4) {
		o.MaxBatchBytes = 100 + r.IntN(300) // calls are refused as a whole
	}
	h.fifo = r.OneIn(2)
	h.world = newWorld(t, o, h.fifo, func(o *awssqs.Options) {
		h.seen = newWitness(o.HTTPClient)
		o.HTTPClient = h.seen
	})
	h.cfg = sender.Config{
		Queue:       random.Pick(r, h.name, h.server.QueueURL(h.name)),
		Linger:      1 + r.UpTo(20*time.Millisecond),
		Concurrency: 1 + r.IntN(5), MaxBuffered: 1 + r.IntN(60),
		CallTimeout: time.Duration(1+r.IntN(20)) * time.Second / 2,
	}
	if h.large {
		h.cfg.MaxBufferedBytes = 1<<20 + int64(r.IntN(1<<20))
	}
	h.faults = drawFaults(r, h.long)
	h.inject(h.faults...)
	var err error
	if h.s, err = sender.New(h.client, h.cfg); err != nil {
		t.Fatal(err)
	}
	return h
}

func drawFaults(r random.Rand, long bool) []sqs.Fault {
	list := r.Faults(nil, sqs.Fault{Kind: sqs.LostAnswer}, sqs.Fault{Kind: sqs.Throttled}, sqs.Fault{Kind: sqs.Failure}, sqs.Fault{Kind: sqs.EntryFailure},
		sqs.Fault{Kind: sqs.Refused}, sqs.Fault{Kind: sqs.Hang}, sqs.Fault{Kind: sqs.Failure, CarriedOut: true}, sqs.Fault{Kind: sqs.EntryFailure, CarriedOut: true},
		sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents"}, sqs.Fault{Kind: sqs.Failure, Code: "AccessDenied"}, sqs.Fault{Kind: sqs.Latency})
	for i := range list {
		if long && r.OneIn(2) {
			list[i].Probability, list[i].Times = 1, 0
		}
	}
	return list
}

func (h *history) run() {
	var producers sync.WaitGroup
	for p := range 1 + h.random.IntN(6) {
		own := random.New(h.random.Uint64(), 2)
		producers.Go(func() { h.produce(p, own) })
	}
	end := h.random.UpTo(20 * time.Second)
	if h.long {
		end = h.random.UpTo(time.Hour)
	}
	if h.large {
		end /= 10 // an hour of tries of large messages costs 4 s of processor time
	}
	within := h.random.UpTo(10 * time.Second)
	if h.random.OneIn(4) { // it is closed while they send
		time.Sleep(end)
		ctx, cancel := context.WithTimeout(context.Background(), within)
		h.left = h.s.Close(ctx)
		h.closed = time.Now()
		cancel()
		synctest.Wait() // Send returns, too
		if n := h.seen.calls(); n > 0 {
			h.Errorf("%d calls are in flight after Close", n)
		}
		if !h.slow { // else functions may still be running, and others wait for them
			h.requireResults()
		}
		producers.Wait()
		time.Sleep(time.Hour)
		h.requireResults()
		return
	}
	time.AfterFunc(end, h.server.ClearFaults)
	producers.Wait()
	h.left = h.s.Close(context.Background())
	h.closed = time.Now()
	if h.left != nil {
		h.Errorf("Close without a limit left %v", h.left)
	}
	h.requireResults()
	time.Sleep(time.Hour)
}

// produce sends messages of a group that no other producer has. Those of a FIFO group are in
// order only if one goroutine sends them.
func (h *history) produce(number int, r random.Rand) {
	count, size := r.IntN(60), 30
	if h.large {
		count, size = r.IntN(12), 400<<10
	}
	for i := range count {
		m := sender.Text(fmt.Sprintf("%d %d %s", number, i, strings.Repeat("b", r.IntN(size))))
		if h.fifo || r.OneIn(2) {
			m.Group = fmt.Sprint("group-", number)
		}
		f := &fate{body: m.Body, group: m.Group}
		h.mu.Lock()
		h.sent = append(h.sent, f)
		h.mu.Unlock()
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if r.OneIn(4) {
			ctx, cancel = context.WithTimeout(ctx, r.UpTo(5*time.Second))
		}
		if r.OneIn(3) {
			h.send(ctx, m, f)
		} else {
			h.enqueue(ctx, m, f, number, i+1, r.UpTo(100*time.Millisecond))
		}
		cancel()
		if r.OneIn(3) {
			time.Sleep(r.UpTo(30 * time.Millisecond))
		}
		if r.OneIn(30) {
			_ = h.s.Flush(ctx)
		}
	}
}

func (h *history) send(ctx context.Context, m sender.Message, f *fate) {
	err := h.s.Send(ctx, m)
	h.mu.Lock()
	defer h.mu.Unlock()
	result := sender.Result{Message: m, Err: err}
	if failed := failure(err); failed != nil {
		result.MayHaveBeenSent, result.Tries = failed.MayHaveBeenSent, failed.Tries
	}
	f.results = append(f.results, result)
}

func (h *history) enqueue(ctx context.Context, m sender.Message, f *fate, producer, i int, takes time.Duration) {
	err := h.s.Enqueue(ctx, m, func(r sender.Result) {
		h.tell(f, r, producer, i)
		if h.slow {
			time.Sleep(takes)
		}
		h.hold(-1, -len(m.Body))
	})
	if err == nil {
		h.hold(1, len(m.Body))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f.refused, f.taken = err, time.Now()
}

func (h *history) tell(f *fate, r sender.Result, producer, i int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.results = append(f.results, r)
	line := producer
	if errors.Is(r.Err, sender.ErrClosed) {
		line = -1 - producer // Close does not wait for functions of earlier messages
	}
	if h.fifo && i < h.told[line] {
		h.Errorf("group %d: result %d came after %d", producer, i, h.told[line])
	}
	h.told[line] = i
}

// hold counts what must be in the buffer: Enqueue has returned, and the function has not.
func (h *history) hold(messages, bytes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.enqueued += messages
	h.enqueuedBytes += bytes
	h.mostMessages, h.mostBytes = max(h.mostMessages, h.enqueued), max(h.mostBytes, h.enqueuedBytes)
}

// requireResults is called after Close.
func (h *history) requireResults() {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := map[string]sender.Result{}
	for _, l := range h.left {
		left[l.Message.Body] = l
	}
	for _, f := range h.sent {
		if n := len(f.results); n > 1 || (n == 0) != (f.refused != nil) {
			h.Errorf("message %.20q has %d results, and Enqueue returned %v", f.body, n, f.refused)
		}
		for _, r := range f.results {
			// A Send that waited for a place has ErrClosed too, and is not in the buffer.
			l, ok := left[f.body]
			if ok && (!errors.Is(r.Err, sender.ErrClosed) || !errors.Is(l.Err, sender.ErrClosed) || l.MayHaveBeenSent != r.MayHaveBeenSent) {
				h.Errorf("message %.20q: Close returned %v, and its result is %v", f.body, l.Err, r.Err)
			}
			if !ok && errors.Is(r.Err, sender.ErrClosed) && !f.taken.IsZero() {
				h.Errorf("message %.20q was given up, and Close did not return it", f.body)
			}
			if ok {
				delete(left, f.body)
			}
		}
	}
	if len(left) > 0 {
		h.Errorf("Close returned %d results that were not told", len(left))
	}
}

// check compares the results with the queue, and the calls with the promises.
func (h *history) check() {
	copies := map[string]int{}
	ids := map[string]string{} // to the body
	latest := map[string]int{}
	for _, m := range h.server.Snapshot()[0].Messages {
		copies[m.Body]++
		ids[m.MessageID] = m.Body
		var producer, i int
		if _, err := fmt.Sscan(m.Body, &producer, &i); err != nil {
			h.Fatal(err)
		}
		if before, ok := latest[m.MessageGroupID]; h.fifo && ok && i <= before {
			h.Errorf("%s: %d came after %d", m.MessageGroupID, i, before)
		}
		latest[m.MessageGroupID] = i
	}
	for _, f := range h.sent {
		h.checkFate(f, copies[f.body], ids)
		h.checkTries(f, copies[f.body])
	}
	h.checkBounds()
	if h.fifo {
		h.checkGroups()
	}
	if h.seen.latest.After(h.closed) {
		h.Errorf("a call began %v after Close had returned", h.seen.latest.Sub(h.closed))
	}
}

func (h *history) checkFate(f *fate, copies int, ids map[string]string) {
	if f.refused != nil && copies > 0 {
		h.Errorf("message %.20q was sent, and Enqueue returned %v", f.body, f.refused)
	}
	tries := h.seen.of(f.body)
	unsure := slices.ContainsFunc(tries, func(t *try) bool { return t.unsure })
	for _, r := range f.results {
		switch {
		case r.Err == nil && (copies == 0 || r.MessageID != "" && ids[r.MessageID] != f.body):
			h.Errorf("message %.20q is confirmed (%s), and not in the queue", f.body, r.MessageID)
		case r.Err == nil && !slices.ContainsFunc(tries, func(t *try) bool { return t.confirmed }):
			h.Errorf("message %.20q is confirmed, and no answer of SQS says so", f.body)
		case r.Err != nil && !r.MayHaveBeenSent && (copies > 0 || unsure):
			h.Errorf("message %.20q was or may have been sent, and its result is %v", f.body, r.Err)
		case r.MayHaveBeenSent && len(tries) == 0 && strings.Contains(h.cfg.Queue, "/"): // else its URL may have been looked up then
			h.Errorf("message %.20q was in no call, and its result is %v", f.body, r.Err)
		}
	}
}

// checkTries has the promises about copies, and about the time of tries.
func (h *history) checkTries(f *fate, copies int) {
	unsure, confirmed := 0, 0
	var first time.Time // that may have sent it
	for _, t := range h.seen.of(f.body) {
		if h.fifo && unsure > 0 && t.began.Sub(first) > 5*time.Minute {
			h.Errorf("message %.20q was tried %v after a try that may have sent it", f.body, t.began.Sub(first))
		}
		if confirmed > 0 {
			h.Errorf("message %.20q was tried again after SQS had confirmed it", f.body)
		}
		if t.confirmed {
			confirmed++
		}
		if t.unsure {
			unsure++
			if unsure == 1 {
				first = t.began
			}
		}
	}
	if allowed := confirmed + unsure; copies > allowed || h.fifo && copies > 1 {
		h.Errorf("message %.20q is there %d times: %d tries were confirmed, %d may have sent it", f.body, copies, confirmed, unsure)
	}
}

func (h *history) checkBounds() {
	if h.mostMessages > h.cfg.MaxBuffered {
		h.Errorf("%d messages in the buffer, want at most %d", h.mostMessages, h.cfg.MaxBuffered)
	}
	if h.large && h.mostBytes > int(h.cfg.MaxBufferedBytes) {
		h.Errorf("%d bytes in the buffer, want at most %d", h.mostBytes, h.cfg.MaxBufferedBytes)
	}
	if h.seen.most > h.cfg.Concurrency {
		h.Errorf("%d calls in flight, want at most %d", h.seen.most, h.cfg.Concurrency)
	}
}

// checkGroups looks for messages that were sent although they had waited behind one that
// SQS refused. It leaves out messages that came in the same moment as the call.
func (h *history) checkGroups() {
	if h.seen.together != "" {
		h.Errorf("two messages of %s were in flight", h.seen.together)
	}
	refused := map[string]*try{}
	for _, f := range h.sent { // in the order of each group
		tries := h.seen.of(f.body)
		if t := refused[f.group]; t != nil && !f.taken.IsZero() && f.refused == nil && f.taken.Before(t.began) && len(tries) > 0 {
			h.Errorf("message %.20q was sent, and it had waited behind one that SQS refused", f.body)
		}
		for _, t := range tries {
			if t.refused && f.failed() {
				refused[f.group] = t
			}
		}
	}
}

// failed reports whether a message failed because SQS refused it, and not because its caller
// or Close had given it up at that moment.
func (f *fate) failed() bool {
	return slices.ContainsFunc(f.results, func(r sender.Result) bool {
		return r.Err != nil && !errors.Is(r.Err, context.DeadlineExceeded) && !errors.Is(r.Err, sender.ErrClosed)
	})
}

// count says what this history has shown.
func (h *history) count(seen random.Seen) {
	for _, f := range h.sent {
		tries := h.seen.of(f.body)
		for _, t := range tries {
			seen.Saw("refused by SQS", t.refused)
			seen.Saw("an error of the service", t.failed)
		}
		seen.Saw("retried", len(tries) > 1)
		for _, r := range f.results {
			seen.Saw("confirmed", r.Err == nil)
			seen.Saw("given up by Close", errors.Is(r.Err, sender.ErrClosed))
			seen.Saw("given up by a context", errors.Is(r.Err, context.DeadlineExceeded))
			seen.Saw("failed behind another", errors.Is(r.Err, sender.ErrGroupFailed))
			seen.Saw("too late", errors.Is(r.Err, sender.ErrTooLate))
		}
	}
	seen.Saw("second copies", len(h.server.Snapshot()[0].Messages) > h.distinct())
	seen.Saw("a full buffer", h.mostMessages == h.cfg.MaxBuffered)
	seen.Saw("a buffer full of bytes", h.large && h.mostBytes > int(h.cfg.MaxBufferedBytes)-300<<10)
	seen.Saw("more than half an hour", h.long && h.closed.Sub(h.began) > 30*time.Minute)
}

func (h *history) distinct() int {
	bodies := map[string]bool{}
	for _, m := range h.server.Snapshot()[0].Messages {
		bodies[m.Body] = true
	}
	return len(bodies)
}
