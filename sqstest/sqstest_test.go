package sqstest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/handler"
	"github.com/sqsbatch/sqsbatch/sqstest"
)

type order struct {
	ID string `json:"id"`
}

// ship fails in the way that the id names.
func ship(ctx context.Context, o order) error {
	r, _ := batch.RecordFrom(ctx)
	switch {
	case o.ID == "busy" && r.Attempt == 1:
		return batch.RetryAfter(time.Hour, errors.New("the warehouse is busy"))
	case o.ID == "unknown":
		return batch.Permanent(errors.New("no such order"))
	case o.ID == "late":
		return batch.ErrExpired
	case o.ID == "down":
		return errors.New("the warehouse is down")
	case o.ID == "hangs":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func both(t *testing.T, test func(t *testing.T, cfg sqstest.Config)) {
	t.Run("on Lambda", func(t *testing.T) { test(t, sqstest.Config{}) })
	t.Run("in a container", func(t *testing.T) { test(t, sqstest.Config{Container: true}) })
}

func TestEachOutcome_IsToldInTheOrderOfSending(t *testing.T) {
	both(t, func(t *testing.T, cfg sqstest.Config) {
		cfg.MaxReceiveCount, cfg.Handler.RecordTimeout = 3, 10*time.Second
		sqstest.RunWith(t, batch.JSON(ship), cfg, func(t *testing.T, q *sqstest.Queue) {
			began := time.Now()
			q.Send(`{"id":"o-1"}`, `{"id":"busy"}`, `{"id":"unknown"}`, `{"id":"down"}`, `nonsense`, `{"id":"hangs"}`, `{"id":"late"}`)
			q.UntilIdle()
			q.Want("succeeded", "retry, succeeded", "dead-letter", "retry, retry, retry, redriven", "dead-letter", "retry, retry, retry, redriven", "expired")

			list := q.Messages()
			if busy := list[1]; busy.Attempts[1].Started.Sub(began) < time.Hour || !busy.DeadLetter.IsZero() || busy.Deleted.Before(busy.Attempts[1].Started) {
				t.Errorf("busy: %+v", busy)
			}
			if unknown := list[2]; unknown.DeadLetter.IsZero() || unknown.DeadLetter.After(began.Add(5*time.Second)) || unknown.Attempts[0].Err.Error() != "no such order" {
				t.Errorf("unknown: %+v", unknown)
			}
			if text := q.String(); !strings.Contains(text, "message 3 ({\"id\":\"unknown\"}): dead-letter\n\tattempt 1: no such order\n") {
				t.Error(text)
			}
		})
	})
}

func TestFIFO_KeepsTheOrderOfAGroup(t *testing.T) {
	both(t, func(t *testing.T, cfg sqstest.Config) {
		cfg.FIFO = true
		sqstest.RunWith(t, batch.JSON(ship), cfg, func(t *testing.T, q *sqstest.Queue) {
			q.Send(`{"id":"busy"}`, `{"id":"o-1"}`)
			q.SendTo("other", `{"id":"o-2"}`)
			q.UntilIdle()
			q.Want("retry, succeeded", "skipped, succeeded", "succeeded")
			if list := q.Messages(); list[1].Attempts[1].Started.Before(list[0].Attempts[1].Started) || list[2].Deleted.After(list[0].Deleted) {
				t.Errorf("out of order: %v", list)
			}
		})
	})
}

func TestFaultsAndConfiguration_AreUsed(t *testing.T) {
	both(t, func(t *testing.T, cfg sqstest.Config) {
		cfg.Handler = handler.Config{Concurrency: 1}
		cfg.Faults = []sqs.Fault{{Kind: sqs.Refused, Operation: "ReceiveMessage", Times: 3}}
		running, most := 0, 0
		h := batch.HandlerFunc(func(context.Context, batch.Record) error {
			running++
			most = max(most, running)
			time.Sleep(time.Second)
			running--
			return nil
		})
		sqstest.RunWith(t, h, cfg, func(t *testing.T, q *sqstest.Queue) {
			q.Send("a", "b")
			q.SendInput(&awssqs.SendMessageInput{MessageBody: aws.String("c"), DelaySeconds: 900})
			q.UntilIdle()
			q.Want("succeeded", "succeeded", "succeeded")
			if late := q.Messages()[2]; late.Body != "c" || late.Attempts[0].Started.Sub(q.Messages()[0].Attempts[0].Started) < 14*time.Minute {
				t.Errorf("%+v", late)
			}
			if most != 1 {
				t.Errorf("%d ran at a time", most)
			}
			refused := 0
			for _, c := range q.Server.Calls() {
				if c.Fault == sqs.Refused {
					refused++
				}
			}
			if refused != 3 {
				t.Errorf("%d calls were refused", refused)
			}
		})
	})
}
