package sender_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/emulator/sqs"
	"github.com/sqsbatch/sqsbatch/internal/cases"
	"github.com/sqsbatch/sqsbatch/sender"
)

var (
	histories = flag.Int("histories", cases.Of(150, 1500), "how many histories TestHistories draws")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first one")
)

// Producers send while calls fail in every way, contexts end and the sender is closed. Each
// message gets one result, and the queue has what the results say.
func TestHistories(t *testing.T) {
	for i := range *histories {
		seed := *firstSeed + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			h := newHistory(t, seed)
			defer h.server.Close()
			h.run()
			h.check()
			if t.Failed() {
				t.Fatalf("seed %d: %+v, faults %+v", seed, h.cfg, h.faults)
			}
		})
	}
}

// history is a run of a sender that follows from a seed, apart from the order in which
// goroutines run.
type history struct {
	*testing.T
	random *rand.Rand
	server *sqs.Server
	fifo   bool
	cfg    sender.Config
	faults []sqs.Fault
	s      *sender.Sender
	left   []sender.Result

	mu       sync.Mutex
	sent     []*fate
	enqueued int         // by Enqueue, without a result
	told     map[int]int // the number of the latest result, by producer
}

// fate is what is known of a message.
type fate struct {
	body    string
	results []sender.Result
	refused error // Enqueue has not taken it
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{T: t, random: rand.New(rand.NewPCG(seed, 1)), told: map[int]int{}}
	r := h.random
	o := sqs.Options{Seed: seed}
	if r.IntN(4) == 0 {
		o.MaxBatchBytes = 100 + r.IntN(300) // calls are refused as a whole
	}
	h.server = sqs.New(o)
	h.fifo = r.IntN(2) == 0
	name := "orders"
	in := &awssqs.CreateQueueInput{QueueName: &name}
	if h.fifo {
		name += ".fifo"
		in.Attributes = map[string]string{"FifoQueue": "true"}
	}
	client := h.server.Client()
	if _, err := client.CreateQueue(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	h.cfg = sender.Config{
		Queue:       []string{name, h.server.QueueURL(name)}[r.IntN(2)],
		Linger:      time.Duration(1 + r.IntN(20_000_000)),
		Concurrency: 1 + r.IntN(5), MaxBuffered: 1 + r.IntN(60),
		CallTimeout: time.Duration(1+r.IntN(20)) * time.Second / 2,
	}
	h.faults = drawFaults(r)
	if err := h.server.Inject(h.faults...); err != nil {
		t.Fatal(err)
	}
	var err error
	if h.s, err = sender.New(client, h.cfg); err != nil {
		t.Fatal(err)
	}
	return h
}

func drawFaults(r *rand.Rand) (list []sqs.Fault) {
	kinds := []sqs.Fault{
		{Kind: sqs.LostAnswer}, {Kind: sqs.Throttled}, {Kind: sqs.Failure}, {Kind: sqs.EntryFailure}, {Kind: sqs.Refused}, {Kind: sqs.Hang},
		{Kind: sqs.EntryFailure, Code: "InvalidMessageContents"}, {Kind: sqs.Failure, Code: "AccessDenied"},
		{Kind: sqs.Latency, Latency: time.Duration(1 + r.IntN(3_000_000_000))},
	}
	for _, f := range kinds {
		if r.IntN(3) != 0 {
			continue
		}
		f.Probability = []float64{0.02, 0.1, 0.3, 0.8}[r.IntN(4)]
		if r.IntN(3) == 0 {
			f.Times = 1 + r.IntN(10)
		}
		list = append(list, f)
	}
	return list
}

func (h *history) run() {
	var producers sync.WaitGroup
	for p := range 1 + h.random.IntN(6) {
		random := rand.New(rand.NewPCG(h.random.Uint64(), 2))
		producers.Go(func() { h.produce(p, random) })
	}
	end := time.Duration(h.random.IntN(20_000)) * time.Millisecond
	within := time.Duration(h.random.IntN(10_000)) * time.Millisecond
	if h.random.IntN(4) == 0 { // it is closed while they send
		time.Sleep(end)
		ctx, cancel := context.WithTimeout(context.Background(), within)
		h.left = h.s.Close(ctx)
		cancel()
		synctest.Wait() // Send returns, too
		h.requireResults()
		producers.Wait()
		time.Sleep(time.Hour)
		return
	}
	time.AfterFunc(end, h.server.ClearFaults)
	producers.Wait()
	h.left = h.s.Close(context.Background())
	h.requireResults()
	time.Sleep(time.Hour)
}

// produce sends messages of a group that no other producer has. Those of a FIFO group are in
// order only if one goroutine sends them.
func (h *history) produce(number int, r *rand.Rand) {
	for i := range r.IntN(60) {
		m := sender.Text(fmt.Sprintf("%d %d %s", number, i, strings.Repeat("b", r.IntN(30))))
		if h.fifo || r.IntN(2) == 0 {
			m.Group = fmt.Sprint("group-", number)
		}
		f := &fate{body: m.Body}
		h.mu.Lock()
		h.sent = append(h.sent, f)
		h.mu.Unlock()
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if r.IntN(4) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(r.IntN(5000))*time.Millisecond)
		}
		if r.IntN(3) == 0 {
			h.send(ctx, m, f)
		} else {
			h.enqueue(ctx, m, f, number, i+1)
		}
		cancel()
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(30)) * time.Millisecond)
		}
		if r.IntN(30) == 0 {
			_ = h.s.Flush(ctx)
		}
	}
}

func (h *history) send(ctx context.Context, m sender.Message, f *fate) {
	err := h.s.Send(ctx, m)
	h.mu.Lock()
	defer h.mu.Unlock()
	result := sender.Result{Message: m, Err: err}
	if failed := (*sender.Error)(nil); errors.As(err, &failed) {
		result.MayHaveBeenSent, result.Tries = failed.MayHaveBeenSent, failed.Tries
	}
	f.results = append(f.results, result)
}

func (h *history) enqueue(ctx context.Context, m sender.Message, f *fate, producer, i int) {
	err := h.s.Enqueue(ctx, m, func(r sender.Result) {
		h.mu.Lock()
		defer h.mu.Unlock()
		f.results = append(f.results, r)
		h.enqueued--
		if h.fifo && i < h.told[producer] {
			h.Errorf("group %d: result %d was told after %d", producer, i, h.told[producer])
		}
		h.told[producer] = i
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		f.refused = err
		return
	}
	h.enqueued++
	if h.enqueued > h.cfg.MaxBuffered {
		h.Errorf("%d messages in the buffer, want at most %d", h.enqueued, h.cfg.MaxBuffered)
	}
}

// requireResults is called after Close.
func (h *history) requireResults() {
	h.mu.Lock()
	defer h.mu.Unlock()
	closed := 0
	for _, f := range h.sent {
		if n := len(f.results); n > 1 || (n == 0) != (f.refused != nil) {
			h.Errorf("message %q has %d results, and Enqueue returned %v", f.body, n, f.refused)
		}
		for _, r := range f.results {
			// A Send that waited for a place has this error too, and is not in the buffer.
			if errors.Is(r.Err, sender.ErrClosed) && slices.ContainsFunc(h.left, func(l sender.Result) bool { return l.Message.Body == f.body }) {
				closed++
			}
		}
	}
	if closed != len(h.left) {
		h.Errorf("Close returned %d results, and %d were told", len(h.left), closed)
	}
}

// check compares the results with the queue.
func (h *history) check() {
	copies := map[string]int{}
	ids := map[string]bool{}
	latest := map[string]int{}
	for _, m := range h.server.Snapshot()[0].Messages {
		copies[m.Body]++
		ids[m.MessageID] = true
		var producer, i int
		if _, err := fmt.Sscan(m.Body, &producer, &i); err != nil {
			h.Fatal(err)
		}
		if before, ok := latest[m.MessageGroupID]; h.fifo && ok && i <= before {
			h.Errorf("%s: %d came after %d", m.MessageGroupID, i, before)
		}
		latest[m.MessageGroupID] = i
	}
	extra := 0
	for _, f := range h.sent {
		h.checkFate(f, copies[f.body], ids)
		extra += max(copies[f.body]-1, 0)
	}
	lost := 0
	for _, c := range h.server.Calls("SendMessageBatch") {
		if c.Fault == sqs.LostAnswer {
			lost += c.Messages
		}
	}
	if extra > lost || h.fifo && extra > 0 {
		h.Errorf("%d second copies, and %d messages were in calls whose answer was lost", extra, lost)
	}
}

func (h *history) checkFate(f *fate, copies int, ids map[string]bool) {
	if f.refused != nil && copies > 0 {
		h.Errorf("message %q was sent, and Enqueue returned %v", f.body, f.refused)
	}
	for _, r := range f.results {
		switch {
		case r.Err == nil && (copies == 0 || r.MessageID != "" && !ids[r.MessageID]):
			h.Errorf("message %q is confirmed (%s), and not in the queue", f.body, r.MessageID)
		case r.Err != nil && !r.MayHaveBeenSent && copies > 0:
			h.Errorf("message %q was sent, and its result is %v", f.body, r.Err)
		}
	}
}
