package sender_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/sender"
)

// inGroup makes the i-th message of one of some groups.
func inGroup(groups int) func(i int) sender.Message {
	return func(i int) sender.Message {
		m := numbered(i)
		m.Group = fmt.Sprint("group-", i%groups)
		return m
	}
}

// requireOrder checks that there are n messages, those of each group in order, and none
// twice.
func requireOrder(t *testing.T, messages []sqs.MessageSnapshot, n int) {
	t.Helper()
	latest := map[string]int{}
	for _, m := range messages {
		var i int
		if _, err := fmt.Sscan(m.Body, &i); err != nil {
			t.Fatal(err)
		}
		if before, ok := latest[m.MessageGroupID]; ok && i <= before {
			t.Errorf("%s: %d came after %d", m.MessageGroupID, i, before)
		}
		latest[m.MessageGroupID] = i
	}
	if len(messages) != n {
		t.Errorf("%d messages in the queue, want %d", len(messages), n)
	}
}

func TestFIFO_MessagesBehindAFailedOneFail(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.slow(time.Millisecond) // so that all messages are there when the first one fails
		s := w.sender(sender.Config{Concurrency: 1})
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Times: 1})
		var order []string
		failed := 0
		for i := range 6 {
			w.enqueue(s, inGroup(2)(i), func(r sender.Result) {
				order = append(order, r.Message.Body)
				if r.Err != nil {
					failed++
				}
				if i > 0 && r.Message.Group == "group-0" && (!errors.Is(r.Err, sender.ErrGroupFailed) || r.MayHaveBeenSent) {
					w.Errorf("message %d: %v", i, r.Err)
				}
			})
		}
		w.flush(s)
		if failed != 3 {
			w.Errorf("%d messages failed, want those of one group", failed)
		}
		requireOrder(w.T, w.server.Snapshot()[0].Messages, 3)
		for _, group := range [][]string{{"0", "2", "4"}, {"1", "3", "5"}} {
			got := slices.DeleteFunc(slices.Clone(order), func(b string) bool { return !slices.Contains(group, b) })
			if !slices.Equal(got, group) {
				w.Errorf("results in the order %q, want %q", got, group)
			}
		}
		// Later messages of the group are sent.
		w.send(s, inGroup(2)(6))
	})
}

// A try that may have been taken is not repeated when SQS may have forgotten it.
func TestFIFO_NoTryAfterTheDeduplicationInterval(t *testing.T) {
	for _, c := range []struct {
		fault sqs.Fault
		want  bool // it fails
	}{
		{sqs.Fault{Kind: sqs.LostAnswer}, true}, {sqs.Fault{Kind: sqs.Hang}, true},
		{sqs.Fault{Kind: sqs.Failure, CarriedOut: true}, true}, {sqs.Fault{Kind: sqs.Failure, Code: "ServiceUnavailable"}, true},
		{sqs.Fault{Kind: sqs.EntryFailure, CarriedOut: true}, true},
		{sqs.Fault{Kind: sqs.Throttled}, false}, {sqs.Fault{Kind: sqs.Refused}, false},
	} {
		runInWorld(t, string(c.fault.Kind)+c.fault.Code, true, func(w *world) {
			s := w.sender(sender.Config{})
			c.fault.Operation = "SendMessageBatch"
			w.inject(c.fault)
			result := make(chan sender.Result, 1)
			w.enqueue(s, inGroup(1)(0), func(r sender.Result) { result <- r })
			began := time.Now()
			time.Sleep(4 * time.Minute)
			if len(result) > 0 {
				w.Fatalf("over after 4 min: %+v", <-result)
			}
			time.Sleep(2 * time.Minute)
			w.server.ClearFaults()
			w.flush(s)
			got := <-result
			if failed := errors.Is(got.Err, sender.ErrTooLate); failed != c.want || got.MayHaveBeenSent != c.want || !c.want && got.Err != nil {
				w.Errorf("got %+v", got)
			}
			for _, call := range w.server.Calls("SendMessageBatch") {
				if at := call.Began.Sub(began); c.want && at > 5*time.Minute {
					w.Errorf("a call after %v", at)
				}
			}
			if got := len(w.bodies()); got > 1 {
				w.Errorf("%d copies", got)
			}
		})
	}
}

func TestFIFO_ContentBasedDeduplicationLeavesTheIDToTheQueue(t *testing.T) {
	inWorld(t, true, func(w *world) {
		queue := w.server.QueueURL(w.name)
		if _, err := w.client.SetQueueAttributes(w.Context(), &awssqs.SetQueueAttributesInput{
			QueueUrl: &queue, Attributes: map[string]string{"ContentBasedDeduplication": "true"}}); err != nil {
			w.Fatal(err)
		}
		for want, s := range []*sender.Sender{w.sender(sender.Config{ContentBasedDeduplication: true}), w.sender(sender.Config{})} {
			for range 2 {
				w.send(s, inGroup(1)(0))
			}
			if got := len(w.bodies()); got != 1+2*want {
				w.Errorf("%d messages, want %d", got, 1+2*want)
			}
		}
	})
}

// The id in the result makes it safe to send a message again.
func TestFIFO_ResultsHaveTheDeduplicationID(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.LostAnswer, Operation: "SendMessageBatch"})
		first := w.sender(sender.Config{})
		w.enqueue(first, inGroup(1)(0), nil)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		left := first.Close(ctx)
		w.server.ClearFaults()
		if len(left) != 1 || !left[0].MayHaveBeenSent || left[0].Message.DeduplicationID == "" {
			w.Fatalf("left: %+v", left)
		}
		if err := w.sender(sender.Config{}).Send(w.Context(), left[0].Message); err != nil {
			w.Fatal(err)
		}
		w.wantSent(1)
	})
}

func TestFIFO_ASendThatEndsLetsItsGroupGoOn(t *testing.T) {
	inWorld(t, true, func(w *world) {
		s := w.sender(sender.Config{})
		w.inject(sqs.Fault{Kind: sqs.Hang, Times: 1})
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		go func() { _ = s.Send(ctx, inGroup(1)(0)) }()
		time.Sleep(time.Millisecond)
		go func() { _ = s.Send(ctx, inGroup(1)(1)) }()
		time.Sleep(time.Millisecond)
		w.send(s, inGroup(1)(2))
		w.wantBodies("2")
	})
}

// The second message of a group has waited for the first, so it does not linger as well.
func TestFIFO_TheNextMessageDoesNotLinger(t *testing.T) {
	inWorld(t, true, func(w *world) {
		w.slow(10 * time.Millisecond)
		s := w.sender(sender.Config{Linger: time.Second})
		w.enqueue(s, inGroup(1)(0), nil)
		began := time.Now()
		w.send(s, inGroup(1)(1))
		w.wantTook(began, 20*time.Millisecond) // two calls of 10 ms
	})
}

// A message is in the buffer until its function has returned. One that comes before that is
// behind a failed one, too. So a producer that stops at the first failure keeps the order.
func TestFIFO_AMessageThatComesWhileAFailureIsReportedFails(t *testing.T) {
	inWorld(t, true, func(w *world) {
		s := w.sender(sender.Config{})
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Times: 1})
		var behind error
		w.enqueue(s, inGroup(1)(0), func(sender.Result) {
			w.enqueue(s, inGroup(1)(1), func(r sender.Result) { behind = r.Err })
		})
		w.flush(s)
		if !errors.Is(behind, sender.ErrGroupFailed) {
			w.Errorf("the message behind: %v", behind)
		}
		if err := s.Send(w.Context(), inGroup(1)(2)); err != nil {
			w.Errorf("a message that came later: %v", err)
		}
		w.wantBodies("2")
	})
}
