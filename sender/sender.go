package sender

import (
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Sender sends messages to one queue. Make one with [New]. Its methods are safe for
// concurrent use. Goroutines make calls and run Config.Prepare; an idle sender has none.
type Sender struct {
	cfg    Config
	fifo   bool
	target *target
	ctx    context.Context // of the calls
	cancel context.CancelFunc

	mu       sync.Mutex
	buffered chain     // messages in order of arrival
	bytes    int64     // total size of buffered messages
	places   list.List // of *waiter: callers that wait for a place in the buffer
	numbers  uint64    // number of the latest message
	lastCame time.Time // arrival of the latest message

	ready    queue            // messages for the next calls
	again    queue            // messages to retry, sent before ready
	lanes    map[string]*lane // by FIFO group, groups with buffered messages
	inFlight int              // calls
	idle     []chan *call     // of workers that wait for a call
	pace     pace
	timer    *time.Timer // calls wake
	wakeAt   time.Time   // when timer fires; zero for never

	raw       list.List // of *entry: messages that wait for Config.Prepare
	preparing int       // goroutines that run Config.Prepare

	flushing int  // callers of Flush, Close and hurried Waits: nothing lingers
	open     int  // Sends that accept messages
	awaited  int  // Sends that only wait for results
	closed   bool // by Close
	flushes  []*flush
}

// New returns a Sender. It checks the configuration and makes no call. Its error names every
// invalid field.
func New(client *sqs.Client, cfg Config) (*Sender, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(client); err != nil {
		return nil, err
	}
	t, err := newTarget(client, cfg.Queue)
	if err != nil {
		return nil, fmt.Errorf("sender: Queue: %w", err)
	}
	s := &Sender{cfg: cfg, fifo: cfg.fifo(), target: t, lanes: map[string]*lane{}, pace: newPace(cfg.Concurrency)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Send sends a message, and returns nil when SQS has confirmed it. Errors:
//
//   - [*MessageError]: the message breaks a rule of SQS,
//   - [*Error]: SQS refused the message, ctx ended, or the sender was closed. MayHaveBeenSent
//     is set if the message may have been sent nevertheless.
func (s *Sender) Send(ctx context.Context, m Message) error {
	got := make(chan Result, 1)
	e, err := s.newEntry(ctx, m, func(r Result) { got <- r })
	if err != nil {
		return err
	}
	if err := s.put(ctx, e); err != nil {
		return err
	}
	select {
	case r := <-got:
		return r.Err
	case <-ctx.Done():
	}
	for _, o := range s.giveUp(cause(ctx), false, e) {
		e.report(o.result)
		return o.result.Err
	}
	return (<-got).Err
}

// Enqueue puts a message into the buffer. It waits only while the buffer is full, until ctx
// ends. If Enqueue returns nil, done is called once with the result, and the end of ctx has no
// effect any more. If it returns an error, the message is not sent, and done is not called.
//
// Results of one call to SQS are reported one after another on that call's goroutine, so done
// is called concurrently for different calls. Within a FIFO group, done is called in the order
// of the messages. Close is an exception: when Close gives up messages, it does not wait for
// the done functions of earlier ones.
//
// The message keeps its place in the buffer until done returns, so a slow done slows the
// sender down. It must not call Send, Flush or Close of this sender, nor Enqueue with a
// context that does not end. done may be nil.
func (s *Sender) Enqueue(ctx context.Context, m Message, done func(Result)) error {
	if done == nil {
		done = func(Result) {}
	}
	e, err := s.newEntry(ctx, m, done)
	if err != nil {
		return err
	}
	return s.put(ctx, e)
}

// newEntry checks a message and returns its entry, ready to be sent unless [Config.Prepare]
// is set.
func (s *Sender) newEntry(ctx context.Context, m Message, done func(Result)) (*entry, error) {
	err := m.checkQueueRules(s.fifo)
	if s.cfg.Prepare == nil || m.err != nil {
		err = m.check(s.fifo)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case !s.fifo, m.DeduplicationID != "":
	case !s.cfg.ContentBasedDeduplication:
		m.DeduplicationID = randomID()
	case s.cfg.Prepare != nil: // SQS would take another body
		digest := sha256.Sum256([]byte(m.Body))
		m.DeduplicationID = hex.EncodeToString(digest[:])
	}
	e := &entry{ctx: ctx, message: m, held: m.size(), done: done}
	if s.cfg.Prepare == nil {
		e.sent = m
		e.traced = s.label(ctx, &e.sent)
		e.size, e.ready = e.sent.size(), true
	}
	return e, nil
}

// randomID returns a UUID of version 4.
func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// pump starts all calls that are due, and sets the timer for the next one. Callers hold the
// lock, and call pump after every change of the queues, the pace or the linger.
func (s *Sender) pump() {
	now := time.Now()
	for s.due(now) && s.pace.allows(s.inFlight, now) {
		batch := s.ready.moveTo(s.again.moveTo(make([]*entry, 0, maxEntries)))
		s.startCall(batch, now)
	}
	s.setTimer(now)
}

// due reports whether to start a call now: a call would be full, a message does not linger,
// or the first message has lingered.
func (s *Sender) due(now time.Time) bool {
	switch n := s.again.len + s.ready.len; {
	case n == 0:
		return false
	case n >= maxEntries, s.again.bytes+s.ready.bytes >= maxBytes:
		return true
	case s.flushing > 0, s.again.len > 0, s.ready.atOnce > 0:
		return true
	}
	return now.Sub(s.ready.first().since) >= s.linger()
}

// briefly is the longest linger while records only wait for results and no record may send
// more. It covers the start of the next records of a batch.
const briefly = time.Millisecond

// linger returns how long the first message waits for others.
func (s *Sender) linger() time.Duration {
	if s.awaited > 0 && s.open == 0 && s.preparing == 0 {
		return min(s.cfg.Linger, briefly)
	}
	return s.cfg.Linger
}

// setTimer schedules wake for the time when the next call becomes due. It sets no timer while
// as many calls as the pace allows are in flight: the end of a call pumps.
func (s *Sender) setTimer(now time.Time) {
	var at time.Time
	switch due := s.due(now); {
	case s.again.len+s.ready.len == 0, s.inFlight >= int(s.pace.limit):
	case due:
		at = s.pace.until
	default:
		if at = s.ready.first().since.Add(s.linger()); at.Before(s.pace.until) {
			at = s.pace.until
		}
	}
	switch {
	case at.Equal(s.wakeAt):
	case at.IsZero():
		s.timer.Stop()
	case s.timer == nil:
		s.timer = time.AfterFunc(at.Sub(now), s.wake)
	default:
		s.timer.Reset(at.Sub(now))
	}
	s.wakeAt = at
}

func (s *Sender) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAt = time.Time{}
	s.pump()
}
