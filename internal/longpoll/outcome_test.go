package longpoll_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/partialfailure"
)

// oncePer fails the first attempt of each record by f.
func oncePer(f func(r batch.Record) error) handle {
	return func(_ context.Context, r batch.Record) error {
		if r.Attempt == 1 {
			return f(r)
		}
		return nil
	}
}

func TestFailedRecord_ComesBackWhenItsErrorSays(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name string
		err  error
		want float64 // seconds after the failure
	}{
		{"backoff", boom, 7},
		{"retry after", batch.RetryAfter(30*time.Second, boom), 30},
		{"retry at once", batch.RetryAfter(0, boom), 0},
		{"retry far beyond what SQS takes", batch.RetryAfter(100*time.Hour, boom), 12*3600 - 5},
		{"retry in part of a second", batch.RetryAfter(1500*time.Millisecond, boom), 2},
		{"permanent without its queue", batch.Permanent(boom), 7},
		{"wrapped", errors.Join(errors.New("more"), batch.RetryAfter(30*time.Second, boom)), 30},
	}
	for _, test := range tests {
		inWorld(t, standardQueue, oncePer(func(batch.Record) error { return test.err }), func(c *longpoll.Config) {
			c.Failures.Backoff = func(int) time.Duration { return 7 * time.Second }
			if strings.Contains(test.name, "permanent") {
				c.Failures.OnPermanent = partialfailure.Retry
			}
		}, func(w *world) {
			w.inject(latency(5 * time.Millisecond)) // so that the hooks are notified of one after the other
			w.Send("a")
			w.start()
			w.after(time.Duration(test.want)*time.Second + time.Hour)
			w.wantHandled("a", "a")
			if got := w.returned("a"); len(got) != 1 || math.Abs(got[0]-test.want) > 1.1 {
				t.Errorf("%s: came back at %v s, want %v", test.name, got, test.want)
			}
			w.wantOutcomes(batch.Retry, batch.Succeeded)
			if r := w.results[0]; !r.VisibilitySet || math.Abs(r.VisibleIn.Seconds()-test.want) > 1.1 {
				t.Errorf("%s: the result says visible in %v (%v)", test.name, r.VisibleIn, r.VisibilitySet)
			}
		})
	}
}

// What failed together does not come back together, nor at once.
func TestExponentialBackoff_SpreadsReturningRecords(t *testing.T) {
	inWorld(t, standardQueue, oncePer(func(batch.Record) error { return errors.New("boom") }), func(c *longpoll.Config) {
		c.Failures.Backoff = partialfailure.Exponential(time.Minute, time.Hour)
	}, func(w *world) {
		w.Send(numbered(50, "")...)
		w.start()
		w.after(5 * time.Minute)
		seconds := map[int]int{}
		for _, e := range w.Events(sqs.Returned) {
			seconds[int(e.Time.Sub(w.began).Seconds())]++
		}
		if len(seconds) < 15 || seconds[0] > 0 {
			t.Errorf("50 records came back at %v, want them spread over a minute", seconds)
		}
		if n := w.deleted(); n != 50 {
			t.Errorf("%d deleted", n)
		}
	})
}

// Failures are settled in tens, entries that fail again.
func TestManyFailures_AreSettledInTens(t *testing.T) {
	inWorld(t, standardQueue, oncePer(func(batch.Record) error { return batch.RetryAfter(5*time.Second, errors.New("boom")) }), func(c *longpoll.Config) {
		c.Engine.Concurrency = 30
	}, func(w *world) {
		w.sendMany(30)
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: extension, Times: 4})
		w.start()
		w.after(4 * time.Second)
		entries := 0
		for _, c := range w.Server().Calls(extension) {
			entries += c.Messages
		}
		if n := w.count(extension); n > 7 || entries != 34 {
			t.Errorf("%d calls with %d entries, want 34 entries in few calls", n, entries)
		}
		w.after(3 * time.Second)
		if n := w.deleted(); n != 30 {
			t.Errorf("%d of 30 came back in 7 s and were deleted", n)
		}
	})
}

// A failed call only costs the backoff.
func TestVisibilityDenied_CostsOnlyTheBackoff(t *testing.T) {
	inWorld(t, standardQueue, oncePer(func(batch.Record) error { return errors.New("boom") }), nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension, Code: "AccessDenied"})
		w.Send("a", "b")
		w.start()
		w.after(2 * time.Minute)
		if n := w.deleted(); n != 2 {
			t.Errorf("%d deleted, want 2: both come back when their visibility is over", n)
		}
		if got := w.warningsWith("ChangeMessageVisibility"); len(got) != 1 {
			t.Errorf("warned of %q", w.warnings)
		}
	})
}

// Panics, Goexit and nil pointers fail their record only.
func TestPanicOrGoexit_FailsOnlyItsRecord(t *testing.T) {
	h := oncePer(func(r batch.Record) error {
		switch r.Body {
		case "panic":
			panic("oops")
		case "goexit":
			runtime.Goexit()
		case "nil":
			var e *longpoll.ConfigError
			return e // its methods panic
		}
		return nil
	})
	inWorld(t, standardQueue, h, func(c *longpoll.Config) { c.Engine.Concurrency = 1 }, func(w *world) {
		w.Send("panic", "goexit", "nil", "fine")
		w.start()
		w.after(time.Minute)
		if n := w.deleted(); n != 4 {
			t.Errorf("%d of 4 deleted, want all at the second attempt", n)
		}
		if s := w.p.Status(); s.Running != 0 || s.Counts.Failed != 3 || s.AbandonedRunning != 0 {
			t.Errorf("status %+v", s)
		}
		panics := 0
		for _, r := range w.results {
			var p *batch.PanicError
			if errors.As(r.Err, &p) && len(p.Stack) > 0 {
				panics++
			}
		}
		if panics != 2 {
			t.Errorf("%d results have a panic and its stack, want 2", panics)
		}
	})
}

func TestPermanentError_IsDeadLettered(t *testing.T) {
	inWorld(t, standardQueue, func(context.Context, batch.Record) error { return batch.Permanent(errors.New("no such thing")) }, nil, func(w *world) {
		w.SendInput(&awssqs.SendMessageInput{MessageBody: aws.String("a"), MessageAttributes: map[string]types.MessageAttributeValue{
			"n": {DataType: aws.String("Number"), StringValue: aws.String("42")}}})
		w.start()
		w.after(time.Second)
		dead := w.DeadLetters()
		if len(dead) != 1 || *dead[0].Body != "a" || *dead[0].MessageAttributes["n"].StringValue != "42" ||
			len(dead[0].MessageAttributes) != 2 {
			t.Fatalf("dead letters %v", dead)
		}
		o, err := partialfailure.ParseOrigin(*dead[0].MessageAttributes[partialfailure.OriginAttribute].StringValue)
		if err != nil || o.Reason != "no such thing" || o.MessageID != w.Events(sqs.Sent)[0].MessageID || o.Attempts != 1 {
			t.Errorf("the origin is %+v, %v", o, err)
		}
		w.wantOutcomes(batch.DeadLettered)
		if s := w.p.Status(); w.deleted() != 1 || s.Counts.Failed != 1 || s.Undeleted != 0 {
			t.Errorf("%d deleted, status %+v", w.deleted(), s)
		}
	})
}

func TestDeadLetterDeleteFails_IsSentOnceAndDeleteRetried(t *testing.T) {
	inWorld(t, standardQueue, func(context.Context, batch.Record) error { return batch.Permanent(errors.New("boom")) }, nil, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: deletion, Times: 20})
		w.Send("a")
		w.start()
		w.after(time.Second)
		if n := w.p.Status().Undeleted; n != 1 {
			t.Errorf("Undeleted is %d, want 1", n)
		}
		w.after(5 * time.Minute)
		w.wantHandled("a")
		w.wantOutcomes(batch.DeadLettered)
		if n := w.count("SendMessageBatch"); n != 1 || w.deleted() != 1 || w.p.Status().Undeleted != 0 {
			t.Errorf("sent %d times, %d deleted, Undeleted %d; want 1, 1 and 0", n, w.deleted(), w.p.Status().Undeleted)
		}
	})
}

func TestDeadLetterSendFails_RecordIsRetried(t *testing.T) {
	inWorld(t, standardQueue, func(context.Context, batch.Record) error { return batch.Permanent(errors.New("boom")) }, func(c *longpoll.Config) {
		c.Failures.Backoff = func(int) time.Duration { return 10 * time.Second }
	}, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: "SendMessageBatch", Code: "AccessDenied", Times: 1})
		w.Send("a")
		w.start()
		w.after(8 * time.Second)
		w.wantOutcomes(batch.Retry)
		w.after(5 * time.Second)
		w.wantOutcomes(batch.Retry, batch.DeadLettered)
		if n := len(w.DeadLetters()); n != 1 || w.deleted() != 1 {
			t.Errorf("%d dead letters, %d deleted; want 1 of each", n, w.deleted())
		}
	})
}

// Malformed records do not vanish.
func TestMalformedRecord_IsDeadLettered(t *testing.T) {
	type order struct{ N int }
	decode := batch.JSON(func(context.Context, order) error { return nil })
	inWorld(t, standardQueue, decode.Handle, nil, func(w *world) {
		w.Send(`{"N":1}`, `not json`)
		w.start()
		w.after(time.Second)
		if dead := w.DeadLetters(); len(dead) != 1 || *dead[0].Body != "not json" {
			t.Errorf("dead letters %v", dead)
		}
		got := w.outcomes()
		slices.Sort(got)
		if !slices.Equal(got, []batch.Outcome{batch.Succeeded, batch.DeadLettered}) || w.deleted() != 2 {
			t.Errorf("outcomes %v, %d deleted", got, w.deleted())
		}
	})
}

func TestOnPermanentDrop_RecordIsDeleted(t *testing.T) {
	inWorld(t, standardQueue, func(context.Context, batch.Record) error { return batch.Permanent(errors.New("boom")) }, func(c *longpoll.Config) {
		c.Failures.OnPermanent = partialfailure.Drop
	}, func(w *world) {
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Operation: deletion, Times: 5})
		w.Send("a")
		w.start()
		w.after(time.Minute)
		w.wantHandled("a")
		w.wantOutcomes(batch.Dropped)
		if n := len(w.DeadLetters()); n != 0 || w.deleted() != 1 {
			t.Errorf("%d dead letters, %d deleted; want 0 and 1", n, w.deleted())
		}
	})
}

func TestLastTwoAttempts_AreWarnedOf(t *testing.T) {
	inWorld(t, standardQueue, func(context.Context, batch.Record) error { return batch.RetryAfter(time.Second, errors.New("boom")) }, nil, func(w *world) {
		w.Send("a")
		w.start()
		w.after(20 * time.Second)
		w.Send("b") // reported as well, although the same was reported less than a minute ago
		w.after(20 * time.Second)
		if n := len(w.bodies()); n != 10 {
			t.Errorf("%d attempts, want 5 of each (the RedrivePolicy's)", n)
		}
		if got := w.warningsWith("left before the dead-letter queue"); len(got) != 4 || !strings.Contains(got[1], "5 of 5 used") {
			t.Errorf("warned of %q, want attempts 4 and 5 of each", w.warnings)
		}
		if n := len(w.DeadLetters()); n != 2 {
			t.Errorf("%d dead letters", n)
		}
	})
}
