package longpoll_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/longpoll"
	"github.com/sqsbatch/sqsbatch/test/cases"
)

// moods is a handler whose behaviour depends on the seed, the record and its
// attempt only.
func moods(seed uint64) handle {
	return func(ctx context.Context, r batch.Record) error {
		if r.Attempt > 8 {
			return nil // it all ends
		}
		sum := fnv.New32()
		fmt.Fprintf(sum, "%d %s %d", seed, r.Body, r.Attempt)
		switch k := sum.Sum32() % 24; {
		case k < 10:
			return nil
		case k < 13:
			return lasting(2*time.Second)(ctx, r)
		case k < 15:
			return lasting(20*time.Second)(ctx, r)
		case k == 15:
			return errors.New("failed")
		case k == 16:
			return batch.Permanent(errors.New("hopeless"))
		case k == 17:
			return batch.RetryAfter(0, errors.New("now"))
		case k == 18:
			return batch.RetryAfter(3*time.Second, errors.New("soon"))
		case k == 19:
			panic("a handler's")
		case k == 20:
			runtime.Goexit()
		case k == 21:
			time.Sleep(40 * time.Second) // ignores its context
			return nil
		case k == 22:
			time.Sleep(3 * time.Minute)
			return errors.New("late")
		}
		return lasting(time.Minute)(ctx, r)
	}
}

// trouble makes something go wrong for a while.
func (w *world) trouble(r *rand.Rand, fifo bool) {
	switch r.IntN(9) {
	case 0:
		w.inject(sqs.Fault{Kind: sqs.Refused, Times: 3 + r.IntN(60)})
	case 1:
		w.inject(sqs.Fault{Kind: sqs.Hang, Probability: 0.2, Times: 10})
	case 2:
		w.inject(sqs.Fault{Kind: sqs.LostAnswer, Probability: 0.3, Times: 10})
	case 3:
		w.inject(sqs.Fault{Kind: sqs.EntryFailure, Probability: 0.4, Times: 30},
			sqs.Fault{Kind: sqs.Throttled, Probability: 0.3, Times: 30})
	case 4:
		if !fifo {
			w.inject(sqs.Fault{Kind: sqs.DuplicateDelivery, Probability: 0.5, Times: 20})
		}
		w.inject(sqs.Fault{Kind: sqs.Failure, Operation: extension, Times: 100})
	case 5:
		w.p.Pause()
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		w.p.Resume()
	case 6:
		w.p.Pause()
		time.Sleep(time.Duration(r.IntN(90)) * time.Second)
		w.p.Resume()
	default:
		w.inject(sqs.Fault{Kind: sqs.Refused})
		time.Sleep(time.Duration(r.IntN(180)) * time.Second)
		w.Server().ClearFaults()
	}
}

// Whatever happens, in the end nothing is held, nothing is left in the queue,
// and the counters by which receives and slots are given out are what they were.
func TestNoCounterDrifts(t *testing.T) {
	for seed := range uint64(cases.Of(8, 60)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			pick := func(list ...int) int { return list[r.IntN(len(list))] }
			fifo := r.IntN(2) == 0
			var setup string
			inWorld(t, fifo, moods(seed), func(c *longpoll.Config) {
				c.Engine.Concurrency = pick(1, 1, 2, 5, 16)
				c.Prefetch = pick(-1, 0, 0, 3)
				c.Visibility = time.Duration(pick(3, 10, 60)) * time.Second
				if timeout := time.Duration(pick(5, 30, 90)) * time.Second; r.IntN(2) == 0 {
					c.Engine.RecordTimeout = timeout
				}
				c.MaxAbandoned = 10_000
				setup = fmt.Sprintf("FIFO %v, Concurrency %d, Prefetch %d, Visibility %v, RecordTimeout %v",
					fifo, c.Engine.Concurrency, c.Prefetch, c.Visibility, c.Engine.RecordTimeout)
			}, func(w *world) {
				w.inject(latency(5 * time.Millisecond))
				sent := 0
				send := func(n int) {
					for range n {
						w.Send(fmt.Sprintf("g%d:%d", r.IntN(6), sent))
						sent++
					}
				}
				send(40)
				w.start()
				for range 12 {
					w.trouble(r, fifo)
					time.Sleep(time.Duration(r.IntN(30_000)) * time.Millisecond)
					if r.IntN(3) == 0 {
						w.Server().ClearFaults()
						send(r.IntN(20))
					}
				}
				w.Server().ClearFaults()
				cleared := time.Now()
				for time.Since(cleared) < 12*time.Hour && w.undeleted() > 0 {
					w.after(10 * time.Minute) // one group may take hours
				}
				w.after(10 * time.Minute)
				if drift := w.p.Drift(); drift != "" {
					t.Errorf("%s: %v later%s", setup, time.Since(cleared), drift)
				}
				if n := w.undeleted(); n > 0 {
					t.Errorf("%s: %v later %d of %d messages are in the queue", setup, time.Since(cleared), n, sent)
				}
				w.stop()
				if drift := w.p.Drift(); drift != "" {
					t.Errorf("%s: after the stop%s", setup, drift)
				}
			})
		})
	}
}

// A poller whose records were all lost at once goes on receiving.
func TestAllThatIsHeldIsLost(t *testing.T) {
	for i := range 4 {
		fifo, purge := i&1 == 0, i&2 == 0
		inWorld(t, fifo, slowlyBehind(10*time.Minute), oneSlot, func(w *world) {
			w.sendAround()
			if purge {
				if _, err := w.Client.PurgeQueue(context.Background(), &awssqs.PurgeQueueInput{QueueUrl: &w.URL}); err != nil {
					t.Fatal(err)
				}
			} else {
				w.inject(sqs.Fault{Kind: sqs.Refused})
			}
			w.after(3 * time.Minute)
			w.Server().ClearFaults()
			w.Send("new:1", "new:2")
			w.after(time.Hour)
			if drift := w.p.Drift(); drift != "" {
				t.Errorf("FIFO %v, purged %v: an hour later%s", fifo, purge, drift)
			}
			if bodies := w.bodies(); !slices.Contains(bodies, "new:1") || !slices.Contains(bodies, "new:2") || w.visible() != 0 {
				t.Errorf("FIFO %v, purged %v: what came later was not handled: %q", fifo, purge, bodies)
			}
		})
	}
}
