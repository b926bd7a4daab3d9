package sender_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/sender"
)

var (
	sqsFaultGetQueueURL = sqs.Fault{Kind: sqs.Refused, Operation: "GetQueueUrl", Times: 1}
	sqsFaultOneEntry    = sqs.Fault{Kind: sqs.EntryFailure, Times: 1}
)

// results sends n messages "0", "1", ... and returns their results.
func (w *world) results(s *sender.Sender, n int, message func(i int) sender.Message) []sender.Result {
	w.Helper()
	list := make([]sender.Result, n)
	for i := range n {
		w.enqueue(s, message(i), func(r sender.Result) { list[i] = r })
	}
	w.flush(s)
	return list
}

func numbered(i int) sender.Message { return sender.Text(fmt.Sprint(i)) }

func TestEntryThatFails_IsRetriedAlone(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{})
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Skip: 4, Times: 2})
		for i, r := range w.results(s, 21, numbered) {
			if r.Err != nil || r.MessageID == "" {
				w.Errorf("message %d: %+v", i, r)
			}
		}
		w.wantSent(21)
		if got := slices.Sorted(slices.Values(w.calls())); !slices.Equal(got, []int{1, 2, 10, 10}) {
			w.Errorf("calls of %d messages, want 1, 10, 10 and 2", got)
		}
	})
}

func TestEntryThatSQSRefuses_FailsAlone(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{})
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Code: "InvalidMessageContents", Skip: 5, Times: 1})
		for i, r := range w.results(s, 20, numbered) {
			if r.Err != nil && (sqserror.Code(r.Err) != "InvalidMessageContents" || failure(r.Err) == nil || r.MayHaveBeenSent || r.Tries != 1) {
				w.Errorf("message %d: %+v", i, r)
			}
		}
		w.wantSent(19)
	})
}

// The server takes smaller calls than SQS does, so the calls are refused as a whole.
func TestCallThatIsRefused_IsHalved(t *testing.T) {
	inWorldWith(t, sqs.Config{MaxBatchBytes: 40}, false, func(w *world) {
		s := w.sender(sender.Config{})
		for i, r := range w.results(s, 20, func(i int) sender.Message { return sender.Text(fmt.Sprintf("%010d", i)) }) {
			if r.Err != nil {
				w.Errorf("message %d: %v", i, r.Err)
			}
		}
		w.wantSent(20)
	})
}

func TestNoSuchQueue_FailsAtOnce(t *testing.T) {
	inWorld(t, false, func(w *world) {
		for _, queue := range []string{"absent", w.server.QueueURL("absent")} {
			s := w.sender(sender.Config{Queue: queue})
			err := s.Send(w.Context(), sender.Text("x"))
			if e := failure(err); e == nil || e.MayHaveBeenSent || e.Tries != 1 {
				w.Errorf("%s: %v", queue, err)
			}
		}
	})
}

func TestNoCredentials_WasNotSent(t *testing.T) {
	inWorld(t, false, func(w *world) {
		w.client = w.server.Client(func(o *awssqs.Options) {
			o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{}, errors.New("no credentials")
			})
		})
		err := w.sender(sender.Config{}).Send(w.Context(), sender.Text("x"))
		if e := failure(err); e == nil || e.MayHaveBeenSent {
			w.Errorf("%v, want an error of a message that was not sent", err)
		}
	})
}

// While SQS throttles, there are fewer and fewer calls, down to one every few seconds.
func TestThrottling_SlowsTheSenderDown(t *testing.T) {
	for _, kind := range []sqs.FaultKind{sqs.Throttled, sqs.Refused, sqs.Failure, sqs.LostAnswer} {
		runInWorld(t, string(kind), false, func(w *world) {
			w.slow(10 * time.Millisecond)
			s := w.sender(sender.Config{})
			w.inject(sqs.Fault{Kind: kind, Operation: "SendMessageBatch"})
			for i := range 1000 {
				w.enqueue(s, numbered(i), nil)
			}
			time.Sleep(time.Minute)
			n := len(w.calls())
			if n > 70 {
				w.Errorf("%d calls in the first minute, want at most 70: 16 + 8 + 4 + 2, and then one at a time", n)
			}
			time.Sleep(time.Minute)
			if n = len(w.calls()) - n; n < 10 || n > 26 {
				w.Errorf("%d calls in the second minute, want one every 2.5 to 5 s", n)
			}
			w.server.ClearFaults()
			w.slow(10 * time.Millisecond)
			began := time.Now()
			w.flush(s)
			if took := time.Since(began); took > 11*time.Second {
				w.Errorf("the messages were sent %v after SQS worked again", took)
			}
		})
	}
}

func TestHangingCall_IsGivenUp(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{CallTimeout: 2 * time.Second})
		w.inject(sqs.Fault{Kind: sqs.Hang, Times: 1})
		began := time.Now()
		w.send(s, sender.Text("x"))
		if took := time.Since(began); took < 2*time.Second || took > 3*time.Second {
			w.Errorf("it took %v, want a timeout of 2 s and a retry", took)
		}
	})
}

func TestSend_EndsWithItsContextAndSaysWhetherItMayHaveSent(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault sqs.Fault
		want  bool
	}{
		{"in flight", sqs.Fault{Kind: sqs.Hang}, true},
		{"an answer was lost", sqs.Fault{Kind: sqs.LostAnswer}, true},
		{"an error after the message was sent", sqs.Fault{Kind: sqs.Failure, CarriedOut: true}, true},
		{"an entry's error after it was sent", sqs.Fault{Kind: sqs.EntryFailure, CarriedOut: true}, true},
		{"throttled", sqs.Fault{Kind: sqs.Throttled}, false},
		{"no connection", sqs.Fault{Kind: sqs.Refused}, false},
	} {
		runInWorld(t, c.name, false, func(w *world) {
			s := w.sender(sender.Config{})
			w.inject(c.fault)
			ctx, cancel := context.WithTimeoutCause(w.Context(), 5*time.Second, errors.New("the client is impatient"))
			defer cancel()
			began := time.Now()
			err := s.Send(ctx, sender.Text("x"))
			w.wantTook(began, 5*time.Second)
			e := failure(err)
			if e == nil || e.Tries == 0 || e.MayHaveBeenSent != c.want || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, context.Cause(ctx)) {
				w.Errorf("got %v", err)
			}
			w.server.ClearFaults()
			time.Sleep(time.Hour)
			sent := len(w.bodies())
			if c.want != (sent > 0) && c.fault.Kind != sqs.Hang {
				w.Errorf("the queue has %d messages", sent)
			}
		})
	}
}

func TestSend_AMessageThatWaitsIsNotSentAfterItsContext(t *testing.T) {
	inWorld(t, false, func(w *world) {
		s := w.sender(sender.Config{Linger: time.Minute})
		w.enqueue(s, sender.Text("first"), nil)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		err := s.Send(ctx, sender.Text("second"))
		if e := failure(err); e == nil || e.MayHaveBeenSent || e.Tries != 0 {
			w.Errorf("got %v", err)
		}
		s.Close(w.Context())
		w.wantBodies("first")
	})
}

// A result that comes just before the context ends counts: the message is in the queue.
func TestSend_ResultAsItsContextEnds_Counts(t *testing.T) {
	inWorld(t, false, func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		s := w.sender(sender.Config{Trace: func(context.Context, string, *sender.Message) func(sender.Result) {
			return func(sender.Result) {
				cancel()
				time.Sleep(time.Millisecond) // Send sees the end before the result
			}
		}})
		if err := s.Send(ctx, sender.Text("x")); err != nil {
			w.Error(err)
		}
	})
}
