package sender_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqsbatch/sqsbatch/test/testhooks"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/bulk"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/sender"
	"github.com/sqsbatch/sqsbatch/test/testqueue"
)

const sourceARN = "arn:aws:sqs:eu-west-1:123456789012:source"

// invoke runs an invocation of 10 s with a record for each body. It returns the bodies of
// the records that failed.
func (w *world) invoke(h batch.Handler, bodies ...string) (failed []string) {
	w.Helper()
	return w.invokeWith(handler.Config{}, h, bodies...)
}

// wantFailures runs an invocation of which some number of records fail.
func (w *world) wantFailures(want int, h batch.Handler, bodies ...string) {
	w.Helper()
	if failed := w.invoke(h, bodies...); len(failed) != want {
		w.Errorf("%q failed, want %d", failed, want)
	}
}

func (w *world) invokeWith(cfg handler.Config, h batch.Handler, bodies ...string) (failed []string) {
	w.Helper()
	cfg.SQS, cfg.Logger = w.client, slog.New(slog.DiscardHandler)
	l, err := handler.New(h, cfg)
	if err != nil {
		w.Fatal(err)
	}
	records := make([]batch.Record, len(bodies))
	for i, body := range bodies {
		records[i] = batch.Record{MessageID: "id-" + body, ReceiptHandle: "handle-" + body, Body: body, Attempt: 1, QueueARN: sourceARN, Region: "eu-west-1"}
	}
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Second)
	defer cancel()
	out, err := l.Invoke(ctx, testqueue.Event(records))
	if err != nil {
		w.Fatal(err)
	}
	if ctx.Err() != nil {
		w.Error("the response came after the deadline")
	}
	var response struct {
		Failures []struct {
			ID string `json:"itemIdentifier"`
		} `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(out, &response); err != nil {
		w.Fatal(err)
	}
	for _, f := range response.Failures {
		failed = append(failed, strings.TrimPrefix(f.ID, "id-"))
	}
	return failed
}

// forward sends two messages for each record, and fails or sends nothing if the body says so.
func forward(s *sender.Sender) batch.Handler {
	return s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
		if r.Body == "no sends" {
			return nil
		}
		for _, part := range []string{"a", "b"} {
			if err := s.SendWithRecord(ctx, sender.Text(r.Body+part)); err != nil {
				return err
			}
		}
		if strings.HasPrefix(r.Body, "bad") {
			return errors.New("no")
		}
		return nil
	}))
}

// Records that run share calls. The last one does not linger.
func TestWrap_RecordsShareCalls(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(20 * time.Millisecond)
		s := w.sender(sender.Config{Linger: time.Second})
		w.enqueue(s, sender.Text("first"), nil) // it does not linger
		w.flush(s)
		began := time.Now()
		h := s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			var n int
			_, _ = fmt.Sscan(r.Body, &n)
			time.Sleep(time.Duration(n) * time.Millisecond)
			return s.SendWithRecord(ctx, sender.Text(r.Body))
		}))
		w.wantFailures(0, h, "1", "2", "3", "4", "5", "6")
		w.wantCalls(1, 6)
		w.wantTook(began, 26*time.Millisecond) // 6 ms of the slowest function and 20 ms of the call
	})
}

// Records whose functions only send share a call, although none may be in its function
// when another one ends.
func TestWrap_QuickRecordsShareACall(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Linger: time.Second})
		h := s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			return s.SendWithRecord(ctx, sender.Text(r.Body))
		}))
		for range 10 {
			began := time.Now()
			if failed := w.invoke(h, "1", "2", "3", "4", "5"); len(failed) > 0 || time.Since(began) != time.Millisecond {
				w.Errorf("%q failed, after %v", failed, time.Since(began))
			}
		}
		if got := w.calls(); len(got) != 10 {
			w.Errorf("calls of %d messages, want one for each batch", got)
		}
	})
}

func TestWrap_LingerIsShortIfTheDeadlineIsNear(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(2 * time.Second)
		s := w.sender(sender.Config{Linger: time.Minute})
		w.enqueue(s, sender.Text("first"), nil)
		w.flush(s)
		h := s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			if r.Body == "slow" {
				<-ctx.Done()
				return ctx.Err()
			}
			return s.SendWithRecord(ctx, sender.Text(r.Body))
		}))
		if failed := w.invoke(h, "1", "slow"); !slices.Equal(failed, []string{"slow"}) {
			w.Errorf("%q failed, want only the slow record", failed)
		}
	})
}

func TestWrap_AFailedSendFailsItsRecordAlone(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{})
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Skip: 3, Times: 1})
		w.wantFailures(1, forward(s), "1", "2", "3", "4")
		w.wantSent(7)
	})
}

func TestWrap_TheErrorNamesTheFailedMessages(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{})
		w.inject(sqs.Fault{Kind: sqs.Failure, Code: "AccessDeniedException", Operation: "SendMessageBatch"})
		err := forward(s).Handle(w.Context(), batch.Record{Body: "secret"})
		if failed, is := errors.AsType[*sender.FailedError](err); !is || failure(err) == nil || failed.Messages != 2 || len(failed.Failed) != 2 || failed.Queue != "orders" {
			w.Fatalf("%v", err)
		}
		if text := err.Error(); !strings.HasPrefix(text, "sender: 2 of 2 messages to orders are not confirmed; the message was not sent (1 tries): ") || strings.Contains(text, "secret") {
			w.Error(text)
		}
	})
}

// requireNothingMore checks that no message is sent any more, although SQS works again.
func (w *world) requireNothingMore() {
	w.Helper()
	w.server.ClearFaults()
	before := len(w.bodies())
	time.Sleep(time.Hour)
	synctest.Wait()
	if after := len(w.bodies()); after != before {
		w.Errorf("%d messages were sent after the end", after-before)
	}
}

func TestWrap_RecordsThatSendFailInTimeAndNothingIsSentLater(t *testing.T) {
	for name, fault := range map[string]sqs.Fault{
		"throttled": {Kind: sqs.Throttled, Operation: "SendMessageBatch"},
		"refused":   {Kind: sqs.Refused, Operation: "SendMessageBatch"},
		"entries":   {Kind: sqs.EntryFailure, Operation: "SendMessageBatch"},
		"hanging":   {Kind: sqs.Hang, Operation: "SendMessageBatch"},
		"no URL":    {Kind: sqs.Latency, Latency: 9900 * time.Millisecond, Operation: "GetQueueUrl"},
	} {
		for _, body := range []string{"good", "bad"} {
			runInWorld(t, name+", "+body, false, func(w *world) {
				s := w.sender(sender.Config{Queue: w.name, Concurrency: 1})
				w.inject(fault)
				if failed := w.invoke(forward(s), body+" 1", body+" 2", "no sends"); !slices.Equal(failed, []string{body + " 1", body + " 2"}) {
					w.Errorf("%q failed, want those that send", failed)
				}
				w.requireNothingMore()
			})
		}
	}
}

// A handler that ignores the end of its context is abandoned. What it sends then is refused,
// and what it has sent before does not stay in the buffer.
func TestWrap_AbandonedHandlers(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{})
		w.inject(sqs.Fault{Kind: sqs.Throttled, Operation: "SendMessageBatch"})
		var late error
		h := s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			if err := s.SendWithRecord(ctx, sender.Text("early")); err != nil {
				return err
			}
			time.Sleep(time.Minute)
			late = s.SendWithRecord(ctx, sender.Text("late"))
			return nil
		}))
		w.wantFailures(1, h, "1")
		w.requireNothingMore()
		if !errors.Is(late, sender.ErrEnded) {
			w.Errorf("the late message: %v", late)
		}
		if n := len(w.bodies()); n != 0 {
			w.Errorf("%d messages", n)
		}
	})
}

func TestWrap_AFailedFunctionWithdrawsAndWaitsForCallsInFlight(t *testing.T) {
	for name, end := range map[string]func() error{"error": func() error { return errors.New("no") }, "panic": func() error { panic("oops") }} {
		runInWorld(t, name, false, func(w *world) {
			w.slow(time.Second)
			s := w.sender(sender.Config{})
			h := s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
				for i := range 3 {
					if err := s.SendWithRecord(ctx, numbered(i)); err != nil {
						return err
					}
					time.Sleep(4 * time.Millisecond) // two of them linger for 5 ms
				}
				return end()
			}))
			began := time.Now()
			w.wantFailures(1, h, "1")
			w.wantTook(began, 1005*time.Millisecond) // the second of the call in flight
			w.requireNothingMore()
			w.wantBodies("0", "1")
		})
	}
}

// A call that is in flight when the function fails is the last one with its messages.
func TestWrap_AFailedFunctionHasNoOtherTry(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Latency, Latency: time.Second, Operation: "SendMessageBatch"}, sqs.Fault{Kind: sqs.EntryFailure, Times: 1})
		s := w.sender(sender.Config{})
		began := time.Now()
		w.invoke(s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			defer time.Sleep(5 * time.Millisecond)
			return errors.Join(errors.New("no"), s.SendWithRecord(ctx, sender.Text("x")))
		})), "1")
		w.wantTook(began, 1005*time.Millisecond) // one call of 1 s
		w.requireNothingMore()
		w.wantBodies()
	})
}

func TestWrap_AFailedFunctionDoesNotWaitForPlaces(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.slow(time.Second)
		s := w.sender(sender.Config{MaxBuffered: 1})
		for i := range 3 {
			go func() { _ = s.Send(w.Context(), numbered(i)) }()
			synctest.Wait()
		}
		refused, began := make(chan error, 1), time.Now()
		w.invoke(s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			go func() { refused <- s.SendWithRecord(ctx, sender.Text("x")) }()
			time.Sleep(time.Millisecond)
			return errors.New("no")
		})), "1")
		if err := <-refused; !errors.Is(err, sender.ErrWithdrawn) || time.Since(began) > time.Millisecond {
			w.Errorf("got %v after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute)
		w.wantBodies("0", "1", "2")
	})
}

// What comes after a failed message is not sent: the record comes back, and sends both in
// order.
func TestSendWithRecord_AfterAFailedMessage(t *testing.T) {
	for name, c := range map[string]struct {
		fifo bool
		cfg  sender.Config
		wait time.Duration // between the two
	}{
		"when it has failed":    {true, sender.Config{}, 2 * time.Second},
		"waiting for its place": {false, sender.Config{MaxBuffered: 1}, 0},
	} {
		runInWorld(t, name, c.fifo, func(w *world) {
			w.slow(time.Second)
			w.inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Times: 1})
			s := w.sender(c.cfg)
			w.wantFailures(1, s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
				if err := s.SendWithRecord(ctx, sender.Message{Body: "first", Group: "g"}); err != nil {
					w.Error(err)
				}
				time.Sleep(c.wait)
				if err := s.SendWithRecord(ctx, sender.Message{Body: "second", Group: "g"}); !errors.Is(err, sender.ErrRecordFailed) {
					w.Errorf("got %v", err)
				}
				return nil
			})), "1")
			w.wantBodies()
		})
	}
}

// The first try of the record sends one of two messages. The second try sends both.
func TestSendWithRecord_ARepeatedMessageIsDroppedByAFIFOQueue(t *testing.T) {
	inWorld(t, true, func(w *world) {
		s := w.sender(sender.Config{})
		order := []string{"x", "x", "y"} // equal messages are two
		h := s.Wrap(batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			for _, body := range order {
				if err := s.SendWithRecord(ctx, sender.Message{Body: body, Group: "g"}); err != nil {
					return err
				}
			}
			return nil
		}))
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Skip: 1, Times: 1})
		w.wantFailures(1, h, "1")
		w.wantBodies("x")
		order = []string{"y", "x", "x"} // the function may change its mind
		for range 2 {
			w.wantFailures(0, h, "1")
		}
		w.wantBodies("x", "y", "x")
		if failed := w.invoke(h, "2"); len(failed) > 0 || len(w.bodies()) != 6 {
			w.Errorf("another record: %q failed, the queue has %q", failed, w.bodies())
		}
	})
}

func TestWrap_SeveralSenders(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.create("mails")
		orders, mails := w.sender(sender.Config{}), w.sender(sender.Config{Queue: "mails"})
		h := batch.HandlerFunc(func(ctx context.Context, r batch.Record) error {
			return errors.Join(orders.SendWithRecord(ctx, sender.Text("order")), mails.SendWithRecord(ctx, sender.Text("mail")))
		})
		w.wantFailures(0, batch.Chain(h, orders.Wrap, mails.Wrap), "1")
		if got := w.bodies(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"mail", "order"}) {
			w.Errorf("sent %q", got)
		}
		w.wantFailures(1, batch.Chain(h, orders.Wrap), "1")
	})
}

func TestBegin_EachItemOfABulkHandlerFailsByItself(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{CorrelationAttribute: "correlation_id"})
		fn := func(ctx context.Context, items []bulk.Item[string]) error {
			for _, ctx := range []context.Context{ctx, bulk.Context(ctx, items[0])} {
				if err := s.SendWithRecord(ctx, sender.Text("x")); !errors.Is(err, sender.ErrNoRecord) {
					w.Errorf("in a bulk handler, which may be called again for a half: %v", err)
				}
			}
			sends := make([]*sender.Sends, len(items))
			for i := range items {
				sends[i] = s.Begin(bulk.Context(ctx, items[i]))
				if err := sends[i].Enqueue(sender.Text(items[i].Value)); err != nil {
					items[i].Fail(err)
				}
			}
			for i := range items {
				if err := sends[i].Wait(); err != nil {
					items[i].Fail(err)
				}
			}
			return nil
		}
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Skip: 2, Times: 1})
		h := bulk.New(func(_ context.Context, r batch.Record) (string, error) { return r.Body, nil }, fn, bulk.Config{})
		w.wantFailures(1, batch.Chain(h, s.Wrap), "1", "2", "3", "4")
		for _, m := range w.server.Snapshot()[0].Messages {
			if got := m.Attributes["correlation_id"].String; got != "id-"+m.Body {
				w.Errorf("message %s has the correlation id %q", m.Body, got)
			}
		}
	})
}

// Records wait for places in a buffer of one message, and none is stuck.
func TestWrap_AFullBuffer(t *testing.T) {
	for _, body := range []string{"good ", "bad "} {
		runInWorld(t, body, false, func(w *world) {
			w.slow(10 * time.Millisecond)
			s := w.sender(sender.Config{MaxBuffered: 1})
			var bodies []string
			for i := range 10 {
				bodies = append(bodies, body+fmt.Sprint(i))
			}
			failed := w.invoke(forward(s), bodies...)
			if want := map[string]int{"good ": 0, "bad ": 10}[body]; len(failed) != want {
				w.Errorf("%d failed, want %d", len(failed), want)
			}
			w.requireNothingMore()
		})
	}
}

func TestFlushHook_SendsWhatIsInTheBufferAtTheEndOfAnInvocation(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Linger: time.Minute})
		w.enqueue(s, sender.Text("first"), nil)
		w.flush(s)
		h := batch.HandlerFunc(func(ctx context.Context, r batch.Record) error { return s.Enqueue(ctx, sender.Text(r.Body), nil) })
		began := time.Now()
		w.invokeWith(handler.Config{Hooks: testhooks.Of(s)}, h, "1", "2")
		if got := w.calls(); !slices.Equal(got, []int{1, 2}) || time.Since(began) > 0 {
			w.Errorf("calls of %d messages after %v", got, time.Since(began))
		}
		w.inject(sqs.Fault{Kind: sqs.Hang, Operation: "SendMessageBatch"})
		w.invokeWith(handler.Config{Hooks: testhooks.Of(s)}, h, "3")
		if took := time.Since(began); took < 2*time.Second || took > 3*time.Second {
			w.Errorf("the flush took %v, and it has 2 s", took)
		}
	})
}
