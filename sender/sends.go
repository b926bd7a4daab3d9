package sender

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/internal/ctxkey"
	"github.com/sqsbatch/sqsbatch/internal/wrapped"
)

var (
	// ErrNoRecord is returned by [Sender.SendWithRecord] if its context is not that of a
	// record whose handler is wrapped by [Sender.Wrap] of the same sender.
	ErrNoRecord = errors.New("sender: not in a handler that Wrap of this sender has wrapped; in a bulk handler use Begin")

	// ErrEnded is returned when a message comes after Wait or Withdraw, or after the end of
	// the context.
	ErrEnded = errors.New("its record or its Sends is over")

	// ErrRecordFailed is returned, and is in the results, when a message comes after one of
	// the same record has failed. It is not sent, so that the record can send both in order
	// when it comes back.
	ErrRecordFailed = errors.New("an earlier message of the record failed")

	// ErrWithdrawn is in the results of messages that Withdraw has taken back.
	ErrWithdrawn = errors.New("withdrawn, because the record failed")
)

// Wrap is middleware that makes a record wait for the messages that its function has sent
// with [Sender.SendWithRecord]:
//
//	handler.Run(batch.Chain(batch.JSON(shipOrder), mails.Wrap))
//
// When the function has returned nil, the record waits until each message has its result.
// If one has failed, or has no result at the end of the record's context, the record fails
// with a [*FailedError]. If the function itself fails, messages are withdrawn as far as
// that is possible, see [Sends.Withdraw]. So when the record is done or has failed, nothing
// of it is in the buffer.
//
// A record that comes back sends again what it has sent before: at least once. A FIFO queue
// drops a repeated message within five minutes, see SendWithRecord.
//
// With several senders, give Chain the Wrap of each. Put idempotency middleware around
// Wrap, so that a record counts as handled only when its messages are confirmed.
func (s *Sender) Wrap(next batch.Handler) batch.Handler {
	if wrapped.IsNil(next) {
		return nil
	}
	return batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		u := s.newSends(ctx, r)
		defer u.Withdraw() // after an error or a panic
		if err := next.Handle(ctxkey.With(ctx, ctxkey.Sends{Sender: s}, u), r); err != nil {
			return err
		}
		return u.Wait()
	})
}

// SendWithRecord puts a message into the buffer, and returns without waiting for SQS. It
// waits only while the buffer is full. The record that ctx belongs to is done only when SQS
// has confirmed the message. The record's handler must be wrapped by [Sender.Wrap].
//
// If it returns an error, the message was not taken. This error does not fail the record:
// return it, or handle it.
//
// The message may be sent before the function returns, also if the function fails later.
//
// On a FIFO queue, a message without deduplication id gets one that is derived from the
// record's id and the message's group, body and attributes. If the record comes back within
// five minutes and sends an equal message, SQS drops it. The first and the second of two
// equal messages have different ids.
func (s *Sender) SendWithRecord(ctx context.Context, m Message) error {
	u, _ := ctx.Value(ctxkey.Sends{Sender: s}).(*Sends)
	if u == nil {
		return ErrNoRecord
	}
	return u.Enqueue(m)
}

// Sends are messages that are awaited together. [Sender.Wrap] has one for each record. Its
// methods are safe for concurrent use.
type Sends struct {
	s      *Sender
	ctx    context.Context
	record batch.Record
	done   chan struct{} // closed when no message is taken and none is left

	// The sender's lock guards these.
	left   map[*entry]bool  // messages without result
	equal  map[[32]byte]int // equal messages, by their digest
	count  int
	failed []Result
	broken bool        // a message has failed
	gone   error       // why messages without result were given up; nil if they were not
	why    error       // why no message is taken; nil if they are
	stop   func() bool // keeps expire from being called
}

// Begin returns a Sends for messages that are sent while ctx lasts. Call Wait or Withdraw
// in the end. Use it in a function that handles several records, such as that of package
// bulk:
//
//	for i := range items {
//		sends[i] = mails.Begin(bulk.Context(ctx, items[i]))
//		…
//	}
//	for i := range items {
//		if err := sends[i].Wait(); err != nil {
//			items[i].Fail(err)
//		}
//	}
func (s *Sender) Begin(ctx context.Context) *Sends {
	r, _ := batch.RecordFrom(ctx)
	u := s.newSends(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	u.expireAtEnd()
	return u
}

func (s *Sender) newSends(ctx context.Context, r batch.Record) *Sends {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open++
	return &Sends{s: s, ctx: ctx, record: r, done: make(chan struct{})}
}

// Enqueue puts a message into the buffer. It waits only while the buffer is full. See
// [Sender.SendWithRecord], which calls it.
func (u *Sends) Enqueue(m Message) error {
	u.identify(&m)
	var e *entry
	e, err := u.s.newEntry(u.ctx, m, func(r Result) { u.got(outcome{e, r}) })
	if err != nil {
		return err
	}
	e.sends = u
	if err := u.add(e); err != nil {
		return e.refuse(err)
	}
	if err := u.s.put(u.ctx, e); err != nil {
		u.remove(e)
		return err
	}
	return nil
}

func (u *Sends) add(e *entry) error {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	if u.why != nil {
		return u.why
	}
	if u.left == nil {
		u.left = map[*entry]bool{}
	}
	u.expireAtEnd()
	u.left[e] = true
	u.count++
	return nil
}

// expireAtEnd gives up at the end of the context, which a function may ignore.
func (u *Sends) expireAtEnd() {
	if u.stop == nil {
		u.stop = context.AfterFunc(u.ctx, u.expire)
	}
}

// remove forgets a message that has got no place in the buffer.
func (u *Sends) remove(e *entry) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.count--
	u.settle(e)
}

// got takes the result of a message.
func (u *Sends) got(o outcome) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	if o.result.Err != nil {
		u.failed = append(u.failed, o.result)
	}
	u.settle(o.entry)
}

func (u *Sends) settle(e *entry) {
	delete(u.left, e)
	if len(u.left) == 0 && u.why != nil {
		close(u.done)
	}
}

// Wait takes no more messages, and waits until each one has its result. It returns nil if
// SQS has confirmed all of them, or else a [*FailedError]. At the end of the context it
// gives up messages without result. A call in flight then goes on, and may still send them.
//
// The messages wait for others to share a call with them: up to Config.Linger, or only 1 ms
// if no other record is in its function. They do not wait if the context ends soon.
func (u *Sends) Wait() error {
	u.end(ErrEnded)
	u.await()
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	if len(u.failed) == 0 {
		return nil
	}
	return &FailedError{Queue: batch.QueueName(u.s.cfg.Queue), Messages: u.count, Failed: slices.Clone(u.failed)}
}

// Withdraw takes no more messages, and takes back those that are not in a call. It waits
// for those in a call until they have their result or the context ends, and does not try
// them again. Messages that were confirmed before stay sent. After Wait it does nothing.
func (u *Sends) Withdraw() {
	if u.end(ErrWithdrawn) {
		u.giveUp(ErrWithdrawn, true)
	}
	u.await()
}

// end takes no more messages. It returns false if it was called before.
func (u *Sends) end(why error) (first bool) {
	s := u.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.why != nil {
		return false
	}
	u.why = why
	s.open--
	if len(u.left) == 0 {
		close(u.done)
	}
	s.pump()
	return true
}

// await waits for results. At the end of the context it gives up, and then has them soon.
func (u *Sends) await() {
	s := u.s
	deadline, limited := u.ctx.Deadline()
	hurry := limited && time.Until(deadline) < 2*s.cfg.Linger
	s.awaits(1, hurry)
	defer s.awaits(-1, hurry)
	select {
	case <-u.done:
	case <-u.ctx.Done():
		u.giveUp(cause(u.ctx), false)
		<-u.done
	}
	if u.stop != nil {
		u.stop()
	}
}

func (s *Sender) awaits(n int, hurry bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.awaited += n
	if hurry {
		s.flushing += n
	}
	s.pump()
}

// expire is called at the end of the context.
func (u *Sends) expire() {
	u.end(ErrEnded)
	u.giveUp(cause(u.ctx), false)
}

// giveUp gives up messages in the order in which they came, see Sender.giveUp. Those that
// wait for a place do not get one.
func (u *Sends) giveUp(reason error, wait bool) {
	u.s.mu.Lock()
	u.gone = reason
	u.s.refuse(reason, u)
	list := slices.SortedFunc(maps.Keys(u.left), func(a, b *entry) int { return cmp.Compare(a.number, b.number) })
	u.s.mu.Unlock()
	for _, o := range u.s.giveUp(reason, wait, list...) {
		o.entry.report(o.result)
		u.got(o)
	}
}

// identify gives a message for a FIFO queue its deduplication id. It depends on what the
// message says, so that a function which sends other messages at the next try, or in
// another order, loses none.
func (u *Sends) identify(m *Message) {
	if s := u.s; !s.fifo || m.DeduplicationID != "" || s.cfg.ContentBasedDeduplication || u.record.MessageID == "" {
		return
	}
	h := sha256.New()
	write := func(texts ...string) {
		for _, text := range texts {
			fmt.Fprint(h, len(text), ":")
			_, _ = io.WriteString(h, text)
		}
	}
	write(u.record.QueueARN, u.record.MessageID, m.Group, m.Body)
	for _, name := range slices.Sorted(maps.Keys(m.Attributes)) {
		a := m.Attributes[name]
		write(name, a.DataType, a.StringValue, string(a.BinaryValue))
	}
	digest := [32]byte(h.Sum(nil))
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	if u.equal == nil {
		u.equal = map[[32]byte]int{}
	}
	u.equal[digest]++
	m.DeduplicationID = fmt.Sprintf("%s-%d", hex.EncodeToString(digest[:]), u.equal[digest])
}

// FailedError is the error of a record some of whose messages SQS has not confirmed.
type FailedError struct {
	// Queue is the name of the queue.
	Queue string
	// Messages is the number of messages of the record, and Failed has the results of those
	// that SQS has not confirmed.
	Messages int
	Failed   []Result
}

// maxNamed is how many errors are in the text of a FailedError.
const maxNamed = 3

func (e *FailedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sender: %d of %d messages to %s are not confirmed", len(e.Failed), e.Messages, e.Queue)
	for _, r := range e.Failed[:min(len(e.Failed), maxNamed)] {
		fmt.Fprintf(&b, "; %s", strings.TrimPrefix(r.Err.Error(), "sender: "))
	}
	if more := len(e.Failed) - maxNamed; more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// Unwrap returns the errors of the messages.
func (e *FailedError) Unwrap() (errs []error) {
	for _, r := range e.Failed {
		errs = append(errs, r.Err)
	}
	return errs
}

// Hooks returns hooks for handler.Config.Hooks. Their Flush calls [Sender.Flush] at the end of
// each Lambda invocation and of the stop of a container, for those who call Enqueue directly.
// Lambda freezes the process after that. The handler gives hooks 2 s. What is not sent by then
// stays in the buffer, and is sent when the process runs again, if it ever does. Use
// SendWithRecord for messages that must not be lost.
func (s *Sender) Hooks() batch.Hooks {
	return batch.Hooks{Flush: func(ctx context.Context) { _ = s.Flush(ctx) }}
}
