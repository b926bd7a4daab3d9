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
	// ErrNoRecord is returned by [Sender.SendWithRecord] when ctx does not come from a handler
	// wrapped by [Sender.Wrap] of the same sender.
	ErrNoRecord = errors.New("sender: the context is not from a handler wrapped by this sender's Wrap; in a bulk handler use Begin")

	// ErrEnded is returned when a message is sent after Wait, or after the end of the context.
	ErrEnded = errors.New("the record or its Sends has finished")

	// ErrRecordFailed is returned when a message is sent after one of the same record has
	// failed. The message is not sent, so that the next delivery of the record can send both
	// in order.
	ErrRecordFailed = errors.New("an earlier message of the record failed")

	// ErrWithdrawn is in the results of messages that [Sends.Withdraw] has withdrawn, and is
	// returned when a message is sent after Withdraw.
	ErrWithdrawn = errors.New("withdrawn, because the record failed")
)

// Wrap is middleware that makes a record wait for the messages sent with
// [Sender.SendWithRecord] by its handler:
//
//	handler.Run(batch.Chain(batch.JSON(shipOrder), mails.Wrap))
//
// After the handler returns nil, the record waits for the result of each message. If a message
// has failed, or has no result at the end of the record's context, the record fails with a
// [*FailedError]. If the handler fails, its messages are withdrawn as far as possible, see
// [Sends.Withdraw]. So when the record has succeeded or failed, none of its messages is in the
// buffer.
//
// A record that is delivered again sends its messages again: at least once. A FIFO queue drops
// a repeated message within five minutes, see SendWithRecord.
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
// waits only while the buffer is full. The record of ctx succeeds only when SQS has confirmed
// the message. The record's handler must be wrapped by [Sender.Wrap].
//
// An error means that the message is not sent. The error does not fail the record by itself:
// return it, or handle it.
//
// The message may be sent before the handler returns, even if the handler fails later.
//
// On a FIFO queue, a message without deduplication id gets one that is derived from the
// record's id and the message's group, body and attributes. If the record is delivered again
// within five minutes and sends an equal message, SQS drops the second copy. Two equal
// messages of one record have different ids.
func (s *Sender) SendWithRecord(ctx context.Context, m Message) error {
	u, _ := ctx.Value(ctxkey.Sends{Sender: s}).(*Sends)
	if u == nil {
		return ErrNoRecord
	}
	return u.Enqueue(m)
}

// Sends is a group of messages that are awaited together. [Sender.Wrap] makes one for each
// record; [Sender.Begin] makes one for you. Its methods are safe for concurrent use.
type Sends struct {
	s      *Sender
	ctx    context.Context
	record batch.Record
	done   chan struct{} // closed after end, when every message has a result

	// The sender's lock guards these.
	left   map[*entry]bool  // messages without result
	equal  map[[32]byte]int // number of equal messages, by digest
	count  int              // messages
	failed []Result
	broken bool        // a message has failed
	gone   error       // why messages without result were given up; nil if they were not
	why    error       // why messages are refused; nil while they are accepted
	stop   func() bool // cancels expire
}

// Begin returns a Sends for messages that are sent before ctx ends. Call Wait or Withdraw
// after the last one. Use Begin in a function that handles several records, such as a handler
// of package bulk:
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

// Enqueue puts a message into the buffer. It waits only while the buffer is full. An error
// means that the message is not sent, see [Sender.SendWithRecord].
func (u *Sends) Enqueue(m Message) error {
	u.identify(&m)
	var e *entry
	e, err := u.s.newEntry(u.ctx, m, func(r Result) { u.addResult(outcome{e, r}) })
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

// expireAtEnd schedules expire for the end of the context, which a handler may ignore.
func (u *Sends) expireAtEnd() {
	if u.stop == nil {
		u.stop = context.AfterFunc(u.ctx, u.expire)
	}
}

// remove forgets a message that got no place in the buffer.
func (u *Sends) remove(e *entry) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	u.count--
	u.settle(e)
}

// addResult records the result of a message.
func (u *Sends) addResult(o outcome) {
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

// Wait accepts no more messages, and waits until each one has a result. It returns nil if
// SQS has confirmed all of them, or else a [*FailedError]. At the end of the context Wait
// gives up messages without result. A call in flight continues, and may still send them.
//
// Messages linger up to Config.Linger, or only 1 ms if no other record may send more. They do
// not linger if the context ends soon.
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

// Withdraw accepts no more messages, and withdraws those that are not in a call. It waits for
// the results of messages in a call, until the context ends, and does not retry them.
// Confirmed messages stay sent. After Wait it does nothing.
func (u *Sends) Withdraw() {
	if u.end(ErrWithdrawn) {
		u.giveUp(ErrWithdrawn, true)
	}
	u.await()
}

// end refuses further messages. It returns false if it was called before.
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

// await waits for all results. At the end of the context it gives up messages without result.
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

// expire gives up messages at the end of the context.
func (u *Sends) expire() {
	u.end(ErrEnded)
	u.giveUp(cause(u.ctx), false)
}

// giveUp gives up messages in order of arrival, see Sender.giveUp, and refuses messages that
// wait for a place.
func (u *Sends) giveUp(reason error, wait bool) {
	u.s.mu.Lock()
	u.gone = reason
	u.s.refuse(reason, u)
	list := slices.SortedFunc(maps.Keys(u.left), func(a, b *entry) int { return cmp.Compare(a.number, b.number) })
	u.s.mu.Unlock()
	for _, o := range u.s.giveUp(reason, wait, list...) {
		o.entry.report(o.result)
		u.addResult(o)
	}
}

// identify sets the deduplication id of a message for a FIFO queue. The id is derived from the
// message's content, so that no message is lost if the next delivery sends other messages, or
// another order.
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

// FailedError is returned by [Sends.Wait], and is the error of a record, when SQS has not
// confirmed some of the messages.
type FailedError struct {
	// Queue is the name of the queue.
	Queue string
	// Messages is the number of messages of the record. Failed has the results of the
	// messages that SQS has not confirmed.
	Messages int
	Failed   []Result
}

// maxNamed is the largest number of errors in the text of a FailedError.
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

// Hooks returns hooks for handler.Config.Hooks, for programs that call Enqueue directly. Their
// Flush calls [Sender.Flush] at the end of each Lambda invocation, before Lambda freezes the
// process, and at the end of a container's stop. The handler gives hooks 2 s. Messages not sent
// by then stay in the buffer, and are sent only if the process runs again. Use SendWithRecord
// for messages that must not be lost.
func (s *Sender) Hooks() batch.Hooks {
	return batch.Hooks{Flush: func(ctx context.Context) { _ = s.Flush(ctx) }}
}
