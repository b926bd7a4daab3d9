package sender_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
)

// shorten stands for a store of bodies: it takes a time, and leaves a short text.
func shorten(d time.Duration) func(context.Context, *sender.Message) error {
	return func(ctx context.Context, m *sender.Message) error {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return ctx.Err()
		}
		m.Attributes["size"] = batch.MessageAttribute{DataType: "Number", StringValue: fmt.Sprint(len(m.Body))}
		m.Body = m.Body[:10]
		return nil
	}
}

func large(start string) sender.Message {
	return sender.Text(start + strings.Repeat("x", 2<<20))
}

func TestPrepare_TheLimitsAreThoseOfThePreparedMessage(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Prepare: shorten(time.Second), MaxBufferedBytes: 1 << 20})
		given := large("0")
		var got sender.Result
		w.enqueue(s, given, func(r sender.Result) { got = r })
		w.flush(s)
		if got.Err != nil || got.Message.Body != given.Body || got.Message.Attributes != nil {
			w.Errorf("%v, with a body of %d bytes", got.Err, len(got.Message.Body))
		}
		if m := w.server.Snapshot()[0].Messages[0]; m.Body != given.Body[:10] || m.Attributes["size"].String != "2097153" {
			w.Errorf("the queue has %+v", m)
		}
	})
}

// Messages are prepared at the same time, each in its own time. When none is prepared any
// more, no other message is expected.
func TestPrepare_PreparedMessagesShareACall(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Linger: time.Second, Prepare: func(ctx context.Context, m *sender.Message) error {
			return shorten(time.Duration(m.Body[0]-'0')*100*time.Millisecond)(ctx, m)
		}})
		h := s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return s.SendWithRecord(ctx, large(r.Body)) }))
		began := time.Now()
		w.wantFailures(0, h, "1", "2", "3", "4", "5", "6", "7", "8", "9")
		if got := w.calls(); !slices.Equal(got, []int{9}) || time.Since(began) != 900*time.Millisecond {
			w.Errorf("calls of %d messages after %v, want one", got, time.Since(began))
		}
	})
}

func TestPrepare_AtMostConcurrencyAtATime(t *testing.T) {
	inWorld(t, false, func(w *world) {
		var now, most atomic.Int32
		s := w.sender(sender.Config{Concurrency: 3, Prepare: func(context.Context, *sender.Message) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return nil
		}})
		for i := range 20 {
			w.enqueue(s, numbered(i), nil)
		}
		w.flush(s)
		if most.Load() != 3 {
			w.Errorf("%d messages were prepared at the same time", most.Load())
		}
	})
}

// The first message of group 0 takes long to prepare. Other groups do not wait for it, the
// rest of its group does.
func TestPrepare_KeepsTheOrderOfAGroup(t *testing.T) {
	inWorld(t, true, func(w *world) {
		s := w.sender(sender.Config{Prepare: func(ctx context.Context, m *sender.Message) error {
			if m.Body == "0" {
				time.Sleep(time.Minute)
			}
			m.Group, m.DeduplicationID = "other", "other" // without effect
			return nil
		}})
		for i := range 12 {
			w.enqueue(s, inGroup(3)(i), nil)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		w.wantSent(8)
		w.flush(s)
		requireOrder(w.T, w.server.Snapshot()[0].Messages, 12)
	})
}

func TestPrepare_Failures(t *testing.T) {
	errNo := errors.New("no bucket")
	prepare := func(ctx context.Context, m *sender.Message) error {
		time.Sleep(time.Millisecond) // until all are enqueued: one that comes after a failure is sent
		switch m.Body {
		case "3":
			return errNo
		case "4":
			m.Body = ""
		case "5":
			panic("oops")
		}
		return nil
	}
	for _, fifo := range []bool{false, true} {
		runInWorld(t, fmt.Sprint(fifo), fifo, func(w *world) {
			s := w.sender(sender.Config{Prepare: prepare})
			message := numbered
			if fifo {
				message = inGroup(3)
			}
			for i, r := range w.results(s, 9, message) {
				switch {
				case i < 3 || i > 5 && !fifo:
					if r.Err != nil {
						w.Errorf("message %d: %v", i, r.Err)
					}
				case failure(r.Err) == nil || failure(r.Err).MayHaveBeenSent || failure(r.Err).Tries != 0,
					i == 3 && !errors.Is(r.Err, errNo),
					i == 4 && wrongField(r.Err) != "Body",
					i == 5 && !strings.Contains(r.Err.Error(), "panicked: oops"),
					i > 5 && !errors.Is(r.Err, sender.ErrGroupFailed):
					w.Errorf("message %d: %v", i, r.Err)
				}
			}
		})
	}
}

func TestPrepare_EndsWhenTheMessageIsGivenUp(t *testing.T) {
	hang := func(ctx context.Context, m *sender.Message) error { <-ctx.Done(); return ctx.Err() }
	inWorld(t, true, func(w *world) {
		s := w.sender(sender.Config{Prepare: hang})
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if err := s.Send(ctx, inGroup(1)(0)); !errors.Is(err, context.DeadlineExceeded) {
			w.Errorf("Send: %v", err)
		}
		w.enqueue(s, inGroup(1)(1), nil)
		w.enqueue(s, inGroup(1)(2), nil)
		ctx, cancel = context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		if left := s.Close(ctx); len(left) != 2 || !errors.Is(left[0].Err, sender.ErrClosed) {
			w.Errorf("left: %+v", left)
		}
		synctest.Wait() // the bubble would find a goroutine that hangs
	})
}

func TestPrepare_OfARecordThatHangsFailsTheRecord(t *testing.T) {
	hang := func(ctx context.Context, m *sender.Message) error {
		if strings.HasPrefix(m.Body, "hang") {
			<-ctx.Done()
		}
		return ctx.Err()
	}
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Prepare: hang})
		if failed := w.invoke(forward(s), "hang", "1"); !slices.Equal(failed, []string{"hang"}) {
			w.Errorf("%q failed", failed)
		}
		w.requireNothingMore()
	})
}

// record is the context of a record with an attribute.
func (w *world) record(attributes map[string]batch.MessageAttribute) context.Context {
	return batch.WithRecord(w.Context(), batch.Record{MessageID: "id-1", TraceHeader: "Root=1-a;Parent=b", MessageAttributes: attributes})
}

func TestCorrelationAttribute(t *testing.T) {
	const name = "correlation_id"
	for label, c := range map[string]struct {
		record map[string]batch.MessageAttribute
		m      sender.Message
		want   string
	}{
		"that of the record":   {map[string]batch.MessageAttribute{name: text("c-7")}, sender.Text("x"), "c-7"},
		"the record's id":      {nil, sender.Text("x"), "id-1"},
		"the message's own":    {nil, sender.Message{Body: "x", Attributes: map[string]batch.MessageAttribute{name: text("own")}}, "own"},
		"one place left":       {nil, sender.Message{Body: "x", Attributes: many(9)}, "id-1"},
		"no place left":        {nil, sender.Message{Body: "x", Attributes: many(10)}, ""},
		"no room in the bytes": {nil, sender.Text(strings.Repeat("x", 1<<20)), ""},
	} {
		runInWorld(t, label, false, func(w *world) {
			s := w.sender(sender.Config{CorrelationAttribute: name})
			before := len(c.m.Attributes)
			if err := s.Send(w.record(c.record), c.m); err != nil {
				w.Fatal(err)
			}
			if got := w.server.Snapshot()[0].Messages[0].Attributes[name].String; got != c.want || len(c.m.Attributes) != before {
				w.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	inWorld(t, false, func(w *world) {
		if err := w.sender(sender.Config{}).Send(w.record(nil), sender.Text("x")); err != nil || len(w.server.Snapshot()[0].Messages[0].Attributes) > 0 {
			w.Errorf("%v, or an attribute that is not configured", err)
		}
		if err := w.sender(sender.Config{CorrelationAttribute: name}).Send(w.Context(), sender.Text("x")); err != nil || len(w.server.Snapshot()[0].Messages[1].Attributes) > 0 {
			w.Errorf("%v, or an attribute without a record", err)
		}
	})
}

func TestTraceHeader(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{})
		//lint:ignore SA1029 it is the key that aws-lambda-go uses
		lambda := context.WithValue(w.Context(), "x-amzn-trace-id", "Root=1-lambda")
		for _, c := range []struct {
			ctx    context.Context
			header string
			want   string
		}{
			{w.Context(), "", ""},
			{w.record(nil), "", "Root=1-a;Parent=b"},
			{w.record(nil), "Root=1-own", "Root=1-own"},
			{lambda, "", "Root=1-lambda"},
			{batch.WithRecord(lambda, batch.Record{TraceHeader: "Root=1-record"}), "", "Root=1-record"},
			{batch.WithRecord(lambda, batch.Record{}), "", "Root=1-lambda"},
		} {
			m := sender.Text("x")
			m.TraceHeader = c.header
			if err := s.Send(c.ctx, m); err != nil {
				w.Fatal(err)
			}
			if got := w.received().Messages[0].Attributes["AWSTraceHeader"]; got != c.want {
				w.Errorf("the header is %q, want %q", got, c.want)
			}
		}
	})
}

func TestTrace_IsCalledOnceForEachMessageAndGetsItsResult(t *testing.T) {
	for name, prepare := range map[string]func(context.Context, *sender.Message) error{"": nil, "with Prepare": shorten(time.Second)} {
		runInWorld(t, name, false, func(w *world) {
			var begun, ended, failed atomic.Int32
			s := w.sender(sender.Config{Prepare: prepare, MaxBuffered: 4, Trace: func(ctx context.Context, queue string, m *sender.Message) func(sender.Result) {
				begun.Add(1)
				return func(r sender.Result) {
					ended.Add(1)
					if r.Err != nil {
						failed.Add(1)
					}
				}
			}})
			w.inject(sqs.Fault{Kind: sqs.Hang, Operation: "SendMessageBatch", Skip: 1})
			ctx, cancel := context.WithTimeout(w.Context(), 5*time.Second)
			defer cancel()
			if err := s.Send(ctx, sender.Text("0123456789")); err != nil {
				w.Fatal(err)
			}
			if err := s.Send(ctx, sender.Text("0123456789")); err == nil {
				w.Fatal("no error")
			}
			for range 4 {
				w.enqueue(s, sender.Text("0123456789"), nil)
			}
			if err := s.Enqueue(ctx, sender.Text("0123456789"), nil); err == nil {
				w.Fatal("no error: the buffer is full")
			}
			ctx, cancel = context.WithTimeout(w.Context(), 5*time.Second)
			defer cancel()
			s.Close(ctx)
			synctest.Wait()
			want := int32(7)
			if prepare != nil {
				want = 6 // the last one got no place
			}
			if begun.Load() != want || ended.Load() != want || failed.Load() != want-1 {
				w.Errorf("begun %d, ended %d, failed %d, want %d", begun.Load(), ended.Load(), failed.Load(), want)
			}
		})
	}
}

func TestTrace_WhatHasNoRoomIsLeftOut(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Trace: func(ctx context.Context, queue string, m *sender.Message) func(sender.Result) {
			more := many(len(m.Attributes))
			more["traceparent"] = text("00-1-2-01")
			m.Attributes, m.TraceHeader = more, "Root=1-span"
			return nil
		}})
		for n, want := range map[int]int{0: 1, 9: 10, 10: 10} {
			w.send(s, sender.Message{Body: "x", Attributes: many(n)})
			if m := w.received().Messages[0]; len(m.MessageAttributes) != want || m.Attributes["AWSTraceHeader"] != "Root=1-span" {
				w.Errorf("%d of %d attributes, and the header %q", len(m.MessageAttributes), want, m.Attributes["AWSTraceHeader"])
			}
		}
		w.send(s, sender.Text(strings.Repeat("x", 1<<20)))
	})
}
