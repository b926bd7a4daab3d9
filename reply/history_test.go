package reply_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/idempotency"
	"github.com/sqsbatch/sqsbatch/internal/sqserror"
	"github.com/sqsbatch/sqsbatch/reply"
	"github.com/sqsbatch/sqsbatch/sqstest"
	"github.com/sqsbatch/sqsbatch/test/random"
)

// Clients call while calls to SQS fail in every way, functions fail, hang and panic, clients
// are closed, and reply queues deleted. Every call ends once: with its own answer, with the
// error that its function has returned for it, or by its deadline with the reason. After that
// nothing is left: no request, no answer, no reply queue.
func TestHistories(t *testing.T) {
	random.Histories{Few: 40, Many: 100, Enough: 500, Expect: []string{
		"answers", "errors of functions", "ends of contexts", "queues that were deleted", "closed clients", "repeated requests", "expired requests",
	}, Run: func(t *testing.T, seed uint64, seen random.Seen) {
		r := random.New(seed, 1)
		// The permission to receive is not lost, and requests' queue is there, since a container would end.
		cfg, faults := sqstest.Config{Container: r.OneIn(2)}, r.Faults([]string{"SendMessageBatch", "ReceiveMessage", "DeleteMessageBatch", "CreateQueue"},
			sqs.Fault{Kind: sqs.Latency}, sqs.Fault{Kind: sqs.Failure}, sqs.Fault{Kind: sqs.Throttled}, sqs.Fault{Kind: sqs.Refused},
			sqs.Fault{Kind: sqs.Hang}, sqs.Fault{Kind: sqs.LostAnswer}, sqs.Fault{Kind: sqs.EntryFailure}, sqs.Fault{Kind: sqs.DuplicateDelivery})
		for i := range faults {
			faults[i].Times = 1 + r.IntN(20)
		}
		inWorldWith(t, cfg, func(w *world) {
			w.inject(faults...)
			h := &history{world: w, random: r, seen: seen}
			h.run()
			if w.Failed() {
				w.Fatalf("%+v, faults %+v", cfg, faults)
			}
		})
	}}.Check(t)
}

type history struct {
	*world
	random random.Rand

	mu   sync.Mutex
	seen random.Seen
}

func (h *history) saw(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen.Saw(what, true)
}

func (h *history) run() {
	var inner []func(batch.Handler) batch.Handler
	keeps := h.random.OneIn(2)
	if keeps {
		inner = append(inner, idempotency.New(idempotency.NewMemory(), idempotency.Config{Key: idempotency.Field("id"), OnDuplicate: reply.Kept}))
	}
	h.serve(h.answer, inner...)
	var all sync.WaitGroup
	for n := range 1 + h.random.IntN(3) {
		c := h.client(reply.Config{Name: fmt.Sprint("c", n), Timeout: time.Duration(1+h.random.IntN(60)) * time.Second})
		calls, closes := h.random.IntN(40), h.random.OneIn(8)
		for i := range calls {
			id, pause := fmt.Sprintf("%d-%d", n, i), h.random.UpTo(20*time.Second)
			takes := random.Pick(h.random, 0, 10*time.Millisecond, 3*time.Second, 40*time.Second)
			all.Go(func() {
				time.Sleep(pause)
				h.judge(c, Request{ID: id, Takes: takes})
			})
		}
		if closes {
			all.Go(func() {
				time.Sleep(10 * time.Second)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_ = c.Close(ctx) // what is left is deleted below
			})
		}
	}
	if h.random.OneIn(4) {
		time.Sleep(5 * time.Second)
		h.Server.ClearFaults()
		for _, q := range h.replyQueues() {
			_, _ = h.Client.DeleteQueue(h.Context(), &awssqs.DeleteQueueInput{QueueUrl: aws.String(h.Server.QueueURL(q.Name))})
		}
	}
	all.Wait()
	h.Server.ClearFaults()
	h.UntilIdle()
	for _, m := range h.Messages() {
		for _, r := range m.Attempts {
			switch r.Outcome {
			case batch.Expired:
				h.saw("expired requests")
			case batch.Duplicate:
				h.saw("repeated requests")
			case batch.DeadLettered:
				h.Errorf("%s is dead-lettered: %v", m.Body, r.Err)
			}
		}
	}
	time.Sleep(10 * time.Minute) // the retention of answers
	for _, q := range h.replyQueues() {
		if len(q.Messages) != 0 {
			h.Errorf("%d answers are left in %s", len(q.Messages), q.Name)
		}
	}
}

// answer is the function. What it does follows from the request.
func (h *history) answer(ctx context.Context, r Request) (q Quote, err error) {
	var sum int
	for _, b := range r.ID {
		sum = sum*31 + int(b)
	}
	if q, err = quote(ctx, r); err != nil {
		return q, err
	}
	switch sum % 7 {
	case 0:
		return Quote{}, batch.Permanent(errors.New(r.ID))
	case 1:
		return Quote{}, batch.RetryAfter(time.Second, errors.New(r.ID))
	case 2:
		if record, _ := batch.RecordFrom(ctx); record.Attempt == 1 {
			panic(r.ID)
		}
	}
	return q, nil
}

// judge makes a call.
func (h *history) judge(c *reply.Client, r Request) {
	ctx := context.Background()
	began, limit := time.Now(), time.Minute
	if len(r.ID)%2 == 0 {
		limit = 5 * time.Second
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	q, err := reply.Call[Quote](ctx, c, h.URL, r)
	if took := time.Since(began); took > limit {
		h.Errorf("the call %s took %v", r.ID, took)
	}
	switch e := answered(err); {
	case err == nil && q.For != r.ID, e != nil && e.Text != r.ID:
		h.Errorf("the call %s got the answer %+v, %v", r.ID, q, err)
	case err == nil:
		h.saw("answers")
	case e != nil:
		h.saw("errors of functions")
	case errors.Is(err, context.DeadlineExceeded):
		h.saw("ends of contexts")
	case errors.Is(err, reply.ErrQueueGone):
		h.saw("queues that were deleted")
	case errors.Is(err, reply.ErrClosed):
		h.saw("closed clients")
	case sqserror.Code(err) == "" && !strings.Contains(err.Error(), "cannot be made"):
		h.Errorf("the call %s ended with %v", r.ID, err)
	}
}
